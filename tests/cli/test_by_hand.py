"""`mage run --by-hand`: whoever sits at the terminal is the model, and is shown what a model is shown."""

from __future__ import annotations

import io
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage import Session
from mage.agent import remembered
from mage.agent.reruns import run_of
from mage.chat import OURS
from mage.cli.answerers import ByHand, InputEnded
from mage.effects import Decide
from mage.engine import Compress, start, view
from mage.stores import open_store
from tests.cli.children import in_one_line, place
from tests.cli.runner import Ran, mage
from tests.llm.server import ScriptedServer, calls, says

__all__ = ["place"]

LAMPS = ("Light it.", "--environment", "tests.cli.gated:Lamps")
PASSED = json.dumps({"reasoning": "So.", "passed": True, "fault": "none", "feedback": ""})


def typed(monkeypatch: pytest.MonkeyPatch, text: str | bytes, *arguments: object) -> Ran:
    """Run a command with this standard input."""
    said = text if isinstance(text, bytes) else text.encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(said), encoding="utf-8"))
    return mage("run", *arguments)


def test_a_pipe_plays_a_whole_run_and_is_shown_every_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies of one line and of several, thoughts before them; the fixed words once, the state before each reply."""
    said = "I begin.\nAction[light one]\nCompress[One lamp\nis lit.]\nFinish[Done.]\n"
    ran = typed(monkeypatch, said, *LAMPS, "--by-hand", "--json")
    told = json.loads(ran.out)
    assert (ran.status, told["answer"], told["summaries"]) == (0, "Done.", 1)
    assert ran.err.count("You carry out a task") == 1
    assert ran.err.count("Task: Light it.") == 3
    assert "> I begin.\nAction[light one]\n" in ran.err
    assert "[Step 0] One lamp\n is lit." in ran.err


def test_what_is_no_move_is_told_and_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs the run nothing: the model has been asked once."""
    ran = typed(monkeypatch, "\n\nWhat now?\n\nFinish[Done.]\n", *LAMPS, "--by-hand", "--json")
    assert json.loads(ran.out)["tokens"]["model"]["calls"] == 1
    assert "that is no reply: no move in the reply" in ran.err


def test_where_the_input_ends_the_run_stops_and_its_session_goes_on_by_hand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Stopped, and why; to go on the session is enough, and what was said is not asked for again."""
    kept = ("--session", "w.db#a")
    ran = typed(monkeypatch, "Action[light one]\n", *LAMPS, "--by-hand", *kept)
    assert (ran.status, "stopped, input ended: standard input has ended" in ran.out) == (1, True)
    ran = typed(monkeypatch, "Finish[Done.]\n", *kept, "--json")
    told = json.loads(ran.out)
    assert (told["outcome"], told["tokens"]["model"]["calls"]) == ("finished", 2)


def test_a_summary_is_judged_by_the_user_or_by_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--judge -` asks here, for JSON of one line or of several; `--judge M` asks the model, and nobody decides but the user."""
    failed = json.dumps(
        {"reasoning": "", "passed": False, "fault": "summary", "feedback": "Which lamp?"}, indent=1
    )
    said = f"Action[light one]\nCompress[Lit.]\n{failed}\nCompress[Lamp one is lit.]\n{PASSED}\nFinish[Done.]\n{PASSED}\n"
    ran = typed(monkeypatch, said, *LAMPS, "--by-hand", "--judge", "-", "--json", "--policy", "rewrite=false")
    assert (ran.status, json.loads(ran.out)["tokens"]["judge"]["calls"]) == (0, 2)
    assert "Summary to judge: Lit." in ran.err
    assert "Which lamp?" in ran.err
    with ScriptedServer(says(PASSED)) as server:
        asked = ("--judge", "j", "--base-url", server.url, "--temperature", "0", "--json")
        ran = typed(
            monkeypatch, "Action[light one]\nCompress[Lit.]\nFinish[Done.]\n", *LAMPS, "--by-hand", *asked
        )
        (request,) = server.requests
    assert (ran.status, request.body["model"], request.body["temperature"]) == (0, "j", 0)


@pytest.mark.parametrize(
    "options",
    [
        ("--model", "m"),
        ("--mode", "text"),
        ("--offline",),
        ("--script", "s.jsonl"),
        ("--seed", "3", "--offline"),
    ],
)
def test_who_decides_is_said_once(options: tuple[str, ...]) -> None:
    """With a model, a script or the demo beside it, it is a usage error."""
    assert mage("run", *LAMPS, "--by-hand", *options).status == 2


def test_a_line_that_is_no_utf_8_is_told_and_nothing_is_performed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the locale says; what stands behind it is read."""
    ran = typed(monkeypatch, b"Action[\xff]\nFinish[Done.]\n", *LAMPS, "--by-hand", "--json")
    assert (ran.status, json.loads(ran.out)["steps"]) == (0, 1)  # `reset` gives the first
    assert "a reply is UTF-8, but byte 7 is not" in ran.err


def test_a_move_of_several_lines_is_read_to_the_bracket_that_closes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where a line of it ends in a bracket; a move amid a thought is none as long as one begins on a line of its own."""
    moves = ("Action[light a[1]\nand b[2]]", "I could do Action[light nine].\nNo, better:\nAction[light one]")
    ran = typed(monkeypatch, "\n".join([*moves, "Finish[ok]"]), *LAMPS, "--by-hand", "--session", "w.db#a")
    assert ran.status == 0
    with open_store("sqlite:///w.db") as store, Session.open(store, "a") as session:
        actions = [step.action for step in session.tree.steps()][1:]
    assert actions == ["light a[1]\nand b[2]", "light one"]


@pytest.mark.parametrize("wrong", ["Action[]", "Revise[soon]", "Note[ ]", "Look[x]"])
def test_a_closed_move_that_cannot_be_read_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    """And swallows nothing: the right one behind it is taken."""
    ran = typed(monkeypatch, f"{wrong}\nFinish[ok]\n", *LAMPS, "--by-hand", "--json")
    assert (ran.status, json.loads(ran.out)["answer"]) == (0, "ok")
    assert ran.err.count("-- that is no reply") == 1


def test_what_is_shown_into_a_pipe_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tabs and control characters of an observation too: nothing is escaped, or left out."""
    ran = typed(monkeypatch, "Action[a\tb\x07]\nFinish[ok]\n", *LAMPS, "--by-hand")
    assert "> Action[a\tb\x07]\n" in ran.err


def test_who_is_named_on_the_way_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that comes later judges, whatever choice stands beside it; what was said of models outlives a turn by hand."""
    typed(
        monkeypatch,
        "Action[light one]\n",
        *LAMPS,
        "--by-hand",
        "--session",
        "w.db#a",
        "--policy",
        "max_retexts=1",
    )
    replies = (calls("compress", text="Lit."), says(PASSED), calls("finish", answer="ok"))
    with ScriptedServer(*replies) as server:
        named = ("--model", "m", "--judge", "j", "--base-url", server.url, "--seed", 3, "--max-steps", 9)
        assert mage("run", "--session", "w.db#a", *named).status == 0
        assert [request.body["model"] for request in server.requests] == ["m", "j", "m"]
    with open_store("sqlite:///w.db") as store:
        found = run_of(store, "a")
        assert found is not None
        policy = found.last_policy
        assert (policy.maintain, policy.rewrite, policy.max_retexts, policy.max_steps) == (True, True, 1, 9)
    typed(monkeypatch, "", "--session", "w.db#a", "--by-hand", "--anew")
    with open_store("sqlite:///w.db") as store:
        kept = dict(remembered(store, "a") or {})
    assert (kept["judge"], kept["sampling"], kept["base_url"]) == ("j", {"seed": 3}, server.url)


def test_a_run_is_judged_again_by_hand_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """`rerun --judge -` asks nobody else."""
    mage("run", "--offline", "--session", "w.db#a")
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setattr("sys.stdin", io.StringIO(PASSED))
    ran = mage("rerun", "w.db#a", "--judge", "-")
    assert "the judge is asked once more" in ran.err
    assert "Summary to judge:" in ran.err


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1))
def test_whatever_is_typed_is_a_move_or_is_read_on(text: str) -> None:
    """No input raises anything but that it has ended; and a move behind it, after an empty line, is found."""
    request = Decide(view(start("t")), ())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.stderr", io.StringIO())
        patched.setattr("sys.stdin", io.StringIO(text))
        by_hand = ByHand(OURS)
        try:
            while True:
                by_hand(request)
        except InputEnded:
            pass
        patched.setattr("sys.stdin", io.StringIO(f"{text}\n\nCompress[so [it] is\nnow]\n"))
        found = list[object]()
        with suppress(InputEnded):
            while True:
                found.append(by_hand(request).value.then)
    assert Compress("so [it] is\nnow") in found


def test_one_line_is_one_refusal() -> None:
    """Prompts that are not there are refused before anything is asked."""
    assert in_one_line(mage("run", *LAMPS, "--by-hand", "--prompts", "none"), "none")
