"""Drawings: what is folded, what never is, and that content cannot break a line."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from mage.engine import Active, StepId, accept, compress, grow, revise, start
from mage.render import as_dot, as_mermaid, bars, draw, one_line

anything = st.text(st.characters(exclude_categories=()))


def wide(branches: int, length: int) -> Active:
    """Return a state with branches that were left, each of this length, and one that is active."""
    state = start("task")
    for branch in range(branches):
        for number in range(length):
            state = grow(state, f"{branch}.{number}", "o")
        back = revise(state, 0, "").unwrap().state
        assert isinstance(back, Active)
        state = back
    return accept(compress(grow(state, "last", "o"), "done").unwrap())


@given(anything, st.integers(1, 80))
def test_one_line_is_one_printable_line(text: str, width: int) -> None:
    """Whatever the content, a line of a drawing is short and has nothing a terminal would obey."""
    line = one_line(text, width)
    assert len(line) <= width
    assert line.isprintable()


@given(st.integers(1, 60), st.integers(1, 12), st.integers(10, 90))
def test_a_drawing_keeps_to_its_limit(branches: int, length: int, limit: int) -> None:
    """However large the tree, a drawing has about as many lines as asked, and the head is on it."""
    lines = draw(wide(branches, length).tree, limit=limit)
    assert len(lines) <= limit + 1
    assert any(line.text.startswith("◆") for line in lines)
    assert lines[0].text == "task: task"


def test_an_unfolded_drawing_has_every_step() -> None:
    """With no limit nothing is folded."""
    tree = wide(4, 9).tree
    lines = [line.text for line in draw(tree, limit=None)]
    marks = [line for line in lines if line[0] in "●○◆"]
    assert len(marks) == tree.next_step - 1
    assert not any("…" in line for line in lines)


def test_a_fold_never_runs_over_the_start_of_a_branch() -> None:
    """Two branches side by side are told apart even where both are folded."""
    lines = [line.text for line in draw(wide(3, 20).tree, limit=80)]
    assert sum(line.startswith("… 16 steps") for line in lines) == 3
    assert [line.split(" ")[2] for line in lines if line.startswith("○")][::4] == ["0.0", "1.0", "2.0"]


def test_a_wide_tree_is_drawn_at_once() -> None:
    """Ten thousand steps from one place are not looked through ten thousand times."""
    assert len(draw(wide(10_000, 1).tree)) <= 81


def parents(drawing: list[str]) -> dict[int, int]:
    """Read the parents of steps back from an unfolded drawing."""
    found: dict[int, int] = {}
    above = [0]
    for line in drawing:
        indent = re.match(r"(?:│  )*(├─ )?", line)
        assert indent is not None
        depth = len(indent[0]) // 3
        step = re.match(r"[●○◆] (\d+) ", line[indent.end() :])
        if step is None:
            continue
        found[int(step[1])] = above[depth - 1] if indent[1] else above[depth]
        above[depth:] = [int(step[1])]
    return found


@given(st.lists(st.sampled_from("abcr"), max_size=60), st.integers(0, 3))
def test_a_drawing_tells_every_parent(moves: list[str], back: int) -> None:
    """Whatever the branches, the tree can be read back from its full drawing."""
    state = start("task")
    for move in moves:
        if move == "r":
            boundaries = [state.tree.summary(each).boundary for each in state.tree.summary_path()]
            revised = revise(state, boundaries[-1 - back % len(boundaries)], "").unwrap().state
            assert isinstance(revised, Active)
            state = revised
        else:
            state = grow(state, f"{move}", "")
            if move == "c":
                state = accept(compress(state, "done").unwrap())
    drawing = [str(line) for line in draw(state.tree, limit=None)]
    assert parents(drawing) == {step.id: step.parent for step in state.tree.steps()}
    assert sum("◆" in line for line in drawing) == 1


def test_a_drawing_of_a_deep_tree_does_not_recurse() -> None:
    """Ten thousand steps, each a summary of its own with a branch left beside it, are drawn."""
    state = start("task")
    for number in range(10_000):
        state = accept(compress(grow(state, str(number), "o"), "done").unwrap())
        aside = revise(grow(state, "aside", "o"), state.tree.boundary, "no").unwrap().state
        assert isinstance(aside, Active)
        state = aside
    assert len(draw(state.tree)) <= 81


@given(anything, anything)
def test_diagrams_quote_what_they_hold(action: str, text: str) -> None:
    """No content opens or closes a node: quotes balance on every line."""
    state = grow(start("task"), action, "o")
    tree = accept(compress(state, f"x{text}").unwrap()).tree
    for line in as_mermaid(tree).splitlines()[1:]:
        assert line.count('"') in (0, 2)
    for line in as_dot(tree).splitlines():
        assert line.replace("\\\\", "").replace('\\"', "").count('"') in (0, 2)
    assert tree.step(StepId(1)).observation == "o"


def test_bars_show_the_largest_of_their_share() -> None:
    """A full bar is the top, nothing is blank, something is never blank."""
    assert bars([0, 1, 50, 100], top=100) == " ▁▄█"
    assert len(bars(range(1000), top=999)) == 72
    assert bars(range(1000), top=999)[-1] == "█"
    assert bars([], top=1) == bars([1], top=0) == ""
    assert bars([0, 1, 50, 100], top=100, encoding="ascii") == " .=@"
