"""Commands on a session: what they print, for people and for machines, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mage import Failed, view
from mage.codec import decode_tree, encode_journal
from mage.engine import (
    Accept,
    ApplyVerdict,
    Command,
    Compress,
    Grow,
    Instruct,
    Revise,
    Start,
    StepId,
    Unverified,
    apply,
    replay,
)
from mage.render import render
from tests.cli.runner import mage


def story() -> list[Command]:
    """Return a journal with a failure, a revision and everything else that a tree can show."""
    commands: list[Command] = [
        Start("furnish a study"),
        Instruct("oak avoids chrome", standing=True),
        Grow("buy[desk]", "bought"),
        Compress("desk bought"),
        Accept(),
        Grow("buy[chrome chair]", "bought\nfor $129"),
        Compress("chair bought"),
    ]
    pending = replay(commands).unwrap()
    assert isinstance(pending, Unverified)
    commands += [
        ApplyVerdict(Failed("oak avoids chrome"), pending.digest),
        Revise(StepId(1), "look at linen"),
        Grow("buy[linen chair]", "bought"),
        Compress("linen chair bought", "fallback"),
        Accept(),
        Grow("\x1b[31mred[0m", ""),
    ]
    return commands


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """Return a file with the story."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(encode_journal(story())))
    return path


def test_tree_draws_the_active_path_and_what_was_left(session: Path) -> None:
    """Steps with their marks, summaries with their verdicts, lessons and instructions where they stand."""
    ran = mage("tree", session)
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "task: furnish a study"
    assert "● 1 buy[desk] → bought" in lines
    assert "├─ ○ 2 buy[chrome chair] → bought⏎for $129" in lines
    assert "│    ■ failed, execution  [Step 1] (1 step) chair bought" in lines
    assert "│      because: oak avoids chrome" in lines
    assert any("lesson at [Step 1]: look at linen" in line for line in lines)
    assert any("standing instruction: oak avoids chrome" in line for line in lines)
    assert lines[-1].startswith("◆ 4 ")


def test_nothing_that_an_observation_holds_reaches_the_terminal_raw(session: Path) -> None:
    """Escape sequences in content are shown, not obeyed."""
    assert "\x1b" not in mage("tree", session).out
    assert r"\x1b[31mred" in mage("tree", session).out


def test_show_prints_what_the_agent_would_see(session: Path) -> None:
    """The rendered S of the last version, or of an earlier one."""
    commands = story()
    assert mage("show", session).out == render(view(replay(commands).unwrap()))
    for version in range(1, len(commands) + 1):
        expected = render(view(replay(commands[:version]).unwrap()))
        assert mage("show", f"{session}@{version}").out == expected


def test_show_for_machines_has_c_r_and_h(session: Path) -> None:
    """One JSON object with the parts of S."""
    shown = json.loads(mage("show", f"{session}@9", "--json").out)
    assert [summary["text"] for summary in shown["compressed"]] == ["desk bought"]
    assert shown["compressed"][0]["verdict"] == {"is": "accepted", "despite": None}
    assert shown["raw"] == []
    assert shown["instructions"] == ["oak avoids chrome"]
    assert shown["hints"]["lessons"] == [{"boundary": 1, "text": "look at linen"}]
    assert shown["hints"]["subgoals"][0]["verdict"]["feedback"] == "oak avoids chrome"
    assert shown["boundary"] == 1


@pytest.mark.parametrize("version", [0, 14])
def test_a_version_that_is_not_there_is_refused(session: Path, version: int) -> None:
    """The error says which there are."""
    ran = mage("show", f"{session}@{version}")
    assert ran.status == 1
    assert "versions 1 to 13" in ran.err


def test_check_says_how_many_versions_hold(session: Path) -> None:
    """A sound session passes, for people and for machines."""
    assert mage("check", session).out.endswith("13 commands, sound after each: I1 to I12 hold\n")
    assert json.loads(mage("check", session, "--json").out) == {"commands": 13, "steps": 4, "sound": True}


def test_check_names_the_tampered_command(session: Path) -> None:
    """A journal whose command its own state refuses is told by number, kind and reason."""
    session.write_bytes(session.read_bytes().replace(b'"boundary":1', b'"boundary":2'))
    ran = mage("check", session)
    assert ran.status == 1
    assert "command 9, Revise: [Step 2] is not a boundary" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_check_names_a_command_in_the_wrong_phase(session: Path, tmp_path: Path) -> None:
    """So is one that is not legal where it stands, by every command that replays."""
    path = tmp_path / "wrong.jsonl"
    path.write_bytes(b"".join(encode_journal([Start("task"), Accept()])))
    for command in ("check", "tree", "show"):
        ran = mage(command, path)
        assert ran.status == 1
        assert "accept is not legal in Active" in ran.err


@pytest.mark.parametrize("notation", ["text", "mermaid", "dot", "json"])
def test_export_writes_the_tree(session: Path, notation: str) -> None:
    """Every notation names every step, on standard output; --json wraps it."""
    ran = mage("export", session, "--to", notation)
    assert ran.status == 0
    assert all(name in ran.out for name in ("desk", "chrome", "linen"))
    assert json.loads(mage("export", session, "--to", notation, "--json").out)["content"] == ran.out


def test_exported_json_is_the_tree(session: Path) -> None:
    """Mage's own JSON decodes to the same state."""
    exported = mage("export", session, "--to", "json").out
    assert decode_tree(exported.encode()).unwrap() == replay(story()).unwrap()


def test_tree_for_machines_has_both_layers(session: Path) -> None:
    """Steps with parents, summaries with covers, and where the agent stands."""
    tree = json.loads(mage("tree", session, "--json").out)
    assert tree["phase"] == "active"
    assert [step["parent"] for step in tree["steps"]] == [0, 1, 1, 3]
    assert [summary["covers"] for summary in tree["summaries"]] == [[1], [2], [3]]
    assert (tree["active_path"], tree["summary_path"]) == ([0, 1, 3, 4], [0, 1, 3])
    assert tree["lessons"] == {"1": ["look at linen"]}
    assert tree["instructions"] == {"0": [{"text": "oak avoids chrome", "standing": True}]}


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    """No traceback, exit status 1."""
    for command in ("tree", "show", "check"):
        ran = mage(command, tmp_path / "none.jsonl")
        assert ran.status == 1
        assert "No such file" in ran.err
        assert len(ran.err.splitlines()) == 1


def test_usage_errors_exit_with_2(session: Path) -> None:
    """A wrong option, notation or argument is a usage error."""
    for arguments in (["show"], ["export", session, "--to", "png"], ["tree", session, "--nope"], ["nope"]):
        assert mage(*arguments).status == 2


def test_help_and_version() -> None:
    """The command says what it is."""
    assert "execution state of long-running agents" in mage("--help").out
    assert mage("--version").out.startswith("mage ")


def test_a_story_is_what_apply_makes_of_it() -> None:
    """The fixture itself is accepted, command by command."""
    state = None
    for command in story():
        state = apply(state, command).unwrap()
    assert state is not None
