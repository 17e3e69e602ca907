"""Finding a format, and refusing what fits none or is malformed."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from returns.pipeline import is_successful

from mage.engine import check, replay
from mage.trajectories import FORMATS, detect, load
from mage.trajectories.trajectory import Json
from tests.trajectories.samples import (
    BUNDLE,
    CHAT,
    JOURNAL,
    JSON,
    JSON_SAMPLES,
    RUN,
    SWE_AGENT,
    TAU_BENCH,
    TOT_CROSSWORDS,
    WHO_AND_WHEN,
    bent,
    encoded,
    lines,
    loaded,
    refused,
)

EVERY_SAMPLE = [(name, sample) for name, samples in JSON_SAMPLES.items() for sample in samples]
SAMPLES = st.sampled_from([sample for _, sample in EVERY_SAMPLE])


def _is_one_line(told: str) -> bool:
    return told.isprintable() and len(told) < 1_000 and told.startswith("t.json: ")


def _outcome(data: bytes, format_name: str | None = None) -> str:
    """Return `"sound"` where every trajectory replays to a state that holds all invariants, else the error."""
    result = load(data, file="t.json", format=format_name)
    if not is_successful(result):
        return str(result.failure())
    for trajectory in result.unwrap():
        check(replay(trajectory.commands).unwrap())
    return "sound" if result.unwrap() else "nothing"


def _is_total(outcome: str) -> bool:
    return outcome == "sound" or _is_one_line(outcome)


@pytest.mark.parametrize(("name", "sample"), EVERY_SAMPLE)
def test_format_is_found_by_looking(name: str, sample: Json) -> None:
    """Every sample is told for what it is and loads as it does when its format is named."""
    assert name == detect(encoded(sample))
    assert loaded(sample) == loaded(sample, format_name=name)


def test_json_lines_are_told_apart() -> None:
    """Messages a line and conversations a line are chat; a header or a command makes a journal or a bundle."""
    assert detect(lines(RUN)) == "chat"
    assert detect(lines([CHAT, CHAT])) == "chat"
    assert detect(JOURNAL) == "journal"
    assert detect(BUNDLE) == "bundle"
    assert detect(JOURNAL.partition(b"\n")[2]) == "journal"


def test_names_of_formats_are_the_public_ones() -> None:
    """The list of formats is exactly what the command's help promises."""
    assert FORMATS == (
        "journal",
        "bundle",
        "claude-code",
        "codex",
        "atif",
        "chat",
        "swe-agent",
        "tau-bench",
        "tot-crosswords",
        "who-and-when",
    )


def test_name_of_the_file_says_nothing() -> None:
    """The same bytes load alike under a name that promises something else; only the stem is used."""
    one = load(encoded(CHAT), file="deep/run.traj").unwrap()
    other = load(encoded(CHAT), file="run.jsonl").unwrap()
    assert one == other
    assert one[0].name == "run"


@pytest.mark.parametrize(
    "data",
    [b"7", b'"text"', b"{}", b'{"a": 1}', b'[{"a": 1}]', b"[1, 2]", b"[[]]", b"null", b'{"a": 1}\n{"b": 2}'],
)
def test_what_fits_no_format_is_told_which_there_are(data: bytes) -> None:
    """JSON that is no trace gets the list of formats and the option that names one."""
    assert detect(data) is None
    told = str(refused(data))
    assert "--format" in told
    assert all(name in told for name in FORMATS)


def test_unknown_format_is_refused() -> None:
    """A name that is no format is told which there are."""
    assert "tau-bench" in str(refused(encoded(CHAT), format_name="tau"))


@pytest.mark.parametrize(
    ("data", "record", "problem", "good"),
    [
        (b"", "$", "expected a trace, found an empty file", 0),
        (b" \r\n\t\n", "$", "expected a trace, found an empty file", 0),
        (b"[]", "$", "expected at least one record, found an empty list", 0),
        (b"\xff\xfe", "$", "found UTF-16 or UTF-32", 0),
        (b"\xff", "$", "not UTF-8: byte 0xff at offset 0", 0),
        (encoded(CHAT)[:-1], "messages", "but the text ends", 0),
        (encoded(RUN)[:200], "[4]", "not JSON: unterminated string", 4),
        (encoded(TAU_BENCH).partition(b', "reward": 1,')[0], "[2].trial", "not JSON: expecting", 2),
        (encoded(RUN).replace(b"look.", b"look\xc3."), "[2].content", "not UTF-8: byte 0xc3", 2),
        (lines(RUN[:4]) + b'{"role":', "line 5, role", "not JSON: expecting value, but the text ends", 4),
        (lines(RUN[:4]) + b"\n" + lines([7]), "line 6", "expected an object with role, found 7", 4),
        (lines(RUN[:2]) + b'{"role": "user", "content": "\xff"}\n', "line 3", "not UTF-8: byte 0xff", 2),
        (
            lines([CHAT, {"messages": [{"role": 5}]}]),
            "line 2, messages[0].role",
            "expected a string, found 5",
            1,
        ),
        (b'[{"role": "user", "content": NaN}]', "[0].content", "expected a finite number, found nan", 0),
        (b'{"messages": [1e999]}', "messages[0]", "expected a finite number, found inf", 0),
        (b'[{"role": ' + b"7" * 5000 + b"}]", "[0].role", "expected a finite number, found inf", 0),
        (b'[{"role": "user", "role": "user"}]', "[0].role", "stands twice", 0),
        (b"[" * 150 + b"]" * 150, "[0]", "nested deeper than 100 levels", 0),
        (b"[" * 100_000, "[0]", "nested deeper than 100 levels", 0),
        (b'{"messages": ' * 100_000, "messages", "nested deeper than 100 levels", 0),
        (encoded({"messages": []}), "$", "expected at least one message", 0),
        (encoded({"messages": 3}), "messages", "expected a list of messages, found 3", 0),
        (encoded([*RUN[:3], {"content": "x"}]), "[3].role", "expected this field, found none", 3),
        (encoded([{"traj": [], "trial": 0, "reward": 0}]), "[0].task_id", "expected this field", 0),
        (encoded([{"traj": [], "task_id": [], "trial": 0}]), "[0].task_id", "a string or a whole number", 0),
        (encoded([{"traj": [], "task_id": 1, "trial": True}]), "[0].trial", "a whole number, found true", 0),
        (
            encoded([{"traj": [], "task_id": 1, "trial": 0, "reward": "1"}]),
            "[0].reward",
            'a number, found "1"',
            0,
        ),
        (encoded([[{"actions": ["a"], "info": 1}]]), "[0][0].count", "expected this field", 0),
        (encoded([[{"actions": "ab"}]]), "[0][0].actions", 'expected a list of moves, found "ab"', 0),
        (encoded([[{"actions": ["a", " "]}]]), "[0][0].actions[1]", "expected a move that is not blank", 0),
        (encoded([[{"actions": ["a", None]}]]), "[0][0].actions[1]", "expected a string, found null", 0),
        (encoded([[], [{"actions": []}, 5]]), "[1][0].info", "expected this field", 1),
        (encoded({"trajectory": 1}), "trajectory", "expected a list of steps, found 1", 0),
        (encoded({"trajectory": []}), "history", "expected this field, found none", 0),
        (encoded({"trajectory": [{"action": "ls"}]}), "trajectory[0].observation", "expected this field", 0),
        (encoded({"trajectory": [{"observation": "o"}]}), "trajectory[0].action", "expected this field", 0),
        (encoded({"trajectory": [], "history": 5}), "history", "expected a list of messages, found 5", 0),
        (encoded({"history": [{"role": "assistant"}, {"content": "x"}]}), "history[1].role", "this field", 1),
        (encoded({"history": [{"content": "x"}]}), "history[0].role", "expected this field", 0),
        (encoded({"history": [{"role": 5}], "question": "?"}), "history[0].role", "found 5", 0),
        (encoded({"history": 5, "question": "?"}), "history", "expected a list of entries, found 5", 0),
        (encoded([{"task_id": 1, "trial": 0, "reward": 0, "traj": 5}]), "[0].traj", "found 5", 0),
        (encoded([{"task_id": 1, "trial": 0, "reward": 0}, {"traj": []}]), "[0].traj", "this field", 0),
        (lines([CHAT]) + b'{"messages": [NaN]}\n', "line 2, messages[0]", "expected a finite number", 1),
        (encoded({"history": [], "question": 5}), "question", "expected a string, found 5", 0),
        (JOURNAL.replace(b'"grow"', b'"graw"'), "line 3, op", "graw", 1),
        (BUNDLE.replace(b"skate", b"state"), "line 7", "record 5 is damaged", 0),
        (BUNDLE[:-1], "line", "the line is cut", 0),
        (JOURNAL.replace(b'"boundary":1', b'"boundary":9'), "line 7", "[Step 9] is not a boundary", 5),
    ],
)
def test_malformed_trace_is_told_where(data: bytes, record: str, problem: str, good: int) -> None:
    """Each malformed trace gets one line: the record and field, what is wrong, and how many were good."""
    error = refused(data)
    assert error.record.startswith(record)
    assert problem in error.problem
    assert good == error.good
    assert _is_one_line(str(error))


@pytest.mark.parametrize(
    "value",
    [
        {"history": [{"role": "user"}]},
        {"trajectory": [{"observation": "o", "action": "a", "thought": 5}]},
        {"trajectory": [{"observation": None, "action": None}]},
        {"history": [{"role": "assistant", "tool_calls": [{}]}]},
        {"history": [{"role": "x", "name": 5}], "question": "?"},
        {"history": [{"role": "x"}], "question": "?"},
        [{"task_id": 1, "trial": 0, "reward": 0, "traj": [{"role": "exit", "content": 5}]}],
    ],
)
def test_odd_record_is_no_reason_to_refuse_a_trace(value: Json) -> None:
    """In every format a record whose fields hold something else, or nothing, is read, and that is said."""
    (found,) = loaded(value)
    assert found.remarks
    assert found.remarks[0].count == 1


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (JOURNAL, "journal"),
        (BUNDLE, "bundle"),
        (encoded(TOT_CROSSWORDS), "tot-crosswords"),
        (encoded(WHO_AND_WHEN), "who-and-when"),
        (encoded(SWE_AGENT), "swe-agent"),
    ],
)
def test_tool_steps_are_refused_where_there_are_no_tools(data: bytes, name: str) -> None:
    """A format that has no tool calls, and a run that made none, say so instead of ignoring the option."""
    error = load(data, file="t.json", steps="tools").failure()
    assert "--steps tools" in error.problem
    assert _is_one_line(str(error))
    assert is_successful(load(data, file="t.json", steps="messages"))
    assert load(data, file="t.json", format=name, steps="tools").failure() == error


def test_value_is_shortened_in_an_error() -> None:
    """Fifty megabytes in the wrong place do not come back in the message."""
    error = refused(b'[{"role": "user"}, "' + b"x" * 50_000_000 + b'"]')
    assert len(str(error)) < 500


@given(SAMPLES.flatmap(bent), st.sampled_from([None, *FORMATS]))
def test_bent_trace_gives_trajectories_or_an_error(value: Json, format_name: str | None) -> None:
    """A sound trace with any one value deleted or replaced loads and replays, or is refused in one line."""
    assert _is_total(_outcome(encoded(value), format_name))


@given(JSON, st.sampled_from(FORMATS))
def test_any_json_under_any_format_gives_trajectories_or_an_error(value: Json, format_name: str) -> None:
    """JSON that has nothing to do with the named format is refused in one line, or happens to fit."""
    assert _is_total(_outcome(encoded(value), format_name))


@given(st.binary(max_size=60))
@example(b"\xef\xbb\xbf[]")
@example(b'{"a": "\\ud800"}\n[')
def test_any_bytes_give_trajectories_or_an_error(data: bytes) -> None:
    """Bytes that are no JSON never raise."""
    assert _is_total(_outcome(data))


@given(st.data())
def test_damaged_bytes_give_trajectories_or_an_error(data: st.DataObject) -> None:
    """A sound file, cut anywhere and with one byte changed, loads and replays or is refused in one line."""
    sound = data.draw(
        st.sampled_from([JOURNAL, BUNDLE, lines(RUN), *(encoded(sample) for _, sample in EVERY_SAMPLE)])
    )
    cut = sound[: data.draw(st.integers(0, len(sound)))]
    place = data.draw(st.integers(0, len(cut)))
    damaged = cut[:place] + data.draw(st.binary(max_size=1)) + cut[place + 1 :]
    assert _is_total(_outcome(damaged))


@given(st.data())
def test_good_records_are_good(data: st.DataObject) -> None:
    """The records that an error calls good, alone, load."""
    name, sample = data.draw(
        st.sampled_from([("chat", RUN), ("tau-bench", TAU_BENCH), ("tot-crosswords", TOT_CROSSWORDS)])
    )
    assert isinstance(sample, list)
    value = data.draw(bent(sample))
    result = load(encoded(value), file="t.json", format=name)
    if is_successful(result) or not isinstance(value, list) or result.failure().good == 0:
        return
    assert is_successful(load(encoded(value[: result.failure().good]), file="t.json", format=name))


@given(st.data())
def test_cut_json_lines_keep_count_of_whole_records(data: st.DataObject) -> None:
    """However a JSON Lines file is cut inside a record, the error counts the records before it."""
    whole = data.draw(st.integers(1, len(RUN) - 1))
    last = json.dumps(RUN[whole]).encode()
    cut = data.draw(st.integers(1, len(last) - 1))
    error = refused(lines(RUN[:whole]) + last[:cut])
    assert whole == error.good
    assert error.record.startswith(f"line {whole + 1}")


@pytest.mark.parametrize("sample", [sample for _, sample in EVERY_SAMPLE])
def test_samples_are_sound(sample: Json) -> None:
    """What the other tests bend is not already broken."""
    assert _outcome(encoded(sample)) == "sound"
