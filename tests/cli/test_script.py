"""`--script FILE`: replies that are played from a file in any environment; and a story that is played in its own alone."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage import Session
from mage.chat import action_text
from mage.cli.answerers import BadScript, Script, read_script
from mage.cli.output import Refused
from mage.effects import Action, Decision, Finish, LookInto
from mage.engine import Compress, Failed, Passed, Revise, StepId
from tests.cli.children import PLAYED, exported, gate, in_one_line, interrupted, place
from tests.cli.runner import mage
from tests.llm.server import ScriptedServer, Status, calls

__all__ = ["gate", "place"]

RUN: Final = "sqlite:///w.db#a"
LAMPS: Final = "tests.cli.gated:Lamps"


def script(*replies: object) -> str:
    """Write a script, and return its name."""
    Path("s.jsonl").write_text("".join(f"{json.dumps(reply)}\n" for reply in replies), encoding="utf-8")
    return "s.jsonl"


# -- what is played ------------------------------------------------------------------------------------


def test_a_script_plays_in_an_environment_of_ones_own() -> None:
    """Acts, compresses, goes back and finishes; a call of a tool becomes its action; nobody judges, and S says so."""
    file = script(
        {"act": "light one"},
        {"act": ["light one", {"light": {"two": 2}}], "thought": "both"},
        {"compress": "They are lit."},
        {"revise": 0, "lesson": "Look first."},
        {"act": "look", "finish": "Done."},
    )
    ran = mage("run", "Light it.", "--environment", LAMPS, "--script", file, "--session", RUN)
    assert (ran.status, ran.err) == (0, "")
    assert "finished: Done." in ran.out
    assert '● 4 light {"two":2}' in ran.out
    assert "  ~ accepted, openly" in ran.out
    assert "lesson: Look first." in ran.out
    assert mage("rerun", RUN).status == 0


def test_the_demos_story_as_a_script_comes_to_the_same_tree() -> None:
    """Judge and model from a file say what the demo's say: one story, byte for byte."""
    assert mage("run", *PLAYED, "--environment", "shop", "--session", RUN).status == 0
    assert mage("run", "--offline", "--session", "sqlite:///w.db#whole").status == 0
    assert exported(RUN) == exported("sqlite:///w.db#whole")


def test_judge_and_summarizer_are_played_too() -> None:
    """A failed summary is written anew by the summarizer's line, and judged by the judge's next."""
    file = script(
        {"act": "light one"},
        {"compress": "Two are lit."},
        {"judge": "failed", "feedback": "It is one.", "fault": "summary"},
        {"summary": "One is lit."},
        {"judge": "passed"},
        {"finish": "Done."},
    )
    ran = mage("run", "Light it.", "--environment", LAMPS, "--script", file)
    assert "  ✗ the judge: It is one." in ran.out
    assert "a new text: One is lit." in ran.out
    assert "model 3 calls, 0 tokens; judge 2 calls, 0 tokens; summarizer 1 call" in ran.out


def test_a_script_that_ends_says_so() -> None:
    """Status 1, whose lines are used up; with more lines the same command goes on behind them."""
    options = ("--environment", LAMPS, "--script", script({"act": "light one"}), "--session", RUN)
    told = json.loads(mage("run", "Light it.", *options, "--json").out)
    assert (told["outcome"], told["reason"], told["steps"]) == ("stopped", "script_ended", 2)
    assert (
        told["detail"]
        == "s.jsonl has no more to say: the model was answered by its 1 line, and is asked again"
    )
    assert mage("run", "--session", RUN).status == 1
    script({"act": "light one"}, {"act": "look"}, {"finish": "Done."})
    ran = mage("run", "--session", RUN)
    assert (ran.status, "light one" in ran.out.split("The tree")[0], "● 3 look" in ran.out) == (
        0,
        False,
        True,
    )


@pytest.mark.parametrize("action", [1, 6, 8])
def test_a_killed_script_goes_on_where_it_was(gate: Path, action: int) -> None:
    """Killed inside any action and run again, by the session alone, it comes to the tree of a whole run."""
    assert interrupted(gate, action, signal.SIGKILL).status == -signal.SIGKILL
    assert mage("run", "--session", RUN, "--environment", "tests.cli.gated:Freed").status == 0
    mage("run", "--offline", "--session", "sqlite:///w.db#whole")
    assert exported(RUN) == exported("sqlite:///w.db#whole")


def test_a_script_that_is_stopped_after_any_step_comes_to_the_same_tree() -> None:
    """Stopped after each step in turn, and gone on with by the session alone: the tree of a run that was never stopped."""
    mage("run", *PLAYED, "--environment", "shop", "--session", RUN, "--max-steps", 0)
    for steps in range(1, 13):
        assert mage("run", "--session", RUN, "--max-steps", steps, "--json").status == 1
    assert mage("run", "--session", RUN, "--policy", "max_steps=none").status == 0
    mage("run", *PLAYED, "--environment", "shop", "--session", "sqlite:///w.db#whole")
    assert exported(RUN) == exported("sqlite:///w.db#whole")


def test_another_script_begins_at_its_first_line() -> None:
    """Where a run goes on with a script that is new to it, nothing of the script is passed over, also later."""
    options = ("--environment", LAMPS, "--session", RUN)
    mage("run", "Light it.", *options, "--script", script({"act": "light one"}, {"act": "look"}))
    Path("t.jsonl").write_text('{"act": "sit"}\n{"act": "stand"}\n{"finish": "Done."}\n', encoding="utf-8")
    stopped = mage("run", "--session", RUN, "--script", "t.jsonl", "--max-steps", 4)
    assert "● 4 sit" in stopped.out
    ran = mage("run", "--session", RUN, "--policy", "max_steps=none")
    assert (ran.status, "● 5 stand" in ran.out) == (0, True)


def test_a_changed_run_goes_on_by_a_script() -> None:
    """`mage rerun --script` answers what the record does not, from the first line; one that ends is told."""
    options = ("--environment", LAMPS, "--session", RUN)
    mage(
        "run",
        "Light it.",
        *options,
        "--script",
        script({"act": "light one"}, {"finish": "Done."}),
        "--max-steps",
        2,
    )
    changed = ("rerun", RUN, "--policy", "max_steps=none", "--environment", LAMPS)
    ran = mage(*changed, "--script", script({"act": "look"}, {"finish": "Done."}))
    assert "+ " in ran.out
    assert "asked: model 2" in ran.out
    assert in_one_line(mage(*changed, "--script", script({"act": "look"})), "s.jsonl has no more to say")


# -- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"act: look", "not JSON at column 1"),
        (b'{"act": "look"', "not JSON at column"),
        (b'["look"]', "a reply is a JSON object"),
        (b'{"akt": "look"}', "'akt' is no part of such a reply; there is act"),
        (b'{"judge": "passed", "act": "look"}', "'act' is no part of such a reply; there is judge"),
        (b"{}", "it does nothing"),
        (b'{"act": []}', "it does nothing"),
        (b'{"thought": "Hm."}', "it does nothing"),
        (b'{"act": 3}', "an action is a text, or a call"),
        (b'{"act": {"note": "Milk."}}', "an action is a text, or a call"),
        (b'{"act": {"a": {}, "b": {}}}', "an action is a text, or a call"),
        (b'{"act": {"a": {"n": NaN}}}', "NaN is no number"),
        (b'{"compress": "a", "finish": "b"}', "both compress and finish"),
        (b'{"compress": 3}', "compress is a text"),
        (b'{"revise": "3", "lesson": "x"}', "revise is the number of a step"),
        (b'{"revise": true, "lesson": "x"}', "revise is the number of a step"),
        (b'{"revise": 3}', "lacks its lesson"),
        (b'{"act": "look", "lesson": "x"}', "a lesson belongs to a revise"),
        (b'{"judge": "maybe"}', '{"judge": "passed"}'),
        (b'{"judge": "failed"}', "lacks its feedback"),
        (b'{"judge": "failed", "feedback": " "}', "its feedback is blank"),
        (b'{"judge": "failed", "feedback": "x", "fault": "mine"}', "execution, summary"),
        (b'{"judge": "passed", "feedback": "x"}', '{"judge": "passed"}'),
        (b'{"summary": null}', "summary is a text"),
        (b'{"act": "\xff"}', "not UTF-8 at byte 9"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_line_that_is_no_reply_is_refused(line: bytes, said: str) -> None:
    """With its file and its number, in one line, before anything is run or made."""
    Path("s.jsonl").write_bytes(b'{"act": "look"}\r\n\n' + line + b"\n")
    with pytest.raises(BadScript) as refused:
        read_script("s.jsonl")
    assert (refused.value.line, said in refused.value.problem) == (3, True)
    ran = mage("run", "Light it.", "--environment", LAMPS, "--script", "s.jsonl", "--session", RUN)
    assert in_one_line(ran, "s.jsonl, line 3: ", said)
    assert [path.name for path in Path.cwd().iterdir()] == ["s.jsonl"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=5), each, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from(
    ["act", "compress", "revise", "lesson", "finish", "thought", "judge", "feedback", "fault", "summary", "x"]
)


@given(st.lists(st.dictionaries(keys, json_values, max_size=3) | json_values, max_size=5))
def test_whatever_stands_in_a_script_is_read_or_refused_by_its_line(lines: list[object]) -> None:
    """Any JSON at all: each line is a reply, or the first that is none is named; nothing else is raised."""
    Path("any.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    try:
        read = read_script("any.jsonl")
        bad = None
    except BadScript as refused:
        read, bad = Script("", (), (), ()), refused.line
    if bad is None:
        assert len(read.decisions) + len(read.verdicts) + len(read.summaries) == len(lines)
    else:
        assert 1 <= bad <= len(lines)


def test_a_script_is_read_as_the_values_of_python() -> None:
    """Each line is what a scripted model, judge or summarizer of `mage.testing` would be given."""
    file = script(
        {"act": ["look", {"note": {"text": "Milk."}}], "thought": "Hm."},
        {"note": "Eggs."},
        {"compress": "Seen."},
        {"revise": 3, "lesson": "No."},
        {"finish": ""},
        {"judge": "passed"},
        {"judge": "failed", "feedback": "No.", "fault": "summary"},
        {"judge": "failed", "feedback": "No.", "boundary": 3},
        {"summary": "Short."},
        {"look": 3},
        {"look": [0, 57], "words": "key", "page": 2},
    )
    acts = (Action("look"), Action(action_text("note", {"text": "Milk."})))
    assert read_script(file) == Script(
        file,
        (
            Decision(acts, None, "Hm."),
            Decision.note("Eggs."),
            Decision((), Compress("Seen.")),
            Decision((), Revise(3, "No.")),
            Decision((), Finish("")),
            Decision((), LookInto(3)),
            Decision((), LookInto(0, 57, "key", 2)),
        ),
        (Passed(), Failed("No.", "summary"), Failed("No.", boundary=StepId(3))),
        ("Short.",),
    )


def test_a_script_that_cannot_be_read_is_refused() -> None:
    """A file that is not there, and a folder."""
    with pytest.raises(Refused):
        read_script("none.jsonl")
    for file, said in (("none.jsonl", "No such file"), (".", "Is a directory")):
        assert in_one_line(mage("run", "t", "--environment", LAMPS, "--script", file), said)


def test_a_byte_order_mark_is_no_part_of_a_script() -> None:
    """Editors of Windows put one before what they save as UTF-8."""
    Path("s.jsonl").write_bytes('{"finish": "Done."}\r\n'.encode("utf-8-sig"))
    assert mage("run", "t", "--environment", LAMPS, "--script", "s.jsonl").status == 0


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"look": "kitchen"}, "look is the N"),
        ({"look": [0, 1, 2]}, "look is the N"),
        ({"look": 0, "page": "two"}, "page is a number"),
        ({"finish": "", "words": "key"}, "belong to a look"),
        ({"judge": "failed", "feedback": "No.", "boundary": "there"}, "boundary is the number"),
    ],
)
def test_a_look_or_a_boundary_that_is_none_is_refused(reply: object, said: str) -> None:
    """A line says what is wrong with it."""
    with pytest.raises(BadScript, match=said):
        read_script(script(reply))


# -- the demo's story in a foreign environment ---------------------------------------------------------


@pytest.mark.parametrize("environment", [LAMPS, "tests.cli.gated:Talking", "mage.demo.shop:Shop", "attic"])
def test_the_demos_story_is_played_in_the_demos_shop_alone(environment: str) -> None:
    """Anywhere else, under whatever name, `--offline` alone is refused with what to say instead; nothing is made."""
    for task in ((), ("Light it.",)):
        ran = mage("run", *task, "--offline", "--environment", environment, "--session", RUN)
        assert ran.status == 2
        assert "--script FILE" in ran.err
        assert environment in ran.err
    assert list(Path.cwd().iterdir()) == []


def test_no_session_of_a_foreign_environment_is_gone_on_with_by_the_demos_story() -> None:
    """Neither a run that is gone on with, nor a changed one: its session remembers where it acts."""
    with ScriptedServer(calls("act", action="light one"), Status(404)) as server:
        mage("run", "t", "--environment", LAMPS, "--model", "m", "--base-url", server.url, "--session", RUN)
    before = exported(RUN)
    assert "1 are lit." in before
    for command in (("run", "--session", RUN, "--offline"), ("rerun", RUN, "--offline")):
        ran = mage(*command)
        assert (ran.status, "--script FILE" in ran.err, LAMPS in ran.err) == (2, True, True)
    assert exported(RUN) == before


def test_nobody_guesses_where_a_session_acts() -> None:
    """A session that no agent has run does not say it: --offline is refused until --environment says shop."""
    with Session.open("sqlite:///w.db", "a", task="Light it.") as session:
        session.grow("light one", "1 are lit.")
    before = exported(RUN)
    ran = mage("run", "--offline", "--session", RUN)
    assert in_one_line(ran, "no agent has run this session", "say --environment")
    assert exported(RUN) == before
    assert mage("run", "--offline", "--session", RUN, "--environment", "shop").status == 0


def test_an_installed_shop_is_not_the_demos(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution that takes the name `shop` does not get the demo's story: the bundled one has the name."""
    about = place / "attic-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: attic\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[mage.environments]\nshop = tests.cli.gated:Lamps\n")
    monkeypatch.syspath_prepend(str(place))
    ran = mage("run", "--offline")
    assert (ran.status, "finished: The study is furnished." in ran.out) == (0, True)
