"""`mage replay`: traces become trees, numbers and sessions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mage import Session, view
from mage.codec import decode_journal, encode_journal
from mage.engine import replay as replay_commands
from mage.engine import revise
from mage.render import Meter
from mage.tokens import default_counter
from mage.trajectories import FORMATS, load
from mage.trajectories.measure import Measured, measure
from tests.cli.runner import mage
from tests.shared_data import SHARED, needs_shared
from tests.trajectories.samples import (
    BUNDLE,
    JOURNAL,
    JSON_SAMPLES,
    SWE_AGENT_HISTORY,
    TAU_BENCH,
    WHO_AND_WHEN,
    encoded,
)


def steps_of_a_long_chat(count: int, size: int) -> list[dict[str, str]]:
    """Return a chat whose agent takes steps of about this many characters."""
    chat = [{"role": "user", "content": "tidy the garden"}]
    for number in range(count):
        chat.append({"role": "assistant", "content": f"look at bed {number}"})
        chat.append({"role": "user", "content": f"bed {number}: " + "weeds and stones, " * (size // 18)})
    return chat


def saved(path: Path, value: object) -> Path:
    """Save a value as JSON."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@pytest.fixture
def tau(tmp_path: Path) -> Path:
    """Return a file with two tasks, the first of two trials."""
    path = tmp_path / "tau.json"
    path.write_bytes(encoded(TAU_BENCH))
    return path


@pytest.mark.parametrize("form", JSON_SAMPLES)
def test_every_format_is_found_and_drawn(tmp_path: Path, form: str) -> None:
    """Whatever the trace, it becomes a tree, counts and prompt tokens."""
    for number, sample in enumerate(JSON_SAMPLES[form]):
        path = tmp_path / f"{number}.json"
        path.write_bytes(encoded(sample))
        ran = mage("replay", path)
        assert (ran.status, ran.err) == (0, "")
        assert "task: " in ran.out
        assert "prompt tokens (" in ran.out


def test_numbers_for_machines_add_up(tau: Path) -> None:
    """Totals are those of the tasks; the keys are the ones that are promised."""
    told = json.loads(mage("replay", tau, "--json").out)
    names = ("steps", "merges", "revisions", "abandoned", "branch_points", "summaries")
    assert len(told["tasks"]) == 2
    for name in names:
        assert told[name] == sum(task[name] for task in told["tasks"])
    for name in ("shown_total", "full_total"):
        assert told["tokens"][name] == sum(task["tokens"][name] for task in told["tasks"])
    for name in ("shown_max",):
        assert told["tokens"][name] == max(task["tokens"][name] for task in told["tasks"])
    assert told["max_depth"] == max(task["max_depth"] for task in told["tasks"])
    assert {"shown_mean", "reduction"} <= told["tokens"].keys()


def test_one_task_is_chosen_by_name_or_place(tau: Path) -> None:
    """--task takes the name of a task, else its place."""
    for task in ("7", "0"):
        assert json.loads(mage("replay", tau, "--task", task, "--json").out)["tasks"][0]["task"] == "7"
    ran = mage("replay", tau, "--task", "nine")
    assert ran.status == 1
    assert "there is no task 'nine'; it holds 2: 7, b" in ran.err


def test_out_keeps_a_session_that_other_commands_read(tau: Path, tmp_path: Path) -> None:
    """The session replays to the same tree."""
    out = tmp_path / "out.jsonl"
    assert mage("replay", tau, "--task", "7", "--out", out).status == 0
    commands = decode_journal(out.read_bytes()).unwrap()
    assert replay_commands(commands).unwrap().tree.next_step > 1
    assert mage("check", out).status == 0
    told = json.loads(mage("replay", out, "--json").out)
    assert told["steps"] == json.loads(mage("replay", tau, "--task", "7", "--json").out)["steps"]


def test_out_needs_one_task_and_a_new_file(tau: Path, tmp_path: Path) -> None:
    """Several tasks are a usage error; what stands is never overwritten, and nothing is left half-written."""
    out = tmp_path / "out.jsonl"
    assert mage("replay", tau, "--out", out).status == 2
    assert not out.exists()
    out.write_text("mine", encoding="utf-8")
    ran = mage("replay", tau, "--task", "7", "--out", out)
    assert (ran.status, out.read_text(encoding="utf-8")) == (1, "mine")
    assert "there is something already" in ran.err
    assert mage("replay", tau, "--task", "7", "--out", tmp_path / "none" / "out.jsonl").status == 1
    assert sorted(tmp_path.iterdir()) == [out, tau]


@pytest.mark.parametrize(("budget", "size"), [(300, 200), (800, 400), (100, 4000)])
def test_a_budget_bounds_what_is_shown(tmp_path: Path, budget: int, size: int) -> None:
    """The open segment stays under the budget, or is one single step; segments become extracts, named so."""
    path = saved(tmp_path / "chat.json", steps_of_a_long_chat(20, size))
    out = tmp_path / "out.jsonl"
    ran = mage("replay", path, "--budget", budget, "--out", out)
    assert "extracts (no LLM), accepted without a verdict" in ran.out
    told = json.loads(mage("replay", path, "--budget", budget, "--json").out)
    assert told["summaries"] > 1
    assert told["tokens"]["reduction"] > 0
    shown = mage("show", out).out
    assert "Extract of" in shown
    assert "(no LLM)" in shown
    assert "accepted without a verdict" in shown


def a_chat_that_copies(lots: int) -> list[dict[str, object]]:
    """Return a chat whose agent looks at so many lots, then takes the first."""
    chat: list[dict[str, object]] = [{"role": "user", "content": "Buy the oldest lot."}]
    for number, (name, lot) in enumerate([*[("look", lot) for lot in range(lots)], ("take", 0)]):
        made = {
            "id": f"c{number}",
            "function": {"name": name, "arguments": json.dumps({"lot": f"LOT-{lot}"})},
        }
        chat.append({"role": "assistant", "content": None, "tool_calls": [made]})
        said = f"next is LOT-{lot + 1}. " + "It is in good order. " * 40
        chat.append({"role": "tool", "tool_call_id": f"c{number}", "content": said})
    return [chat[0], {"role": "user", "content": "It all begins with a look."}, *chat[1:]]


def test_coverage_says_what_later_actions_were_still_shown(tmp_path: Path) -> None:
    """Of all values and the far ones, at which part of the full history's tokens; what cannot be said is said so."""
    path = saved(tmp_path / "chat.json", a_chat_that_copies(12))
    ran = mage("replay", path, "--budget", 500, "--coverage")
    assert (ran.status, ran.err) == (0, "")
    assert "coverage: 100.0% (11 of 11) values that actions copy from earlier observations" in ran.out
    assert "of the tokens of the full history, which covers everything" in ran.out
    assert "nothing says which actions change something; --writes names their tools" in ran.out
    told = json.loads(
        mage("replay", path, "--budget", 500, "--coverage", "--writes", "ta*, book", "--json").out
    )
    assert told["coverage"]["values"] == {"covered": 11, "of": 11, "part": 1.0}
    assert told["coverage"]["writes"] == {"covered": 0, "of": 0, "part": None}
    assert told["tasks"][0]["coverage"] == told["coverage"]
    assert "coverage" not in json.loads(mage("replay", path, "--json").out)


def test_without_a_value_to_copy_there_is_nothing_to_cover(tmp_path: Path) -> None:
    """It says so; and --writes alone is a usage error."""
    path = saved(tmp_path / "chat.json", steps_of_a_long_chat(3, 40))
    assert "so there is nothing to cover" in mage("replay", path, "--coverage").out
    assert mage("replay", path, "--writes", "book").status == 2


def test_prompts_above_the_budget_are_said(tmp_path: Path) -> None:
    """A step that is longer than the mark is shown whole once, so it is said how long a prompt became; else nothing is."""
    path = saved(tmp_path / "chat.json", steps_of_a_long_chat(20, 400))
    assert (
        "tokens, more than 50: the mark counts no finished part" in mage("replay", path, "--budget", 50).out
    )
    assert "more than" not in mage("replay", path, "--budget", 100_000).out


def test_a_session_in_a_store_is_replayed_as_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By any of its names and at any version, with the same counts as the session file; what is not there is refused."""
    monkeypatch.chdir(tmp_path)
    mage("run", "--offline", "--session", "work.db#a")
    Path("a.jsonl").write_bytes(encode_all("work.db", "a"))
    plain = json.loads(mage("replay", "a.jsonl", "--json").out)
    assert "task a: " in mage("replay", "work.db#a").out
    for name in ("work.db#a", "work.db", "sqlite:///work.db#a"):
        assert json.loads(mage("replay", name, "--json").out)["tokens"] == plain["tokens"]
    assert json.loads(mage("replay", "work.db#a@4", "--json").out)["steps"] < plain["steps"]
    assert "there is no such session" in mage("replay", "work.db#b").err


def encode_all(store: str, name: str) -> bytes:
    """Return a session as a journal."""
    with Session.open(store, name) as session:
        return b"".join(encode_journal([each.command for each in session.history()]))


def test_a_budget_leaves_a_trace_with_summaries_alone(tmp_path: Path, tau: Path) -> None:
    """Where the trace compresses by itself, its own boundaries stay."""
    path = tmp_path / "tot.json"
    path.write_bytes(encoded(JSON_SAMPLES["tot-crosswords"][0]))
    plain, bounded = (json.loads(mage("replay", path, *more, "--json").out) for more in ([], ["--budget", 1]))
    assert "--budget does nothing here" in bounded.pop("notes")[0]
    assert "--budget" not in plain.pop("notes")[0]
    assert plain == bounded


FILES = {
    **{form: [encoded(sample) for sample in samples] for form, samples in JSON_SAMPLES.items()},
    "journal": [JOURNAL],
    "bundle": [BUNDLE],
}
TOOLLESS = ("journal", "bundle", "tot-crosswords", "who-and-when")


def heard(path: Path, *option: object) -> bool:
    """Tell whether an option is carried out, refused or answered in words, for people and for machines."""
    plain, ran = mage("replay", path), mage("replay", path, *option)
    if ran.status:
        assert len(ran.err.splitlines()) == 1
        return str(option[0]) in ran.err
    for_machines = mage("replay", path, *option, "--json").out != mage("replay", path, "--json").out
    return ran.out != plain.out and for_machines


def test_every_format_has_a_sample_here() -> None:
    """The next tests ask every format that there is."""
    assert set(FILES) == set(FORMATS)


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("option", [["--steps", "tools"], ["--budget", 1], ["--task", "no such task"]])
def test_no_option_is_ignored_in_silence(tmp_path: Path, form: str, option: list[object]) -> None:
    """Whatever the format, an option changes what is done, or is refused or answered by its name."""
    for number, data in enumerate(FILES[form]):
        path = tmp_path / f"{number}.json"
        path.write_bytes(data)
        if option[0] == "--task":
            assert "there is no task 'no such task'" in mage("replay", path, *option).err
        else:
            assert heard(path, *option)


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("named", FORMATS)
def test_a_named_format_is_the_one_that_is_read(tmp_path: Path, form: str, named: str) -> None:
    """--format reads a file as what it names, or refuses it in one line; its own name changes nothing."""
    for number, data in enumerate(FILES[form]):
        path = tmp_path / f"{number}.json"
        path.write_bytes(data)
        ran = mage("replay", path, "--format", named)
        if named == form:
            assert ran == mage("replay", path)
        else:
            assert ran.status == 0 or len(ran.err.splitlines()) == 1


@pytest.mark.parametrize("form", TOOLLESS)
def test_tool_steps_are_refused_where_there_are_none(tmp_path: Path, form: str) -> None:
    """A format without tool calls says so, instead of showing its steps as if they were some."""
    path = tmp_path / "trace.json"
    path.write_bytes(FILES[form][0])
    ran = mage("replay", path, "--steps", "tools", "--out", tmp_path / "out.jsonl")
    assert ran.status == 1
    assert f"the format {form} has no tool calls" in ran.err
    assert list(tmp_path.iterdir()) == [path]


def test_tool_steps_of_swe_agent_are_its_calls(tmp_path: Path) -> None:
    """A SWE-agent run that called tools has a step for each call."""
    path = tmp_path / "run.traj"
    path.write_bytes(encoded(SWE_AGENT_HISTORY))
    told = json.loads(mage("replay", path, "--steps", "tools", "--json").out)
    assert told["steps"] == 1
    assert "bash {} → pond.py" in mage("replay", path, "--steps", "tools").out


def test_a_bundle_shows_the_session_that_was_exported(tmp_path: Path) -> None:
    """`mage export --lineage` writes it, `replay` shows its session and names the others, --task shows those."""
    path = tmp_path / "out.jsonl"
    path.write_bytes(BUNDLE)
    ran = mage("replay", path)
    assert (ran.status, ran.err) == (0, "")
    assert "task ice: 2 steps" in ran.out
    assert "of note: session 'pond', which this one was forked from; --task shows it" in ran.out
    other = mage("replay", path, "--task", "pond")
    assert "task pond: 2 steps, 0 merges, 0 branch points, 1 revision" in other.out


def test_a_bundle_from_a_store_is_replayed(tmp_path: Path) -> None:
    """What the command exports the command replays, from one store and its forks, as the session itself."""
    url, out = f"sqlite:///{tmp_path / 'work.db'}", tmp_path / "out.jsonl"
    path = tmp_path / "pond.jsonl"
    path.write_bytes(JOURNAL)
    mage("import", path, f"{url}#pond")
    mage("fork", f"{url}#pond@4", "ice")
    mage("export", f"{url}#ice", "--lineage", f"--out={out}")
    told = json.loads(mage("replay", out, "--json").out)
    assert [task["task"] for task in told["tasks"]] == ["ice"]
    assert mage("replay", out, "--out", tmp_path / "again.jsonl").status == 0
    assert mage("tree", tmp_path / "again.jsonl").out == mage("tree", f"{url}#ice").out


@pytest.mark.parametrize(("first", "step"), [(True, 3), (False, 3)])
def test_the_labelled_mistake_is_shown(tmp_path: Path, first: bool, step: int) -> None:
    """The step of the entry that people found wrong, whose it was and why, for people and for machines."""
    assert isinstance(WHO_AND_WHEN, dict)
    history = WHO_AND_WHEN["history"]
    assert isinstance(history, list)
    said = "3" if first else "2"
    run = {**WHO_AND_WHEN, "history": history if first else history[1:], "mistake_step": said}
    path = saved(tmp_path / "run.json", run)
    line = f"labelled mistake: step {step} (history[{said}] in the file), by Diver: The tape was wet.\n"
    assert line in mage("replay", path).out
    (task,) = json.loads(mage("replay", path, "--json").out)["tasks"]
    assert task["mistakes"] == [
        {
            "said": said,
            "record": f"history[{said}]",
            "steps": [step],
            "agent": "Diver",
            "reason": "The tape was wet.",
        }
    ]
    assert {"record": f"history[{said}]", "index": int(said), "steps": [step]} in task["records"]


def test_a_label_that_means_no_entry_is_shown_as_such(tmp_path: Path) -> None:
    """The file's own words are repeated, safe for a terminal, and no step is made up."""
    assert isinstance(WHO_AND_WHEN, dict)
    path = saved(tmp_path / "run.json", {**WHO_AND_WHEN, "mistake_step": "\x1b[1m", "mistake_agent": None})
    ran = mage("replay", path)
    assert "labelled mistake: step none (\\x1b[1m in the file), by null: The tape was wet." in ran.out
    assert "\x1b" not in ran.out
    (task,) = json.loads(mage("replay", path, "--json").out)["tasks"]
    assert (task["mistakes"][0]["record"], task["mistakes"][0]["steps"]) == (None, [])


def mini_swe_agent() -> dict[str, object]:
    """Return a run as mini-SWE-agent 2 keeps it: calls of one tool, and a last record by the role `exit`."""
    calls = [
        {"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": given}}
        for number, given in enumerate(('{"command": "ls"}', '{"command": "submit"}'))
    ]
    return {
        "info": {"exit_status": "Submitted", "submission": "diff", "mini_version": "2.0"},
        "messages": [
            {"role": "system", "content": "You fix programs."},
            {"role": "user", "content": "The pond is wrong."},
            {"role": "assistant", "content": "I look.", "tool_calls": calls[:1], "extra": {"cost": 0.1}},
            {"role": "tool", "tool_call_id": "c0", "content": "pond.py", "extra": {"returncode": 0}},
            {"role": "assistant", "content": None, "tool_calls": calls[1:], "extra": {"cost": 0.1}},
            {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted"}},
        ],
        "trajectory_format": "mini-swe-agent-1.1",
    }


def test_a_run_of_mini_swe_agent_is_replayed(tmp_path: Path) -> None:
    """Its last record, by a role that no chat has, ends the run as an observation; what was unusual is said."""
    path, out = saved(tmp_path / "run.traj.json", mini_swe_agent()), tmp_path / "out.jsonl"
    ran = mage("replay", path, "--out", out)
    assert (ran.status, ran.err) == (0, "")
    assert "of note: a message by the role 'exit', kept as an observation at messages[5]" in ran.out
    assert "of note: a tool call without a result at messages[4]" in ran.out
    assert "exit:⏎diff" in mage("tree", out).out
    (task,) = json.loads(mage("replay", path, "--json").out)["tasks"]
    assert {"what": "a tool call without a result", "count": 1, "record": "messages[4]"} in task["remarks"]


def test_what_is_unusual_in_many_tasks_is_said_once(tmp_path: Path) -> None:
    """A kind of remark is one line, however many tasks and records have it; very many kinds are cut, and said."""
    odd: list[dict[str, object]] = [{"role": f"role {number}", "content": "x"} for number in range(20)]
    path = saved(tmp_path / "chats.json", [{"messages": odd}] * 3)
    out = mage("replay", path).out
    assert out.count("of note: ") == 13
    assert "'role 0', kept as an observation, 3 times, first at [0].messages[0]" in out
    assert "of note: 8 more kinds; --json has them all" in out


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"{", "JSON"),
        (b"\xff\xfe", "UTF-8"),
        (b'{"a": 1}', "--format"),
        (b'[{"role": "user", "content": "hi"}, 3]', "[1]"),
        (b'[{"role":"assistant","content":NaN}]', "finite"),
        (b"[" * 100_000, "nest"),
    ],
)
def test_a_malformed_trace_is_one_line(tmp_path: Path, data: bytes, said: str) -> None:
    """The error names the file and the place; exit status 1; --out writes nothing."""
    path = tmp_path / "bad.json"
    path.write_bytes(data)
    ran = mage("replay", path, "--out", tmp_path / "out.jsonl")
    assert ran.status == 1
    assert len(ran.err.splitlines()) == 1
    assert str(path) in ran.err
    assert said in ran.err
    assert list(tmp_path.iterdir()) == [path]


def test_an_unknown_format_is_a_usage_error(tau: Path) -> None:
    """The known ones are listed."""
    ran = mage("replay", tau, "--format", "nope")
    assert ran.status == 2
    assert "tau-bench" in ran.err


def measured_within(path: Path, budget: int) -> tuple[Measured, Meter]:
    """Return the one trajectory of a file, put through the tree within a budget."""
    meter = Meter(default_counter())
    (trajectory,) = load(path.read_bytes(), file=path.name).unwrap()
    return measure(trajectory.commands, meter, budget=budget), meter


@needs_shared
@pytest.mark.parametrize("kind", ["who_and_when/*.json", "swe_agent/*.traj"])
def test_real_traces_stay_within_budget_and_summaries_and_a_step(kind: str) -> None:
    """On every real file the largest context is under budget, task and summaries, and the largest step."""
    paths = sorted(SHARED.glob(f"data/{kind}"))
    assert paths
    for path in paths:
        measured, meter = measured_within(path, 2000)
        assert measured.state is not None
        closed = revise(measured.state, measured.state.tree.boundary, "").unwrap().state
        largest = max(meter.step(*step.content) for step in measured.state.tree.steps())
        assert measured.sizes.shown_max <= 2000 + meter.count(view(closed)) + largest, path.name


@needs_shared
def test_a_step_larger_than_the_whole_budget_is_compressed_alone() -> None:
    """One real entry has 88,054 characters: it stays whole, and has a summary of its own."""
    measured, _ = measured_within(SHARED / "data" / "who_and_when" / "30.json", 2000)
    assert measured.state is not None
    tree = measured.state.tree
    largest = max(tree.steps(), key=lambda step: len(step.observation))
    assert len(largest.observation) == 88_054
    assert [summary.covers for summary in tree.summaries() if largest.id in summary.covers] == [(largest.id,)]


@needs_shared
def test_the_real_crosswords_become_twenty_trees() -> None:
    """1,856 steps, 1,160 revisions, 1,735 abandoned steps, 632 branch points, no merge."""
    told = json.loads(mage("replay", SHARED / "data" / "tot_crosswords_dfs_prune.json", "--json").out)
    names = ("steps", "merges", "revisions", "abandoned", "branch_points")
    assert tuple(told[name] for name in names) == (1856, 0, 1160, 1735, 632)
    assert len(told["tasks"]) == 20


@needs_shared
def test_four_real_trials_become_one_tree() -> None:
    """Task 3 of tau-bench: one root, a branch a trial, the rewards as lessons."""
    ran = mage("replay", SHARED / "data" / "tau_bench_gpt4o_airline.json", "--task", "3")
    assert ran.status == 0
    assert ran.out.count("task: ") == 1
    assert ran.out.count("ended with reward") == 3
    assert "3 revisions" in ran.out
