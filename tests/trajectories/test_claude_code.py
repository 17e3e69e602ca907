"""Logs of Claude Code: what is a step, where the tree branches, what a compaction is, what is left out and said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.engine import Compress, Grow, Revise, Start, replay, view
from mage.trajectories import Steps, Trajectory, load
from tests.shared_data import SHARED, needs_shared
from tests.trajectories.coding_logs import (
    CLAUDE_CODE,
    Row,
    boundary,
    call,
    lines,
    read,
    record,
    remarks_of,
    replied,
    returned,
    said,
    shown_of,
    state_of,
    summary,
)

STORY = (said("u1", None, "Mend the pump."), replied("a2", "u1", "Looking."))


def _contents(trajectory: Trajectory) -> list[str]:
    """Return what stands in the open steps, action or else observation."""
    return [step.action or step.observation.removeprefix("user:\n") for step in shown_of(trajectory).raw]


def test_whole_session_is_read_as_the_client_was_sent_it() -> None:
    """After rewind and compaction S has the client's summary, and behind it the path where the session stands."""
    main, agent = read(*CLAUDE_CODE)
    shown = shown_of(main)
    assert shown.task == "Mend the pump."
    assert [line.text for line in shown.compressed] == ["The pump's flow was looked at."]
    assert _contents(main) == ["Now set it to 9.", 'Edit {"file_path":"pump.py","new":"9","old":"7"}', "Set."]
    assert (main.name, agent.name) == ("log", "log/agent-b7")
    assert [step.action for step in shown_of(agent).raw] == ["Side work."]


def test_reply_in_several_records_is_one_step() -> None:
    """Its words and parallel calls are one action, all that came back one observation; usage is counted once."""
    main, _ = read(*CLAUDE_CODE)
    first = main.commands[1]
    assert first == Grow(
        'Looking.\nRead {"file_path":"pump.py"}\nBash {"command":"pytest tests/test_pump.py"}',
        "tool Read:\nFLOW = 7\n\ntool Bash:\n1 failed: test_flow_4711",
    )
    meta = main.metas[1]
    assert meta["calls"] == ["t1", "t2"]
    assert meta["thought"] == "Where is it?"
    assert meta["at"] == 1_790_928_002_500_000
    log = meta["log"]
    assert isinstance(log, dict)
    assert log["model"] == "claude-pond-4"
    assert log["usage"] == {"input_tokens": 30, "output_tokens": 2}
    assert log["uuids"] == ["a2", "a3", "a4", "a5", "r6", "r7"]


def test_with_tools_each_call_is_a_step_with_its_id() -> None:
    """Parallel calls are steps in call order, each with its result and id; what a person said stays a step."""
    main, _ = read(*CLAUDE_CODE, steps="tools")
    grown = [
        (command, meta)
        for command, meta in zip(main.commands, main.metas, strict=True)
        if isinstance(command, Grow)
    ]
    assert [command.observation for command, _ in grown[:3]] == [
        "FLOW = 7",
        "1 failed: test_flow_4711",
        "edited",
    ]
    assert [meta.get("call") for _, meta in grown[:3]] == ["t1", "t2", "t3"]
    assert ("user:\nNow set it to 9.", None) in [(each.observation, meta.get("call")) for each, meta in grown]


def test_rewind_is_a_branch_and_nothing_is_made_up() -> None:
    """What was left stands beside what came after; steps before it are merged, not doubled; the lesson names it."""
    main, _ = read(*CLAUDE_CODE)
    tree = state_of(main).tree
    actions = [step.action for step in tree.steps()]
    assert len([action for action in actions if action.startswith("Looking.")]) == 1
    assert 'Edit {"file_path":"pump.py","new":"8","old":"7"}' in actions
    (revise,) = [command for command in main.commands if isinstance(command, Revise)]
    assert revise.boundary == 0
    assert "Edit" in revise.lesson
    assert [command.text for command in main.commands if isinstance(command, Compress)] == [
        "The pump's flow was looked at."
    ]


def test_what_a_compaction_keeps_stands_behind_its_summary() -> None:
    """Kept messages are written again with the summary as their parent, in a circle; S has summary, kept, new."""
    (main,) = read(
        *STORY,
        said("u3", "a2", "Go on."),
        replied("a4", "u3", "Went on."),
        boundary("c5", "a4", "u3", "a4"),
        summary("c5s", "c5", "It was looked at."),
        said("u3", "c5s", "Go on."),
        replied("a4", "u3", "Went on."),
        said("u6", "a4", "And on."),
        replied("a7", "u6", "On."),
    )
    assert [line.text for line in shown_of(main).compressed] == ["It was looked at."]
    assert _contents(main) == ["Go on.", "Went on.", "And on.", "On."]
    assert not any(isinstance(command, Revise) for command in main.commands)


def test_of_a_kept_segment_only_the_ends_may_be_named() -> None:
    """An older client names head and tail of what it keeps."""
    segment = {"preservedSegment": {"headUuid": "u3", "tailUuid": "a4"}, "trigger": "manual"}
    cut = boundary("c5", "a4") | {"compactMetadata": segment}
    (main,) = read(
        *STORY,
        said("u3", "a2", "Go on."),
        replied("a4", "u3", "Went on."),
        cut,
        summary("c5s", "c5", "Looked."),
    )
    assert _contents(main) == ["Go on.", "Went on."]


def test_each_compaction_is_an_account_of_its_own() -> None:
    """Two compactions are two lines of C; one with nothing new before it is left out, and said."""
    (main,) = read(
        *STORY,
        boundary("c3", "a2"),
        summary("c3s", "c3", "First."),
        replied("a4", "c3s", "More."),
        boundary("c5", "a4"),
        summary("c5s", "c5", "Second."),
        boundary("c6", "c5s"),
        summary("c6s", "c6", "Third."),
        replied("a7", "c6s", "Last."),
    )
    assert [line.text for line in shown_of(main).compressed] == ["First.", "Second."]
    assert _contents(main) == ["Last."]
    assert any("a compaction with nothing new before it" in remark for remark in remarks_of(main))


def test_summary_without_a_boundary_is_one_too() -> None:
    """An older client writes the text alone, without a parent."""
    (main,) = read(*STORY, summary("c3", None, "Old."), replied("a4", "c3", "More."))
    assert [line.text for line in shown_of(main).compressed] == ["Old."]
    assert _contents(main) == ["More."]


def test_rewind_to_before_a_compaction_leaves_the_summary() -> None:
    """The tree goes back past the summary, over the steps that both ways share."""
    (main,) = read(
        *STORY,
        replied("a3", "a2", "Tried."),
        boundary("c4", "a3"),
        summary("c4s", "c4", "It was tried."),
        replied("a5", "c4s", "More."),
        said("u6", "a2", "Not so."),
        replied("a7", "u6", "Otherwise."),
    )
    assert shown_of(main).compressed == ()
    assert _contents(main) == ["Looking.", "Not so.", "Otherwise."]


def test_subagents_own_file_is_one_session() -> None:
    """A newer client writes each subagent into a file of its own, all of it sidechain."""
    rows = [row | {"isSidechain": True, "agentId": "b7"} for row in STORY]
    (agent,) = read(*rows)
    assert (agent.name, shown_of(agent).task) == ("log", "Mend the pump.")
    assert _contents(agent) == ["Looking."]


def test_subagents_without_ids_are_told_apart_by_their_parents() -> None:
    """An old client gives no ids: a subagent is what hangs together."""
    sides = [
        said("s3", None, "Look left.", isSidechain=True),
        replied("s4", "s3", "Left.", isSidechain=True),
        said("s5", None, "Look right.", isSidechain=True),
        replied("s6", "s5", "Right.", isSidechain=True),
    ]
    _, left, right = read(*STORY, *sides)
    assert (shown_of(left).task, _contents(left)) == ("Look left.", ["Left."])
    assert (shown_of(right).task, _contents(right)) == ("Look right.", ["Right."])


def test_subagent_is_named_beside_the_call_that_it_answers() -> None:
    """The result of the call that started it says who it was."""
    result = returned("r4", "a3", "t1", "found", toolUseResult={"agentId": "b7", "status": "completed"})
    (main,) = read(*STORY, replied("a3", "a2", call("t1", "Task", prompt="Look.")), result)
    log = main.metas[-1]["log"]
    assert isinstance(log, dict)
    assert log["agents"] == ["b7"]


def test_what_is_unknown_is_left_out_and_said() -> None:
    """Records of any type and shape harm nothing; a link among them still leads on."""
    odd: list[Row] = [
        {"type": "teleport", "where": 3},
        record("x3", "a2", "attachment", attachment={"type": "todo"}),
        record("x4", "x3", "hologram"),
        record("x5", "x4", "system", subtype="turn_duration"),
        record("x6", "x5", "user", message="no object", isMeta=True),
        said("x7", "x6", "<local-command-stdout>cleared</local-command-stdout>"),
        replied("x8", "x7", "API Error: overloaded", isApiErrorMessage=True),
        {"uuid": "x9", "parentUuid": "x8", "type": 5, "message": {"content": {"a": 1}}},
    ]
    (main,) = read(*STORY, *odd, replied("a10", "x9", "Still here."))
    assert _contents(main) == ["Looking.", "Still here."]
    told = " ".join(remarks_of(main))
    for kind in ("teleport", "attachment", "hologram", "system (turn_duration)", "user (meta)", "assistant"):
        assert f"{kind!r}, left out" in told


def test_broken_lines_are_left_out_and_said() -> None:
    """A client is still writing: half a line at the end, or a damaged one before, costs that line alone."""
    data = lines(*STORY) + b'{"uuid": "a3", "parent\xff\n' + lines(replied("a4", "a2", "More."))
    for broken in (data + b'{"uuid": "a5", "paren', data + b'{"a": NaN}\n'):
        (main,) = load(broken, file="log.jsonl").unwrap()
        assert _contents(main) == ["Looking.", "More."]
        assert remarks_of(main)[-1] == "a line that cannot be read, left out, 2 times, first at line 3"


def test_parent_that_is_not_there_is_taken_for_the_record_before() -> None:
    """After a resume the first record may name a parent that was never written: nothing is lost by it."""
    (main,) = read(*STORY, said("u3", "phantom", "Go on."), replied("a4", "u3", "Went on."))
    assert _contents(main) == ["Looking.", "Go on.", "Went on."]
    assert any("a parent that is not in the log" in remark for remark in remarks_of(main))


def test_parents_in_a_circle_end() -> None:
    """A circle is left where it closes."""
    (main,) = read(said("u1", "a2", "Begin."), replied("a2", "u1", "Begun."))
    assert set(_contents(main)) <= {"Begin.", "Begun."}


def test_words_that_nobody_answered_are_said() -> None:
    """A message that was taken back before a reply is no branch; the last one of a session is still to be answered."""
    (main,) = read(*STORY, said("u3", "a2", "Wrong."), said("u4", "a2", "Right."))
    assert _contents(main) == ["Looking.", "Right."]
    assert any("took back" in remark for remark in remarks_of(main))


def test_session_stands_where_its_last_prompt_says() -> None:
    """Somebody who went back and has said nothing yet stands there; what is written behind that note counts more."""
    rows = [*STORY, replied("a3", "a2", "More."), {"type": "last-prompt", "leafUuid": "a2"}]
    (back,) = read(*rows)
    (on,) = read(*rows, replied("a4", "a3", "On."))
    assert _contents(back) == ["Looking."]
    assert _contents(on) == ["Looking.", "More.", "On."]


def test_what_a_person_says_with_a_result_stays_with_it() -> None:
    """Words beside a tool's result are part of what came back."""
    words = {"type": "text", "text": "Hurry."}
    result = returned("r4", "a3", "t1", "slow", words)
    (main,) = read(*STORY, replied("a3", "a2", call("t1", "Wait")), result)
    assert shown_of(main).raw[-1].observation == "tool Wait:\nslow\n\nuser:\nHurry."


def test_nothing_but_bookkeeping_is_an_empty_session() -> None:
    """A log without a word is read, too."""
    (main,) = read(record("x1", None, "system", subtype="init"))
    assert main.commands == (Start(""),)


@st.composite
def _trees(draw: st.DrawFn) -> list[Row]:
    """Draw a session of replies and words, each behind a reply of any time."""
    rows: list[Row] = list(STORY)
    replies = ["a2"]
    for number in range(3, 3 + draw(st.integers(0, 12))):
        parent = draw(st.sampled_from(replies))
        if draw(st.booleans()):
            rows.append(said(f"u{number}00", parent, f"Word {draw(st.integers(0, 2))}."))
            parent = f"u{number}00"
        rows.append(replied(f"a{number}", parent, f"Reply {draw(st.integers(0, 2))}."))
        replies.append(f"a{number}")
    return rows


def _path(rows: list[Row]) -> list[str]:
    """Return the texts on the way to the last record, but for the task."""
    by_id = {row["uuid"]: row for row in rows}
    found: list[str] = []
    uuid = rows[-1]["uuid"]
    while uuid is not None:
        content = by_id[uuid]["message"]["content"]
        found.append(content if isinstance(content, str) else content[0]["text"])
        uuid = by_id[uuid]["parentUuid"]
    return found[-2::-1]


@given(_trees())
def test_session_shows_the_path_where_it_stands(rows: list[Row]) -> None:
    """However often the user went back, S is the path to the last record; every other reply is in the tree beside it."""
    (main,) = read(*rows)
    assert _contents(main) == _path(rows)
    replies = {row["message"]["content"][0]["text"] for row in rows if row["type"] == "assistant"}
    assert replies == {step.action for step in state_of(main).tree.steps() if step.action}


@given(st.lists(st.integers(0, 3), max_size=6))
def test_every_record_is_placed_or_said(kinds: list[int]) -> None:
    """A record is in a step, links others, or is said to be left out: none goes missing."""
    rows: list[Row] = list(STORY)
    for number, kind in enumerate(kinds, start=3):
        parent = rows[-1].get("uuid", rows[-2].get("uuid"))
        rows.append(
            [
                said(f"x{number}", parent, f"Word {number}."),
                replied(f"x{number}", parent, f"Reply {number}."),
                record(f"x{number}", parent, "progress"),
                {"uuid": f"x{number}", "parentUuid": parent, "type": "queue-operation"},
            ][kind]
        )
    (main,) = read(*rows)
    placed = {entry.record for entries in main.sources for entry in entries}
    left = sum(remark.count for remark in main.remarks)
    assert len(placed) + left == len(rows)


@needs_shared
@pytest.mark.parametrize("steps", ["messages", "tools"])
def test_shared_logs_are_read(steps: Steps) -> None:
    """Sessions that others wrote in these formats replay, and show what stands behind their last compaction."""
    for path in sorted((SHARED / "prototypes" / "integrations" / "fixtures").glob("*.jsonl")):
        main, *_ = load(path.read_bytes(), file=path.name, steps=steps).unwrap()
        shown = view(replay(main.commands).unwrap())
        assert len(shown.compressed) == 1, path.name
        assert shown.raw, path.name
