"""The hooks of Claude Code: what is recorded, what is handed back, where the user went back, and what a failure costs."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mage import Failed, Session
from mage.engine import ExecutionState, Grow, Rejected, check
from mage.integrations.claude_code import heard, observation_of
from mage.trajectories.claude_code import way_of
from tests.cli.runner import mage
from tests.integrations.coding_client import Client
from tests.integrations.mcp_clients import Hand, over_stdio

SUMMARY = "The user wants the pump mended. Its test was run and failed."
"""What a client's own summary says; it has lost every name."""


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path)


def _story(client: Client) -> None:
    client.say("Mend the pump of well 4711.")
    client.use("Read", {"type": "text", "file": {"filePath": "src/pump.py"}}, file_path="src/pump.py")
    client.use(
        "Bash", {"stdout": "1 failed: test_flow_829", "stderr": "", "interrupted": False}, command="pytest"
    )
    client.use("Grep", "src/valve.py:17: FLOW_LIMIT = 3", pattern="FLOW")


def _opened(client: Client) -> Session:
    return Session.open(client.url, client.name, wait=False)


def _shown(client: Client) -> ExecutionState:
    with _opened(client) as session:
        check(session.phase)
        return session.state()


def _contents(client: Client) -> list[str]:
    return [step.action for step in _shown(client).raw]


# -- what is recorded ----------------------------------------------------------------------------------


def test_each_tool_use_is_a_step(client: Client) -> None:
    """The first words are the task, later ones instructions, last words a step; a call keeps its id."""
    _story(client)
    client.stop("The limit is 3.")
    client.say("Set it to 5.")
    shown = _shown(client)
    assert shown.task == "Mend the pump of well 4711."
    assert shown.instructions == ("Set it to 5.",)
    assert [(step.action, step.observation) for step in shown.raw[1:]] == [
        ('Bash {"command":"pytest"}', "1 failed: test_flow_829"),
        ('Grep {"pattern":"FLOW"}', "src/valve.py:17: FLOW_LIMIT = 3"),
        ("The limit is 3.", ""),
    ]
    with _opened(client) as session:
        calls = [event["tool_use_id"] for event in client.heard if "tool_use_id" in event]
        assert [entry.meta.get("call") for entry in session.history()] == [None, *calls, None, None]
        assert all(entry.at for entry in session.history())


@pytest.mark.parametrize(
    ("came", "text"),
    [
        ("as it is", "as it is"),
        ({"stdout": "out", "stderr": "err", "interrupted": True}, "out\nerr\n(interrupted)"),
        ({"stdout": "", "stderr": "", "interrupted": False}, ""),
        (None, ""),
        ({"b": 1, "a": [2]}, '{"a":[2],"b":1}'),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ({"content": [{"type": "text", "text": "of MCP"}]}, "of MCP"),
        (7, "7"),
    ],
)
def test_what_came_back_is_text(came: object, text: str) -> None:
    """A shell's output stands as it is, a content of parts as its texts, any other value as JSON."""
    assert observation_of(came) == text


def test_an_image_is_a_mark() -> None:
    """Its bytes are not text: type, size and digest stand for them."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    assert observation_of([image]).startswith("[image/png, 8 bytes, sha256 ")
    assert observation_of(image).startswith("[image/png, 8 bytes, sha256 ")
    data = base64.b64encode(bytes(90)).decode()
    read = {"type": "image", "file": {"base64": data, "type": "image/png", "originalSize": 90}}
    assert observation_of(read).startswith("[image, 90 bytes, sha256 ")


def test_tools_of_our_own_server_are_no_steps(client: Client) -> None:
    """What they show is the session itself: recorded in it, it would be shown again."""
    client.say("Mend it.")
    client.use("mcp__mage__state", "Task: Mend it.", session="5e55")
    assert _contents(client) == []


def test_failed_tool_is_a_step_too(client: Client) -> None:
    """What failed is what must not be tried again."""
    client.say("Mend it.")
    client.tell("PostToolUseFailure", tool_name="Bash", tool_input={"command": "x"}, error="exit 127")
    assert _shown(client).raw[0].observation == "exit 127"


def test_subagents_have_sessions_of_their_own(client: Client) -> None:
    """What a subagent does and says last stands under its id, and nothing of it in the session."""
    client.say("Mend it.")
    mine = {"agent_id": "b7", "agent_type": "Explore"}
    client.tell("PostToolUse", tool_name="Grep", tool_input={}, tool_response="found", **mine)
    client.tell("SubagentStop", last_assistant_message="Found.", **mine)
    client.tell("SubagentStop", last_assistant_message="Nobody's.")
    assert _contents(client) == []
    with Session.open(client.url, "5e55/agent-b7") as session:
        assert session.state().task == "Explore"
        assert [step.action for step in session.state().raw] == ["Grep {}", "Found."]


def test_hooks_that_begin_in_the_middle_begin_a_session(client: Client) -> None:
    """A first event that is no prompt begins the session with a task that says what is known."""
    client.use("Read", "x", file_path="a")
    assert _shown(client).task == "Work of Claude Code in /home/pond"


def test_events_without_a_record_are_heard(client: Client) -> None:
    """An event of a newer client, a blank prompt, a compaction or a resume of nothing: nothing is recorded."""
    for event in ("Notification", "SessionEnd", "PreToolUse", "Teleport"):
        assert client.tell(event) == ""
    client.tell("UserPromptSubmit", prompt="  ")
    client.tell("PreCompact", trigger="manual")
    client.tell("Stop")
    assert "'5e55'" in client.tell("SessionStart", source="startup")
    assert "'5e55'" in client.resume()
    assert "holds no session" in mage("sessions", client.url).out


def test_what_was_done_is_recorded_in_any_phase(client: Client) -> None:
    """Behind a failed summary it is recorded too: the summary is accepted, openly."""
    _story(client)
    with _opened(client) as session:
        session.compress("Looked.")
        client.use("Bash", "pending", command="a")
        session.refresh()
        session.judge(Failed("not so"))
        assert isinstance(session.phase, Rejected)
    client.use("Bash", "rejected", command="b")
    assert [step.observation for step in _shown(client).raw] == ["pending", "rejected"]


# -- what is handed back -------------------------------------------------------------------------------


def test_state_after_a_compaction_holds_what_the_summary_lost(client: Client) -> None:
    """Every name of the steps, the last of them word for word, and what was asked for are in what the model reads then."""
    _story(client)
    client.stop("FLOW_LIMIT is 3.")
    client.say("Set it to 5, keep src/legacy_valve.py as it is.")
    context = client.compact(SUMMARY)
    for name in ("4711", "src/pump.py", "test_flow_829", "src/valve.py", "FLOW_LIMIT", "src/legacy_valve.py"):
        assert name not in SUMMARY
        assert name in context
    assert "src/valve.py:17: FLOW_LIMIT = 3" in context
    assert "'5e55'" in context
    shown = _shown(client)
    assert (len(shown.compressed), shown.raw) == (1, ())


def test_what_is_handed_back_is_bounded(client: Client) -> None:
    """The client takes 10,000 characters, however long session, steps and names are; the newest names are kept."""
    client.say("Long work. " * 2_000)
    for number in range(300):
        client.use("Bash", f"file_{number}.py " * 200, command=f"cat {number}")
    context = client.compact(SUMMARY)
    assert len(context) <= 10_000
    assert "file_299.py" in context
    assert len(client.resume()) <= 10_000


def test_several_compactions_are_as_many_accounts(client: Client) -> None:
    """What stood before the first one is still there after the second; one with nothing new adds none."""
    _story(client)
    client.compact(SUMMARY)
    client.use("Bash", "flow_4 set", command="sed")
    client.compact(SUMMARY)
    context = client.compact(SUMMARY)
    assert len(_shown(client).compressed) == 2
    assert "flow_4" in context


def test_hook_before_the_compaction_may_have_been_killed(client: Client) -> None:
    """What it did not do is done after it."""
    _story(client)
    client.tell("SessionStart", source="compact")
    assert len(_shown(client).compressed) == 1


def test_what_waits_for_a_verdict_is_left_to_the_model(client: Client) -> None:
    """A pending summary is not compressed over: S says that it waits."""
    _story(client)
    with _opened(client) as session:
        session.compress("The pump was looked at.")
    client.use("Bash", "more", command="c")
    context = client.compact(SUMMARY)
    assert "The pump was looked at." in context
    assert _contents(client) == ['Bash {"command":"c"}']


def test_work_goes_on_through_the_mcp_servers_operations(client: Client) -> None:
    """A compress and a revise of the model stand in the same session, and hooks record behind them."""
    _story(client)
    with _opened(client) as session:
        session.compress("The pump was looked at: src/valve.py.")
        session.accept()
        client.use("Edit", "edited", file_path="src/valve.py")
        session.refresh()
        session.revise(3, "Not the valve.")
    client.use("Edit", "edited", file_path="src/valve.py")  # again: it walks into the step that was left
    client.use("Edit", "edited", file_path="src/pump.py")
    shown = _shown(client)
    assert [line.text for line in shown.compressed] == ["The pump was looked at: src/valve.py."]
    assert [step.action for step in shown.raw] == [
        'Edit {"file_path":"src/valve.py"}',
        'Edit {"file_path":"src/pump.py"}',
    ]


def test_model_works_on_its_state_through_the_server(client: Client) -> None:
    """`mage mcp` in a process of its own: a compress, a look and a revise of the model, and hooks that record between them."""
    own = "The pump was looked at: FLOW_LIMIT in src/valve.py is 3."

    async def work() -> str:
        async with over_stdio(client.url) as server:
            hand = Hand(server, client.name)
            asked = await hand.summarize(own)
            await hand.judge(asked["digest"])
            client.use("Edit", "edited", file_path="src/valve.py")
            looked = await hand("look", step=0, boundary=None, page=0)
            await hand.go_back(3, "Not the valve: the pump.")
            client.use("Edit", "edited", file_path="src/pump.py")
            return looked.words

    _story(client)
    assert "test_flow_829" in asyncio.run(work())
    shown = _shown(client)
    assert [line.text for line in shown.compressed] == [own]
    assert [step.action for step in shown.raw] == ['Edit {"file_path":"src/pump.py"}']
    context = client.compact(SUMMARY)
    assert own in context
    assert "Not the valve: the pump." in context


# -- where the user went back --------------------------------------------------------------------------


def test_rewind_is_followed_at_the_end_of_the_turn(client: Client) -> None:
    """What was left is a branch with a lesson; what came after it stands where the user went back to."""
    _story(client)
    client.stop("The limit is 3.")
    client.say("Set it to 5.")
    client.use("Edit", "edited", new="5")
    client.stop("Set to 5.")
    client.rewind()
    client.say("Set it to 6.")
    client.use("Edit", "edited", new="6")
    client.stop("Set to 6.")
    shown = _shown(client)
    assert [step.action for step in shown.raw][3:] == ["The limit is 3.", 'Edit {"new":"6"}', "Set to 6."]
    assert 'Edit {"new":"5"}' in " ".join(lesson.text for lesson in shown.hints.lessons)
    assert shown.instructions[-1] == "Set it to 6."
    with _opened(client) as session:
        assert 'Edit {"new":"5"}' in [step.action for step in session.tree.steps()]


def test_rewind_past_a_compaction_is_followed(client: Client) -> None:
    """The summary is left with the steps, where the user went back to before it."""
    client.say("Begin.")
    client.use("Read", "one", n=1)
    client.stop("Read.")
    before = client._head
    client.say("Go on.")
    client.use("Read", "two", n=2)
    client.compact(SUMMARY)
    client._head = before
    client.say("Otherwise.")
    client.use("Read", "three", n=3)
    client.stop("Done.")
    assert _shown(client).compressed == ()
    assert _contents(client) == ['Read {"n":1}', "Read.", 'Read {"n":3}', "Done."]


def test_without_a_log_of_the_client_nothing_is_followed(tmp_path: Path) -> None:
    """A transcript that is not there, or is no log, changes nothing."""
    client = Client(tmp_path, is_logging=False)
    _story(client)
    client.stop("Looked.")
    client.compact(SUMMARY)
    (tmp_path / "5e55.jsonl").write_bytes(b"\xff\x00 no log\n{}\n")
    client.use("Bash", "x", command="y")
    client.stop("Done.")
    assert _contents(client) == ['Bash {"command":"y"}', "Done."]


@given(st.lists(st.sampled_from(["say", "use", "stop", "rewind", "compact"]), max_size=24))
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_session_follows_its_client(moves: list[str]) -> None:
    """Whatever the client does, after each turn the calls on the session's path are those on the client's, in order; none is lost."""
    with tempfile.TemporaryDirectory() as folder:
        client = Client(Path(folder))
        client.say("Begin.")
        for number, move in enumerate(moves):
            match move:
                case "say":
                    client.say(f"Word {number}.")
                case "use":
                    client.use("Bash", f"came {number % 3}", command=str(number % 3))
                case "stop":
                    client.stop(f"Stopped {number}.")
                case "rewind" if client.turns > 0:
                    client.rewind()
                    client.say(f"Back {number}.")
                    client.use("Bash", f"came {number}", command=f"back {number}")
                    client.stop("Back.")
                case "compact":
                    client.compact(SUMMARY)
                case _:  # there is no turn to take back
                    pass
        client.use("Bash", "last", command="last")
        client.stop("Ended.")
        assert _calls_on_path(client) == _calls_of_client(client)
        with _opened(client) as session:
            every = {entry.meta.get("call") for entry in session.history()} - {None}
        assert every == {event["tool_use_id"] for event in client.heard if "tool_use_id" in event}


def _calls_on_path(client: Client) -> list[object]:
    """Return the ids of the calls on the way to where the session stands, in order."""
    with _opened(client) as session:
        check(session.phase)
        calls: dict[int, object] = {}
        for entry in session.history():
            if isinstance(entry.command, Grow):
                calls[session.at(entry.version).tree.step_head] = entry.meta.get("call")
        step = session.tree.step_head
        found: list[object] = []
        while step:
            found.append(calls[step])
            step = session.tree.step(step).parent
    return [call for call in found[::-1] if call is not None]


def _calls_of_client(client: Client) -> list[str]:
    """Return the ids of the calls on the client's own path, in order."""
    others = way_of(client.rows).others
    ids = [
        row["message"]["content"][0]["id"]
        for row in client.rows
        if row["type"] == "assistant" and row["message"]["content"][0]["type"] == "tool_use"
    ]
    return [key for key in ids if key not in others]


# -- processes -----------------------------------------------------------------------------------------


def _hook(event: object, store: object, *more: str) -> subprocess.Popen[bytes]:
    """Start a hook as a client does."""
    command = [sys.executable, "-m", "mage", "hook", "claude-code", str(store), *more]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdin is not None
    if event is not None:
        process.stdin.write(json.dumps(event).encode())
        process.stdin.close()
        process.stdin = None
    return process


def test_hooks_at_once_lose_nothing(client: Client) -> None:
    """Parallel calls end together: each is recorded, once."""
    client.say("Begin.")
    events = [
        client.event(
            "PostToolUse", tool_name="Bash", tool_input={"n": n}, tool_response="x", tool_use_id=f"t{n}"
        )
        for n in range(6)
    ]
    running = [_hook(event, client.url) for event in events]
    assert [(process.communicate(timeout=60), process.returncode) for process in running] == [
        ((b"", b""), 0)
    ] * 6
    with ThreadPoolExecutor(8) as threads:
        list(
            threads.map(
                lambda n: heard({**events[0], "tool_use_id": f"u{n}", "tool_input": {"m": n}}, client.url),
                range(40),
            )
        )
    with _opened(client) as session:
        calls = [entry.meta.get("call") for entry in session.history()[1:]]
    assert sorted(map(str, calls)) == sorted([f"t{n}" for n in range(6)] + [f"u{n}" for n in range(40)])


def test_hook_that_is_killed_loses_no_other(client: Client) -> None:
    """One that was killed before it heard its event recorded nothing; those before and after stand."""
    client.say("Begin.")
    client.use("Read", "one", n=1)
    process = _hook(None, client.url)
    assert process.stdin is not None
    process.stdin.write(b'{"session_id": "5e55", "hook_event_name": "Post')
    process.stdin.flush()
    process.kill()
    process.communicate()
    client.use("Read", "two", n=2)
    assert [step.observation for step in _shown(client).raw] == ["one", "two"]


def _failures(folder: Path) -> Iterator[tuple[bytes, list[str]]]:
    event = json.dumps({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "x"}).encode()
    (folder / "text.db").write_text("no store at all, but a text that is long enough to be none\n" * 20)
    yield b"", ["claude-code", "w.db"]
    yield b"{", ["claude-code", "w.db"]
    yield b"\xff\xfe", ["claude-code", "w.db"]
    yield b"[]", ["claude-code", "w.db"]
    yield b'{"hook_event_name": "Stop"}', ["claude-code", "w.db"]
    yield event, ["claude-code", "nowhere/w.db"]
    yield event, ["claude-code", "text.db"]
    yield event, ["claude-code", "no-url"]
    yield event, ["claude-code"]
    yield event, ["emacs", "w.db"]
    yield event, []
    yield event, ["claude-code", "w.db", "--json"]


def test_failing_hook_never_stops_the_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong, the status is 0, nothing is on standard output, and one line says why."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MAGE_STORE", raising=False)
    for data, arguments in _failures(tmp_path):
        monkeypatch.setattr("sys.stdin", _Input(data))
        ran = mage("hook", *arguments)
        assert (ran.status, ran.out, ran.err.count("\n")) == (0, "", 1), (data, arguments)
        assert ran.err.startswith("mage hook: nothing was recorded: ")
    assert not os.path.exists("w.db")


class _Input:
    """Standard input with these bytes."""

    def __init__(self, data: bytes) -> None:
        import io

        self.buffer = io.BytesIO(data)


def test_numbers_that_json_has_not_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool may return NaN or a number without end: they stand there as text."""
    monkeypatch.chdir(tmp_path)
    event = b'{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"T","tool_input":{},"tool_response":{"a":NaN,"b":1e999,"c":0.5}}'
    monkeypatch.setattr("sys.stdin", _Input(event))
    assert mage("hook", "claude-code", "w.db").err == ""
    with Session.open("w.db", "s") as session:
        assert session.state().raw[0].observation == '{"a":"NaN","b":"1e999","c":0.5}'


def test_store_may_be_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`MAGE_STORE` stands for a store that is not said, as for every command."""
    monkeypatch.setenv("MAGE_STORE", str(tmp_path / "w.db"))
    event = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "x"}
    monkeypatch.setattr("sys.stdin", _Input(json.dumps(event).encode()))
    assert mage("hook", "claude-code").err == ""
    with Session.open(str(tmp_path / "w.db"), "s") as session:
        assert session.state().task == "x"


def test_hook_says_what_it_hands_back_as_the_client_reads_it(client: Client) -> None:
    """On standard output stands one object of JSON with the context."""
    _story(client)
    out, err = _hook(client.event("SessionStart", source="compact"), client.url).communicate(timeout=60)
    answer = json.loads(out)["hookSpecificOutput"]
    assert err == b""
    assert answer["hookEventName"] == "SessionStart"
    assert "4711" in answer["additionalContext"]


def test_recording_loads_little(client: Client) -> None:
    """A hook starts for each tool use: it loads a store, and no command, session, importer or event loop."""
    code = (
        "import sys, io, json\n"
        "from mage.integrations.claude_code import main\n"
        "sys.stdin = type('In', (), {'buffer': io.BytesIO(sys.argv[2].encode())})\n"
        "main(['claude-code', sys.argv[1]])\n"
        "print(*sys.modules)"
    )
    event = client.event("PostToolUse", tool_name="Bash", tool_input={}, tool_response="x")
    ran = subprocess.run(
        [sys.executable, "-c", code, client.url, json.dumps(event)],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(ran.stdout.split())
    unwanted = {
        "typer",
        "rich",
        "asyncio",
        "jsonschema",
        "mage.session",
        "mage.chat",
        "mage.trajectories",
        "mage.cli",
    }
    assert ran.stderr == ""
    assert loaded & unwanted == set()
    assert _contents(client) == ["Bash {}"]


def test_the_example_runs(tmp_path: Path) -> None:
    """It prints what is handed back, with every name of its story."""
    example = Path(__file__).resolve().parents[2] / "examples" / "claude_code_hooks.py"
    ran = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    for name in ("4711", "test_flow_829", "src/valve.py", "FLOW_LIMIT", "src/legacy.py"):
        assert name in ran.stdout
