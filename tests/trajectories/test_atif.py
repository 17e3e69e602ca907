"""ATIF: what is written is valid and is read back as it was; what others write is read as a log is."""

from __future__ import annotations

import json
import sys
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from returns.pipeline import is_successful

from mage import __version__
from mage.codec.commands import command_document
from mage.engine import Command, Compress, Grow, Start, StepId, apply, replay, view
from mage.render import render
from mage.session import Entry
from mage.testing import journals
from mage.trajectories import Steps, Trajectory, atif_document, detect, load
from tests.trajectories.coding_logs import CLAUDE_CODE, CODEX, read
from tests.trajectories.samples import COMMANDS

Document: TypeAlias = dict[str, Any]
METAS = st.dictionaries(
    st.sampled_from(["call", "thought", "usage", "x"]),
    st.one_of(st.text(max_size=8), st.integers()),
    max_size=2,
)
TIMES = st.one_of(st.none(), st.integers(0, 2**60), st.integers(1_700_000_000_000_000, 1_900_000_000_000_000))


def _entries(commands: tuple[Command, ...], at: int | None = None, **meta: object) -> list[Entry]:
    return [Entry(version, command, at, meta) for version, command in enumerate(commands, start=1)]


def _read(document: Document, steps: Steps = "messages") -> tuple[Trajectory, ...]:
    data = json.dumps(document).encode()
    assert detect(data) == "atif"
    loaded = load(data, file="run.json", steps=steps)
    assert is_successful(loaded), loaded.failure()
    return loaded.unwrap()


def _validated(document: Document) -> None:
    """Have the package `atif` look at a document, as JSON."""
    atif = pytest.importorskip("atif")
    atif.Trajectory.model_validate_json(json.dumps(document))


@given(journals(), TIMES, METAS)
@settings(max_examples=25)
def test_session_is_valid_and_comes_back_as_it_was(
    journal: tuple[Command, ...], at: int | None, meta: dict[str, object]
) -> None:
    """Every history, with whatever stands beside it, is a document that validators take, and is read back exactly."""
    document = atif_document("study", _entries(journal, at, **meta), __version__)
    _validated(document)
    (found,) = _read(document)
    assert list(map(command_document, found.commands)) == list(
        map(command_document, journal)
    )  # joined pairs (D15)
    kept = {**meta, **({} if at is None else {"at": at})}
    assert list(found.metas) == [kept] * len(journal)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Harbor needs Python 3.12: `make validators` has it")
@given(journals())
@settings(max_examples=25)
def test_official_validator_takes_it(journal: tuple[Command, ...]) -> None:
    """Harbor's own validator finds no error."""
    harbor = pytest.importorskip("harbor.utils.trajectory_validator")
    validator = harbor.TrajectoryValidator()
    document = atif_document("study", _entries(journal, 1), __version__)
    assert validator.validate(json.loads(json.dumps(document))), validator.errors


def test_what_the_agent_sees_stands_behind_each_change_of_it() -> None:
    """A compress, a verdict and a revise are followed by S, in the words of the format's section on compaction."""
    document = atif_document("study", _entries(COMMANDS), __version__)
    shown: list[str] = []
    state = None
    for command in COMMANDS:
        state = apply(state, command).unwrap()
        if not isinstance(command, Start | Grow):
            shown.append(render(view(state)))
    steps: Any = document["steps"]
    replaced = [
        step["observation"]["results"][0]["content"]
        for step in steps
        if "context_management" in step.get("extra", {})
    ]
    assert replaced == shown
    assert [step["step_id"] for step in steps] == list(range(1, len(steps) + 1))


def test_calls_models_and_tokens_have_their_own_fields() -> None:
    """A step that is a call is one there; model, thoughts and usage of its log stand where others look for them."""
    main, _ = read(*CLAUDE_CODE, steps="tools")
    entries = [
        Entry(version, command, None, {name: value for name, value in meta.items() if name != "at"})
        for version, (command, meta) in enumerate(zip(main.commands, main.metas, strict=True), start=1)
    ]
    document: Any = atif_document("pump", entries, __version__)
    _validated(document)
    assert document["agent"] == {"name": "claude-code", "version": "2.1.7"}
    first = document["steps"][1]
    assert first["tool_calls"] == [
        {"tool_call_id": "t1", "function_name": "Read", "arguments": {"file_path": "pump.py"}}
    ]
    assert first["observation"] == {"results": [{"source_call_id": "t1", "content": "FLOW = 7"}]}
    assert first["model_name"] == "claude-pond-4"
    assert first["metrics"] == {"prompt_tokens": 30, "completion_tokens": 2}
    assert first["reasoning_content"] == "Where is it?\nLooking."
    assert {"source": "user", "message": "Now set it to 9."}.items() <= {
        key: value for step in document["steps"] for key, value in step.items() if "Now set" in str(step)
    }.items()


@pytest.mark.parametrize(
    ("usage", "metrics"),
    [
        (
            {"input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 3},
            {"prompt_tokens": 98, "cached_tokens": 90},
        ),
        (
            {"input_tokens": 90, "cached_input_tokens": 80, "output_tokens": 4},
            {"prompt_tokens": 90, "cached_tokens": 80, "completion_tokens": 4},
        ),
        ({"prompt_tokens": 7, "completion_tokens": True}, {"prompt_tokens": 7}),
        ("none", None),
    ],
)
def test_tokens_are_counted_as_the_format_does(usage: object, metrics: object) -> None:
    """What came from a cache is a part of the prompt, whichever way the client counts."""
    commands = (Start("Go."), Grow("look", "ice"))
    document: Any = atif_document("s", _entries(commands, log={"usage": usage}), __version__)
    assert document["steps"][1].get("metrics") == metrics


def test_half_a_surrogate_pair_is_valid_and_kept() -> None:
    """What no validator takes is shown otherwise, and read back as it was."""
    commands = (Start("\ud800"), Grow("say \udfff", "\ud800"), Compress("\ud801"))
    document = atif_document("\ud800", _entries(commands, thought="\ud800"), __version__)
    _validated(document)
    (found,) = _read(document)
    assert found.commands == commands


def test_damaged_document_of_ours_is_refused_by_its_place() -> None:
    """A command that is none, and commands that are no history, are said in one line."""
    document: Any = atif_document("s", _entries(COMMANDS), __version__)
    document["steps"][0]["extra"]["mage"]["command"]["op"] = "begin"
    told = str(load(json.dumps(document).encode(), file="run.json").failure())
    assert "steps[0].extra.mage.command" in told
    document = atif_document("s", _entries(COMMANDS), __version__)
    document["steps"] = document["steps"][1:]
    assert not is_successful(load(json.dumps(document).encode(), file="run.json"))


# -- documents of others -------------------------------------------------------------------------------


def _others(*rows: Document, **more: object) -> Document:
    steps = [{"step_id": number, **row} for number, row in enumerate(rows, start=1)]
    agent = {"name": "gardener", "version": "2", "model_name": "pond-5"}
    return {"schema_version": "ATIF-v1.7", "agent": agent, "steps": steps, **more}


def _acts(message: str, *calls: str, **more: object) -> Document:
    called = [{"tool_call_id": call, "function_name": call, "arguments": {"at": "pond"}} for call in calls]
    results = [{"source_call_id": call, "content": f"{call} done"} for call in calls]
    tools = {"tool_calls": called, "observation": {"results": results}} if calls else {}
    return {"source": "agent", "message": message, **tools, **more}


BEGUN: tuple[Document, ...] = (
    {"source": "system", "message": "Keep the garden."},
    {"source": "user", "message": "Is the pond frozen?", "timestamp": "2026-10-02T08:00:00Z"},
    _acts("I look.", "look", "measure", metrics={"prompt_tokens": 9}, reasoning_content="How cold?"),
)
REPLACED: Document = {
    "source": "system",
    "message": "compacted",
    "observation": {"results": [{"content": "The pond was looked at."}]},
    "extra": {"context_management": {"type": "compaction", "boundary": "replace"}},
}


def _contents(trajectory: Trajectory) -> list[tuple[str, str]]:
    return [(step.action, step.observation) for step in view(replay(trajectory.commands).unwrap()).raw]


def test_document_of_others_is_read_as_a_log_is() -> None:
    """What was said before the agent acts is the task; replies and words are steps; the rest goes beside them."""
    document = _others(*BEGUN, {"source": "user", "message": "Go on."}, _acts("Frozen."))
    _validated(document)
    (found,) = _read(document)
    assert found.commands[0] == Start("Keep the garden.\n\nIs the pond frozen?")
    assert _contents(found) == [
        (
            'I look.\nlook {"at":"pond"}\nmeasure {"at":"pond"}',
            "tool look:\nlook done\n\ntool measure:\nmeasure done",
        ),
        ("", "user:\nGo on."),
        ("Frozen.", ""),
    ]
    assert found.metas[1] == {
        "log": {"usage": {"prompt_tokens": 9}},
        "thought": "How cold?",
        "calls": ["look", "measure"],
    }
    log = found.metas[0]["log"]
    assert log == {"client": "gardener", "version": "2", "model": "pond-5"}


def test_with_tools_each_call_of_others_is_a_step() -> None:
    """Each with its result and its id."""
    (found,) = _read(_others(*BEGUN), "tools")
    assert _contents(found) == [
        ('look {"at":"pond"}', "look done"),
        ('measure {"at":"pond"}', "measure done"),
    ]


def test_compaction_of_others_replaces_what_was_before() -> None:
    """Its observation is all that the agent saw of it; without the mark a system step is one more observation."""
    unmarked = {**REPLACED, "extra": {}}
    (found,) = _read(_others(*BEGUN, REPLACED, _acts("On."), unmarked))
    assert [line.text for line in view(replay(found.commands).unwrap()).compressed] == [
        "The pond was looked at."
    ]
    assert _contents(found) == [("On.", ""), ("", "system:\ncompacted\nThe pond was looked at.")]


def test_copied_context_is_not_counted_twice() -> None:
    """A continuation repeats steps of the document before it, and says so of each."""
    copied = {**_acts("I look.", "look"), "is_copied_context": True}
    (found,) = _read(_others(*BEGUN[:2], copied, _acts("On.")))
    assert _contents(found) == [("On.", "")]
    assert [remark.what for remark in found.remarks] == ["a step copied from another trajectory, left out"]


def test_embedded_subagents_are_sessions_of_their_own() -> None:
    """Each stands under its id behind the name of the document."""
    inner = {**_others(*BEGUN), "trajectory_id": "d1"}
    document = _others(*BEGUN, subagent_trajectories=[inner])
    _validated(document)
    main, agent = _read(document)
    assert (main.name, agent.name) == ("run", "run/d1")
    assert agent.commands == main.commands


@pytest.mark.parametrize("document", [{"steps": []}, {"steps": [{"step_id": 1, "source": 3}]}, {}])
def test_document_without_steps_is_refused_or_empty(document: Document) -> None:
    """Steps are a list of objects with a source; a document without any is an empty session."""
    loaded = load(json.dumps({"schema_version": "ATIF-v1.8", **document}).encode(), file="run.json")
    if is_successful(loaded):
        assert loaded.unwrap()[0].commands == (Start(""),)
    else:
        assert loaded.failure().record.startswith("steps")


def test_log_of_a_coding_agent_survives_the_way_through_atif() -> None:
    """Rewinds, compactions and steps of a log are the same behind an export and an import."""
    for rows in (CLAUDE_CODE, CODEX):
        main, *_ = read(*rows)
        document = atif_document("log", _entries(main.commands), __version__)
        _validated(document)
        assert _read(document)[0].commands == main.commands
        assert any(StepId(0) == getattr(each, "boundary", None) for each in main.commands)
