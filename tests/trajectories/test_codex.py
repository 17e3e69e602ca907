"""Logs of Codex: what is a step, where the tree branches, what an encrypted compaction is, what is left out and said."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mage.engine import Compress, Grow, Revise, Start
from mage.render.extract import is_extract
from mage.trajectories import Trajectory
from mage.trajectories.coding import UNTOLD
from tests.trajectories.coding_logs import (
    CODEX,
    Row,
    begun,
    event,
    heard,
    output,
    read,
    remarks_of,
    row,
    shown_of,
    spoken,
    state_of,
)


def _contents(trajectory: Trajectory) -> list[str]:
    return [step.action or step.observation.removeprefix("user:\n") for step in shown_of(trajectory).raw]


def test_whole_session_is_read() -> None:
    """Parallel calls are one step, a roll back is a branch, the client's own words are no user's."""
    (main,) = read(*CODEX)
    assert shown_of(main).task == "Mend the pump."
    assert main.commands[1] == Grow(
        'exec {"cmd":"cat pump.py"}\nexec {"cmd":"pytest tests/test_pump.py"}',
        "tool exec:\nFLOW = 7\n\ntool exec:\n1 failed: test_flow_4711",
    )
    (revise,) = [command for command in main.commands if isinstance(command, Revise)]
    assert "Set it to 8." in revise.lesson
    actions = [step.action for step in state_of(main).tree.steps()]
    assert 'exec {"cmd":"sed -i s/7/8/ pump.py"}' in actions
    assert _contents(main) == ["Done."]


def test_encrypted_compaction_is_said() -> None:
    """Its text is for the server alone: an extract stands for it, names itself as one, and a remark says so."""
    (main,) = read(*CODEX)
    (compress,) = [command for command in main.commands if isinstance(command, Compress)]
    first, _, rest = compress.text.partition("\n")
    assert first == UNTOLD
    assert is_extract(rest)
    assert any("whose text is not in the log" in remark for remark in remarks_of(main))


def test_compaction_with_a_text_is_a_summary() -> None:
    """An older client writes the text, or puts it last into what it keeps."""
    told = row("compacted", {"message": "The pump was mended."})
    kept = [heard("Mend.")["payload"], heard("It was mended.")["payload"]]
    (one,) = read(begun(), heard("Mend."), spoken("Mended."), told)
    (other,) = read(
        begun(),
        heard("Mend."),
        spoken("Mended."),
        row("compacted", {"message": "", "replacement_history": kept}),
    )
    assert [line.text for line in shown_of(one).compressed] == ["The pump was mended."]
    assert [line.text for line in shown_of(other).compressed] == ["It was mended."]


def test_meta_is_kept() -> None:
    """Model, usage, thoughts, ids and times stand beside the step; what the session was beside its start."""
    (main,) = read(*CODEX)
    assert main.metas[0]["log"] == {
        "client": "codex",
        "session": "c0de",
        "folder": "/home/pond",
        "version": "0.153.0",
    }
    assert main.metas[1] == {
        "at": 1_790_928_001_250_000,
        "log": {"model": "pond-5-codex", "usage": {"input_tokens": 90}},
        "thought": "Where?",
        "calls": ["c1", "c2"],
    }


def test_with_tools_each_call_is_a_step() -> None:
    """Each call with its result is a step, in call order."""
    (main,) = read(*CODEX, steps="tools")
    grown = [command for command in main.commands if isinstance(command, Grow)]
    assert grown[0] == Grow('exec {"cmd":"cat pump.py"}', "FLOW = 7")
    assert [meta.get("call") for meta in main.metas[1:3]] == ["c1", "c2"]


def test_other_calls_are_read() -> None:
    """Custom, shell and search calls are actions; a result with parts is text; one without a call is kept, and said."""
    patch = row(
        "response_item", {"type": "custom_tool_call", "name": "patch", "input": "*** a", "call_id": "c1"}
    )
    done = row(
        "response_item",
        {
            "type": "custom_tool_call_output",
            "call_id": "c1",
            "output": [{"type": "input_text", "text": "ok"}],
        },
    )
    shell = row("response_item", {"type": "local_shell_call", "action": {"command": ["ls"]}, "call_id": "c2"})
    search = row("response_item", {"type": "web_search_call", "action": {"query": "pump"}})
    (main,) = read(heard("Go."), patch, done, shell, output("c2", "a"), search, output("c9", "lost"))
    assert [(step.action, step.observation) for step in shown_of(main).raw] == [
        ("patch *** a", "ok"),
        ('local_shell_call {"command":["ls"]}', "a"),
        ('web_search_call {"query":"pump"}', "tool (result of no call):\nlost"),
    ]
    assert any("a result of no call" in remark for remark in remarks_of(main))


def test_what_is_unknown_is_left_out_and_said() -> None:
    """Types of any name, items without one, and a roll back of nothing harm nothing."""
    odd: list[Row] = [
        row("world_state", {"a": 1}),
        row("response_item", {"type": "ghost_snapshot"}),
        row("response_item", 7),
        heard("Be brief.", "developer"),
        event("thread_rolled_back", num_turns=0),
        {"timestamp": 3, "type": ["x"], "payload": None},
        row("response_item", {"type": "reasoning", "encrypted_content": "s"}),
    ]
    (main,) = read(begun(), *odd, heard("Go."), spoken("Gone."))
    assert _contents(main) == ["Gone."]
    told = " ".join(remarks_of(main))
    for kind in ("world_state", "response_item (ghost_snapshot)", "response_item (developer)"):
        assert f"{kind!r}, left out" in told


def test_log_without_a_word_is_an_empty_session() -> None:
    """A session that was opened and left is read, too."""
    (main,) = read(begun())
    assert main.commands == (Start(""),)


@given(st.lists(st.one_of(st.none(), st.integers(1, 3)), max_size=12))
def test_roll_backs_leave_what_the_client_has_left(turns: list[int | None]) -> None:
    """However many turns were taken back, S has those that were not, and the tree has all."""
    rows: list[Row] = [begun(), heard("Begin."), spoken("Begun.")]
    left = ["Begun."]
    starts = [0]
    every = {"Begun."}
    for number, back in enumerate(turns):
        if back is None:
            rows += [heard(f"Word {number}."), spoken(f"Reply {number}.")]
            starts.append(len(left))
            left += [f"Word {number}.", f"Reply {number}."]
            every.add(f"Reply {number}.")
        elif len(starts) > back:
            rows.append(event("thread_rolled_back", num_turns=back))
            del left[starts[-back] :], starts[-back:]
    (main,) = read(*rows)
    assert _contents(main) == left
    assert {step.action for step in state_of(main).tree.steps() if step.action} == every
