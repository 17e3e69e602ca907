"""The tool that measures the tests is held to its word: what it changes, what it counts, what it lists."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from specs.mutants.changed import changed_lines, default_base, touched, unmeasured
from specs.mutants.generate import ENGINE, ROOT, Mutant, Name, engine_mutants, mutants_of
from specs.mutants.report import LAST
from specs.mutants.survivors import SURVIVORS, judged, listed

SOURCE = '''"""A module."""

from __future__ import annotations

__all__ = ["LIMIT", "below"]

LIMIT: int = 3


class Place:
    """A place."""

    default = "here"

    @property
    def name(self) -> str:
        """Its name."""
        return "there"


def below(number: int, limit: int = 7) -> bool:
    """Tell whether a number is below the limit, and the limit above it."""
    if number < limit:
        return True
    if number < limit:
        return True
    return False
'''


@pytest.fixture(scope="module")
def mutants() -> list[Mutant]:
    """Return every mutant of the engine."""
    return list(engine_mutants())


def test_a_mutant_is_one_small_change_by_name() -> None:
    """Each names its place and the changed lines, in functions, properties, defaults, classes and constants."""
    names = {mutant.name: mutant for mutant in mutants_of("m.py", SOURCE)}
    for expected, in_function in (
        (Name("m.py", "LIMIT", "LIMIT: int = 3", "LIMIT: int = 4"), False),
        (Name("m.py", "Place", 'default = "here"', 'default = "HERE"'), False),
        (Name("m.py", "Place.name", 'return "there"', 'return "XXthereXX"'), True),
        (Name("m.py", "below", "if number < limit:", "if number <= limit:"), True),
        (Name("m.py", "below", "if number < limit:", "if number <= limit:", nth=2), True),
    ):
        assert names[expected].in_function == in_function
    header = "def below(number: int, limit: int = 7) -> bool:"
    assert not names[Name("m.py", "below", header, header.replace("7", "8"))].in_function
    assert not any("__all__" in name.before for name in names)


def test_every_mutant_of_the_engine_has_a_name_of_its_own(mutants: list[Mutant]) -> None:
    """Names are unique, each mutant differs from its source, and is Python."""
    assert len({mutant.name for mutant in mutants}) == len(mutants) > 1000
    sources = {path: (ROOT / path).read_text(encoding="utf-8") for path in {m.name.file for m in mutants}}
    assert all(mutant.source != sources[mutant.name.file] for mutant in mutants)
    for mutant in mutants[::10]:
        compile(mutant.source, mutant.name.file, "exec")


def test_every_survivor_that_is_listed_is_there(mutants: list[Mutant]) -> None:
    """The list names mutants that the engine has now, each with a reason."""
    known = listed(SURVIVORS.read_text(encoding="utf-8"))
    assert set(known) <= {mutant.name for mutant in mutants}
    assert all(len(reason.split()) > 5 for reason in known.values())


def test_the_last_result_adds_up() -> None:
    """Its counts are those of its files, its survivors are the listed ones, its timeouts at most 2 %."""
    last = json.loads(LAST.read_text(encoding="utf-8"))
    total, files = last["total"], last["files"]
    for count in ("mutants", "on_import", "killed", "survived", "timeouts"):
        assert total[count] == sum(file[count] for file in files.values())
    assert total["mutants"] == total["killed"] + total["survived"] + total["timeouts"]
    assert total["survived"] == len(listed(SURVIVORS.read_text(encoding="utf-8")))
    assert total["timeouts"] <= total["mutants"] * 0.02
    assert set(files) <= {f"{ENGINE}/{path.name}" for path in (ROOT / ENGINE).glob("*.py")}


def test_a_list_that_is_not_true_is_told() -> None:
    """A survivor that is not listed, a listed one that died, and one that is no more."""
    one, two, three, four = (Name("m.py", "f", str(number), "") for number in range(4))
    outcomes = {one: "survived", two: "survived", three: "killed"}
    verdict = judged([one, three, four], outcomes, [one, two, three])
    assert (verdict.new, verdict.killed, verdict.gone) == ((two,), (three,), (four,))
    assert not verdict.holds
    assert judged([one, two], outcomes, [one, two, three]).holds
    assert judged([one], {}, [one]).holds  # it was not run, so nothing is known against it
    assert judged([one], {one: "timeout"}, [one]).killed == (one,)


def git(root: Path, *arguments: str) -> None:
    """Run git in a folder, as somebody."""
    somebody = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *somebody, *arguments], cwd=root, check=True, capture_output=True)


def test_what_a_change_touches_is_what_it_mutates(tmp_path: Path) -> None:
    """All of a function in which a line differs from what was last measured whole, committed or not; no other."""
    path, last = tmp_path / ENGINE / "m.py", tmp_path / "specs" / "mutants" / "last.json"
    for there, text in ((path, SOURCE), (last, "{}")):
        there.parent.mkdir(parents=True)
        there.write_text(text, encoding="utf-8")
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "one")
    git(tmp_path, "commit", "--allow-empty", "-m", "two")
    assert changed_lines(default_base(tmp_path), tmp_path) == {}
    path.write_text(SOURCE.replace("return False", "return not True"), encoding="utf-8")
    file = f"{ENGINE}/m.py"
    changed = changed_lines("HEAD", tmp_path)
    assert list(changed) == [file]
    made = mutants_of(file, path.read_text(encoding="utf-8"))
    assert {mutant.name.where for mutant in touched(made, changed)} == {"below"}
    assert len(touched(made, changed)) == sum(mutant.name.where == "below" for mutant in made)
    limit = touched(made, {file: {SOURCE[: SOURCE.index("LIMIT: int")].count("\n") + 1}})
    assert {mutant.name.where for mutant in limit} == {"LIMIT"}
    git(tmp_path, "checkout", "-b", "branch")
    git(tmp_path, "commit", "-a", "-m", "three")
    assert changed_lines(default_base(tmp_path), tmp_path) == changed


def test_what_was_not_measured_is_mutated_whole(tmp_path: Path) -> None:
    """A source that is not the one of the last full run is not missed, whatever git says of it."""
    path, last = tmp_path / ENGINE / "m.py", tmp_path / "specs" / "mutants" / "last.json"
    for there in (path, last):
        there.parent.mkdir(parents=True)
    path.write_text(SOURCE, encoding="utf-8")
    everything = {f"{ENGINE}/m.py": set(range(1, SOURCE.count("\n") + 2))}
    assert unmeasured(tmp_path) == everything
    digest = hashlib.sha256(SOURCE.encode()).hexdigest()
    last.write_text(json.dumps({"sources": {f"{ENGINE}/m.py": digest}}), encoding="utf-8")
    assert unmeasured(tmp_path) == {}
    path.write_text(SOURCE + "\n", encoding="utf-8")
    assert list(unmeasured(tmp_path)) == list(everything)


def test_the_engine_is_the_one_that_was_measured_or_is_named() -> None:
    """What differs from the last full run is mutated; nothing else is."""
    assert set(unmeasured()) <= {f"{ENGINE}/{path.name}" for path in (ROOT / ENGINE).glob("*.py")}


RUN = """
from specs.mutants.generate import *
from specs.mutants.suite import fates_of
file = "mage/engine/text.py"
source = (ROOT / file).read_text(encoding="utf-8")
def mutant(where, old, new, in_function):
    assert old in source
    line = source[: source.index(old)].count(chr(10)) + 1
    name = Name(file, where, old, new)
    return Mutant(name, in_function, (line, line), range(0), source.replace(old, new, 1))
mutants = [
    mutant("is_blank", "not text.strip()", "text.strip()", True),
    mutant("is_blank", "not text.strip()", "not (text.strip())", True),
    mutant("quoted", "if not text.isprintable():", "while not text.isprintable():", True),
    mutant("_CONTROLS", "range(0x20)", "range(0x1F)", False),
    mutant("_CONTROLS", "range(0x20)", "range(32)", False),
]
for fate in fates_of(mutants, jobs=2, tell=lambda fate: None, tests=("tests/engine/test_text.py",)):
    print(fate.mutant.name.where, fate.mutant.name.after, fate.outcome, sep="|")
"""


def test_a_fault_dies_and_a_change_of_words_survives() -> None:
    """In a function or on import; and what never ends is called neither."""
    ran = subprocess.run(
        [sys.executable, "-c", RUN], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    assert set(ran.stdout.split("\n")) - {""} == {
        "is_blank|text.strip()|killed",
        "is_blank|not (text.strip())|survived",
        "quoted|while not text.isprintable():|timeout",
        "_CONTROLS|range(0x1F)|killed",
        "_CONTROLS|range(32)|survived",
    }
