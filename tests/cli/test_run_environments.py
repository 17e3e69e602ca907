"""`mage run` in somebody else's environment: how it is found, and what becomes of what it raises, prints and leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.children import PLAYED, STORY, in_one_line, place
from tests.cli.runner import mage

__all__ = ["place"]


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ("attic", ("there is no environment", "shop", "MODULE:FACTORY")),
        ("nowhere:Attic", ("ModuleNotFoundError",)),
        ("tests.cli.gated:Attic", ("AttributeError", "Attic")),
        ("tests.cli.gated:Unfinished:that", ("ValueError", "what is that?", "gated.py:")),
        ("tests.cli.gated:Unfinished", ("no environment", "`act`")),
        ("tests.cli.gated:ARRIVED", ("TypeError",)),
        (":", ("there is no environment",)),
        ("json:", ("there is no environment",)),
        (":Attic", ("there is no environment",)),
        ("no module:Attic", ("there is no environment",)),
    ],
)
def test_an_environment_that_cannot_be_had_is_refused(env: str, said: tuple[str, ...]) -> None:
    """Unknown ones are told which there are; what somebody else's code raises is told in one line."""
    assert in_one_line(mage("run", *PLAYED, "--environment", env), *said)


def test_an_installed_environment_is_known_by_its_name(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution names it under `mage.environments`; it is listed, and given what stands behind the colon."""
    about = place / "attic-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: attic\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[mage.environments]\nattic = tests.cli.gated:Unfinished\n")
    monkeypatch.syspath_prepend(str(place))
    assert in_one_line(
        mage("run", *PLAYED, "--environment", "attic:that"), "environment attic:that", "what is that?"
    )
    assert in_one_line(mage("run", *PLAYED, "--environment", "cellar"), "there are attic, shop")


def test_an_environment_that_claims_what_it_has_not_is_refused() -> None:
    """Snapshots that are not there, a tool with a name of ours: told for a run and for a rerun."""
    model = ("--model", "m", "--base-url", "http://localhost:1")
    mage("run", "--offline", "--session", "sqlite:///w.db#a")
    for command in (("run", "task"), ("rerun", "sqlite:///w.db#a")):
        for name, said in (("Claiming", "restoring is 'snapshot'"), ("Greedy", "tool 'finish'")):
            assert in_one_line(mage(*command, *model, "--environment", f"tests.cli.gated:{name}"), name, said)


def test_an_environment_that_raises_fails_the_run() -> None:
    """Its error is told, what it would draw on a terminal is not drawn, and the session stays."""
    options = ("run", *PLAYED, "--environment", "tests.cli.gated:Broken", "--session", "sqlite:///w.db#a")
    ran = mage(*options, "--json")
    told = json.loads(ran.out)
    assert (ran.status, told["outcome"], told["reason"]) == (1, "failed", "environment: raised")
    assert "KeyError" in told["detail"]
    assert told["steps"] == 1  # what it showed first
    ran = mage(*options)
    assert (ran.status, "\x1b" in ran.out) == (1, False)
    assert mage("check", "sqlite:///w.db#a").status == 0


def test_an_environment_that_answers_something_else_fails_the_run() -> None:
    """What it returned, and what to return instead, is told of a run and of a rerun; the session stays."""
    options = (*STORY, "--environment", "tests.cli.gated:Counting")
    told = json.loads(mage("run", "task", *options, "--session", "sqlite:///w.db#a", "--json").out)
    assert (told["reason"], told["steps"]) == ("environment: bad", 1)
    assert told["detail"] == "act returned a int; return a str, or an Observed"
    mage("run", "--offline", "--session", "sqlite:///w.db#b")
    ran = mage("rerun", "sqlite:///w.db#b", "--policy", "maintain=false", *options)
    assert in_one_line(ran, "act returned a int")


def test_an_environment_that_leaves_is_no_success() -> None:
    """Its `sys.exit()`, when it is made and when it acts, is told like whatever else it raises: status 1."""
    assert in_one_line(mage("run", *PLAYED, "--environment", "sys:exit"), "environment sys:exit: SystemExit")
    ran = mage("run", *PLAYED, "--environment", "tests.cli.gated:Leaving", "--json")
    told = json.loads(ran.out)
    assert (ran.status, told["reason"]) == (1, "environment: raised")
    assert "raised SystemExit when asked to act" in told["detail"]


def test_an_error_that_cannot_be_printed_is_told() -> None:
    """What fails again when it is asked what it says is told by its type, and is no traceback."""
    ran = mage("run", *PLAYED, "--environment", "tests.cli.gated:Silent", "--json")
    assert "raised _Mute when asked to act: <exception str() failed>" in json.loads(ran.out)["detail"]
    ran = mage("run", *PLAYED, "--environment", "tests.cli.gated:Silent", "--traceback")
    assert "_Mute: <exception str() failed>" in ran.err


def test_what_an_environment_prints_is_not_in_the_json() -> None:
    """Of a run and of a changed one, standard output is one object; what was printed is on standard error."""
    talking = (*STORY, "--environment", "tests.cli.gated:Talking", "--json")
    ran = mage("run", "task", *talking, "--session", "sqlite:///w.db#a")
    assert (json.loads(ran.out)["outcome"], ran.err.splitlines()[:2]) == ("finished", ["made", "reset"])
    ran = mage("rerun", "sqlite:///w.db#a", "--policy", "maintain=false", *talking)
    assert (json.loads(ran.out)["outcome"]["outcome"], ran.err.splitlines()[0]) == ("finished", "made")


@pytest.mark.parametrize(
    ("name", "raised", "line"),
    [
        ("Broken", "KeyError", 'raise KeyError(f"no'),
        ("Misread", "JSONDecodeError", "return str(json.loads(action))"),
    ],
)
def test_an_environments_bug_is_told_with_its_line(name: str, raised: str, line: str) -> None:
    """What was raised, and where: the innermost line of theirs, not that of a library which they call."""
    detail = json.loads(mage("run", *PLAYED, "--environment", f"tests.cli.gated:{name}", "--json").out)[
        "detail"
    ]
    source = Path(__file__).with_name("gated.py")
    number = next(at for at, each in enumerate(source.read_text().splitlines(), 1) if line in each)
    assert f"raised {raised} when asked to act: " in detail
    assert detail.endswith(f"gated.py:{number})")


def test_a_traceback_is_shown_where_it_is_asked_for() -> None:
    """On standard error, with nothing that a terminal would obey; standard output is still one object."""
    ran = mage("run", *PLAYED, "--environment", "tests.cli.gated:Broken", "--json", "--traceback")
    assert json.loads(ran.out)["reason"] == "environment: raised"
    assert ran.err.startswith("Traceback (most recent call last):\n")
    assert "in act" in ran.err
    assert "\x1b" not in ran.err
