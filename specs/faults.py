"""One-line faults put into the engine on purpose, and who catches each.

`python -m specs.faults` copies the engine once per fault, puts the fault in, and lets three checks that know
nothing of it look: the oracle that was extracted from the proofs, the explorer (with the reference beside
it), and the stateful test. It prints the matrix; a fault that fewer than two of the three catch is a failure
(exit status 1), and so is a check that finds something in the engine as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Literal, TypeAlias, final

import attrs

from specs.proofs import ORACLE

ROOT: Final = Path(__file__).resolve().parent.parent
_ROOMS: Final = ("mage", "specs", "tests")

Said: TypeAlias = Literal["caught", "crashed", "-"]
"""What a check made of a fault."""

CHECKS: Final[dict[str, tuple[str, ...]]] = {
    "oracle": ("-m", "specs.exhaustive", "--oracle", str(ORACLE)),
    "explorer": ("-m", "specs.explore"),
    "stateful": ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "tests/engine/test_stateful.py"),
}
"""Each check, as arguments to Python. Exit status 1 means that it caught something."""
_DEPTHS: Final = {"small": 6, "ways": 9, "chapters": 10}
"""How long the sequences are in which the first two look for a fault, by alphabet."""


_SLIP: Final = re.compile(r"\b(NameError|AttributeError|SyntaxError|ImportError|ModuleNotFoundError)\b.*")
"""What a fault that is no Python gives: it would be caught by anyone."""
_STUMBLED: Final = re.compile(r"^Traceback \(most recent call last\)", re.MULTILINE)
"""What a check prints that was thrown out, where it should have found something."""
_FAILED: Final = re.compile(
    r"^E .*\b(Disagreement|InvariantError|AssertionError)\b|: AssertionError$", re.MULTILINE
)
"""What pytest prints of a test that found something; any other exception came out of the engine."""


@final
class NotThere(Exception):
    """The line that a fault changes is not in the engine, or more than once."""


@final
@attrs.frozen
class Fault:
    """One line of the engine, and what it becomes.

    Attributes:
        operation: the operation that goes wrong.
        name: what is wrong, in a few words.
        file: where, under `mage/engine`.
        line: what stands there.
        wrong: what is put in its place.
        alphabet: over which alphabet of `specs.explore` it shows.
        deeper: how many commands more than usual it takes to show.
    """

    operation: str
    name: str
    file: str
    line: str
    wrong: str
    alphabet: str = "small"
    deeper: int = 0


FAULTS: Final = (
    Fault(
        "grow",
        "merges with a child of the boundary, not of the step head",
        "machine.py",
        "tree.child_with(tree.step_head, (action, observation))",
        "tree.child_with(tree.boundary, (action, observation))",
    ),
    Fault(
        "grow",
        "never merges",
        "machine.py",
        "with_step(tree, action, observation) if known is None else at_step(tree, known)",
        "with_step(tree, action, observation)",
    ),
    Fault(
        "grow",
        "merges without looking at the parent",
        "tree.py",
        "if follower.parent == step and follower.content == content:",
        "if follower.content == content:",
    ),
    Fault(
        "compress",
        "the covers begin with the boundary (inclusive trace)",
        "machine.py",
        "covers = tuple([step.id for step in trace(tree, parent.boundary, tree.step_head)])",
        "covers = (parent.boundary, *[step.id for step in trace(tree, parent.boundary, tree.step_head)])",
    ),
    Fault(
        "compress",
        "an empty segment is taken",
        "machine.py",
        "    if parent.boundary == tree.step_head:\n        return",
        "    if parent.boundary == tree.step_head:\n        if head.id:\n            return Success(_retexted(tree, head, text, kind, head.after))\n        return",
    ),
    Fault(
        "compress",
        "the label is the boundary of the parent's parent (off by one)",
        "machine.py",
        "        after,\n        parent.boundary,",
        "        after,\n        max(parent.label, StepId(0)),",
    ),
    Fault(
        "compress",
        "the same covers make a second summary",
        "machine.py",
        "known = tree.child_ending_at(parent.id, tree.step_head)",
        "known = None",
    ),
    Fault(
        "compress",
        "a stale verdict is kept with the new text",
        "machine.py",
        "    return _pending(tree, old.id, parent, after, old.covers, text, kind)",
        "    new = _pending(tree, old.id, parent, after, old.covers, text, kind)\n    stale = attrs.evolve(new.tree.head_summary, verdict=old.verdict)\n    return Unverified(with_summary(new.tree, stale), new.digest)",
    ),
    Fault(
        "compress",
        "the old feedback is lost with the old text",
        "machine.py",
        "with_lesson(tree, old.label, _feedback_on_steps(old.verdict))",
        'with_lesson(tree, old.label, "")',
    ),
    Fault(
        "compress",
        "a subgoal does not take its fallbacks in",
        "machine.py",
        'tree.summary(head.base) if kind == "subgoal" else head',
        "head",
    ),
    Fault(
        "compress",
        "a fallback takes fallbacks in",
        "machine.py",
        'tree.summary(head.base) if kind == "subgoal" else head',
        "tree.summary(head.base)",
    ),
    Fault(
        "compress",
        "`after` is not renewed where a summary is taken again",
        "machine.py",
        "after = head.after if known == head.id else head.id",
        "after = tree.summary(known).after",
        alphabet="ways",
    ),
    Fault(
        "compress",
        "a chapter that was judged on other words is kept",
        "edit.py",
        "if isinstance(summary.verdict, Pending) and summary.id in top.chapters:",
        "if False:",
        alphabet="chapters",
    ),
    Fault(
        "retext",
        "a fallback becomes a subgoal",
        "machine.py",
        "text, head.kind, head.after)",
        'text, "subgoal", head.after)',
    ),
    Fault(
        "retext",
        "what was taken in is forgotten",
        "machine.py",
        "head.kind, head.after))",
        "head.kind, head.parent))",
        alphabet="ways",
    ),
    Fault(
        "apply_verdict",
        "an answer that was overtaken is taken",
        "machine.py",
        "if digest != state.digest:",
        "if not digest:",
    ),
    Fault(
        "apply_verdict",
        "a pass drops the open segment",
        "machine.py",
        "return Success(Active(_judged(state.tree, verdict)))",
        "return Success(Active(at_boundary(_judged(state.tree, verdict), state.tree.head_summary)))",
    ),
    Fault(
        "apply_verdict",
        "blank feedback is taken",
        "machine.py",
        "if is_blank(failed.feedback):",
        "if not failed.feedback:",
    ),
    Fault(
        "apply_verdict",
        "where a mistake began is not checked",
        "machine.py",
        "if boundary is not None and not _may_begin_at(state.tree, boundary, failed.fault):",
        "if False:",
        alphabet="ways",
    ),
    Fault(
        "apply_verdict",
        "a wrong text begins at a step",
        "machine.py",
        'if fault == "summary" or boundary >= tree.boundary:',
        "if boundary >= tree.boundary:",
        alphabet="ways",
    ),
    Fault(
        "apply_verdict",
        "where a mistake began is forgotten",
        "machine.py",
        "as_fault(verdict.fault), boundary)",
        "as_fault(verdict.fault))",
        alphabet="ways",
    ),
    Fault(
        "judge_request",
        "what stands above is no part of the digest",
        "judging.py",
        '"before":"{summary.above}"',
        '"before":""',
    ),
    Fault(
        "judge_request",
        "the hints show the steps that are judged",
        "hints.py",
        "if step not in own]",
        "if step]",
    ),
    Fault(
        "judge_request",
        "the hints show what is judged itself",
        "hints.py",
        "if child not in known",
        "if child",
    ),
    Fault(
        "judge_request",
        "what was tried from the fallbacks is left out",
        "hints.py",
        "        for each in (parent, *taken)\n",
        "        for each in (parent,)\n",
        alphabet="ways",
    ),
    Fault(
        "judge_request",
        "what was taken in is told newest first",
        "hints.py",
        "    found.reverse()\n",
        "",
        alphabet="ways",
    ),
    Fault(
        "revise",
        "goes one summary too far up",
        "machine.py",
        "while summary.boundary > boundary and",
        "while summary.boundary >= boundary > 0 and",
    ),
    Fault(
        "revise",
        "knows the summary path alone, not the way",
        "machine.py",
        "summary = tree.summary(summary.after)\n    return summary if",
        "summary = tree.summary(summary.parent)\n    return summary if",
    ),
    Fault(
        "revise",
        "a failed summary's own boundary is legal",
        "machine.py",
        "return state.tree.boundary if isinstance(state, Rejected) else state.tree.next_step",
        "return state.tree.next_step",
    ),
    Fault(
        "revise",
        "the lesson is left at the wrong boundary",
        "edit.py",
        "_lessons_and(old, boundary, lesson), old.instructions, once",
        "_lessons_and(old, tree.boundary, lesson), old.instructions, once",
    ),
    Fault(
        "revise",
        "what is abandoned is listed oldest first",
        "machine.py",
        "trace(tree, target.boundary, tree.step_head)[::-1]",
        "trace(tree, target.boundary, tree.step_head)",
    ),
    Fault(
        "fold",
        "a fallback may be folded",
        "folding.py",
        'isinstance(line, Chapter) or line.kind == "subgoal"',
        "True",
        alphabet="chapters",
    ),
    Fault(
        "fold",
        "what passed is counted as accepted",
        "folding.py",
        "int(isinstance(line.verdict, Accepted))",
        "int(not isinstance(line.verdict, Accepted))",
        alphabet="chapters",
    ),
    Fault(
        "fold",
        "a chapter begins where its last line does",
        "folding.py",
        "label=oldest.label,",
        "label=newest.label,",
        alphabet="chapters",
    ),
    Fault(
        "fold",
        "inside a chapter shows what is inside its chapters",
        "folding.py",
        "line = next(tree.lines_upwards(tree.summary(first_of(line, tree).parent)))",
        "line = tree.summary(first_of(line, tree).parent)",
        alphabet="chapters",
        deeper=1,
    ),
    Fault(
        "view",
        "R begins at the label of the head",
        "view.py",
        "raw=tuple(trace(tree, head.boundary, tree.step_head)),",
        "raw=tuple(trace(tree, max(head.label, 0), tree.step_head)),",
    ),
    Fault(
        "view",
        "lessons of the current boundary are shown alone",
        "hints.py",
        "lessons=tuple(_lessons(tree, [each.boundary for each in run])),",
        "lessons=tuple(_lessons(tree, [head.boundary])),",
    ),
    Fault(
        "view",
        "fallbacks that lead to the head are shown as tried",
        "hints.py",
        "fallbacks_of=(head.id,)",
        "fallbacks_of=[each.id for each in run]",
    ),
    Fault(
        "view",
        "instructions are counted from the boundary, not from the base",
        "view.py",
        "in_force(tree, tree.summary(tree.head_summary.base).boundary, tree.next_step)",
        "in_force(tree, tree.head_summary.boundary, tree.next_step)",
    ),
    Fault(
        "view",
        "C is shown from the head upwards",
        "view.py",
        "    compressed.reverse()\n",
        "    compressed.sort(key=lambda line: -line.label)\n",
    ),
)
"""At least two for each operation, for what a judge is asked, and for view."""


@final
@attrs.frozen
class Row:
    """Who caught a fault.

    Attributes:
        fault: which; None for the engine as it is.
        caught: the checks that found something wrong.
        seconds: how long all of them took.
        crashed: the checks that only stumbled over what the engine raised; they have caught nothing.
    """

    fault: Fault | None
    caught: tuple[str, ...]
    seconds: float
    crashed: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether this is as it should be: two checks or more catch a fault, none the engine as it is."""
        return not self.caught + self.crashed if self.fault is None else len(self.caught) >= 2


def planted(fault: Fault, source: str) -> str:
    """Return `source` with the fault in it.

    Raises:
        NotThere: the line is not there exactly once.
    """
    if source.count(fault.line) != 1:
        raise NotThere(f"{fault.file} has {source.count(fault.line)} times: {fault.line}")
    return source.replace(fault.line, fault.wrong)


def run(fault: Fault | None) -> Row:
    """Put a fault into a copy of the engine, and let every check look at it.

    Raises:
        NotThere: the line is not there exactly once, or a check could not run.
    """
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for room in _ROOMS:
            ignored = shutil.ignore_patterns("*.vo*", "*.glob", "*.pyc.*")  # the last are being written
            shutil.copytree(ROOT / room, copy / room, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", copy)
        if fault is not None:
            _plant(fault, copy / "mage" / "engine")
        said = {check: _judged_by(check, copy, fault) for check in CHECKS}
    caught, crashed = (
        tuple(check for check in CHECKS if said[check] == word) for word in ("caught", "crashed")
    )
    return Row(fault, caught, time.perf_counter() - began, crashed)


def _plant(fault: Fault, engine: Path) -> None:
    """Put a fault into a copy of the engine, and drop what was compiled of it before."""
    path = engine / fault.file
    path.write_text(planted(fault, path.read_text(encoding="utf-8")), encoding="utf-8")
    for compiled in (engine / "__pycache__").glob(f"{path.stem}.*"):
        compiled.unlink()


def arguments_for(check: str, fault: Fault | None) -> tuple[str, ...]:
    """Return what Python is given for a check that looks for this fault; for none, over the smallest alphabet."""
    if check == "stateful":
        return CHECKS[check]
    alphabet, deeper = ("small", 0) if fault is None else (fault.alphabet, fault.deeper)
    return (*CHECKS[check], "--alphabet", alphabet, "--depth", str(_DEPTHS[alphabet] + deeper))


def _judged_by(check: str, copy: Path, fault: Fault | None) -> Said:
    environment = {**os.environ, "PYTHONPATH": str(copy), "MAGE_TESTS": "unshrunk"}
    environment.pop("MAGE_CI", None)
    done = subprocess.run(
        (sys.executable, *arguments_for(check, fault)),
        cwd=copy,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    return judged(check, done.returncode, done.stdout + done.stderr)


def judged(check: str, status: int, said: str) -> Said:
    """Return what a check made of the engine, by its exit status and by all that it printed.

    Raises:
        NotThere: it could not run, or what was planted is no Python.
    """
    if status not in (0, 1):
        raise NotThere(f"{check} could not run: {said[-4000:]}")
    if status == 0:
        return "-"
    if slip := _SLIP.search(said):
        raise NotThere(f"{check} did not judge the fault, it stumbled over it: {slip.group()}")
    found = _FAILED.search(said) if check == "stateful" else not _STUMBLED.search(said)
    return "caught" if found else "crashed"


def _line(row: Row) -> str:
    said = (
        dict.fromkeys(CHECKS, "-")
        | dict.fromkeys(row.caught, "caught")
        | dict.fromkeys(row.crashed, "crashed")
    )
    marks = " ".join(f"{word:9}" for word in said.values())
    what = "nothing: the engine as it is" if row.fault is None else f"{row.fault.operation}: {row.fault.name}"
    return f"{marks} {row.seconds:6.1f} s  {'' if row.good else 'NOT AS IT SHOULD BE  '}{what}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant every fault as the command line says, and print the matrix."""
    parser = argparse.ArgumentParser(
        prog="python -m specs.faults", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--workers", type=int, default=2, help="how many copies at a time (default: 2)")
    parser.add_argument("--json", type=Path, help="where to write who caught what")
    options = parser.parse_args(arguments)
    print(" ".join(f"{check:9}" for check in CHECKS))
    try:
        with ThreadPoolExecutor(options.workers) as pool:
            rows = []
            for row in pool.map(run, (None, *FAULTS)):
                rows.append(row)
                print(_line(row), flush=True)
    except NotThere as wrong:
        print(wrong, file=sys.stderr)
        return 2
    caught = sum(row.good for row in rows[1:])
    print(f"faults: {caught} of {len(FAULTS)} caught by at least two of {', '.join(CHECKS)}")
    if options.json is not None:
        matrix = {row.fault.name: row.caught for row in rows if row.fault is not None}
        options.json.write_text(json.dumps(matrix, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row.good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
