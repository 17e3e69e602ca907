"""The tree for diagram tools: Mermaid flowcharts and Graphviz dot. Every content is quoted for its tool."""

from __future__ import annotations

from mage.engine import Summary, Tree
from mage.render.drawing import verdict_of
from mage.render.text import one_line

_WIDTH = 48


def as_mermaid(tree: Tree) -> str:
    """Return the tree as a Mermaid flowchart. Cost: O(size of the tree)."""
    active = set(tree.active_path())
    lines = ["flowchart TD", '  s0(["task"])']
    for step in tree.steps():
        arrow = "-->" if step.id in active else "-.->"
        lines.append(f'  s{step.parent} {arrow} s{step.id}["{step.id}: {_entities(step.action)}"]')
    lines.extend(
        f'  t{summary.id}[["{_entities(_title(summary))}"]] --- s{summary.boundary}'
        for summary in tree.summaries()
    )
    lines.append("  classDef active stroke-width:3px")
    lines.append("  class " + ",".join(f"s{step}" for step in tree.active_path()) + " active")
    return "\n".join(lines) + "\n"


def as_dot(tree: Tree) -> str:
    """Return the tree as a Graphviz digraph. Cost: O(size of the tree)."""
    active = set(tree.active_path())
    lines = ["digraph mage {", "  node [shape=box];", '  s0 [label="task", shape=oval, penwidth=3];']
    for step in tree.steps():
        pen = 3 if step.id in active else 1
        lines.append(f'  s{step.id} [label="{step.id}: {_escaped(step.action)}", penwidth={pen}];')
        lines.append(f"  s{step.parent} -> s{step.id}{'' if step.id in active else ' [style=dashed]'};")
    for summary in tree.summaries():
        lines.append(f'  t{summary.id} [label="{_escaped(_title(summary))}", shape=note];')
        lines.append(f"  t{summary.id} -> s{summary.boundary} [dir=none, style=dotted];")
    return "\n".join([*lines, "}"]) + "\n"


def _title(summary: Summary) -> str:
    return f"[Step {summary.label}] {one_line(summary.text, _WIDTH)} ({verdict_of(summary)})"


def _entities(text: str) -> str:
    """Quote for Mermaid: whatever it could take for syntax becomes a numbered entity."""
    return "".join(
        char if char.isalnum() or char in " .,-_" else f"#{ord(char)};" for char in one_line(text, 2 * _WIDTH)
    )


def _escaped(text: str) -> str:
    return one_line(text, 2 * _WIDTH).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
