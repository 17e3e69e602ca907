"""To go on with a run, its session is enough: it remembers where it acts and who was asked; never a secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from mage import Memory
from mage.agent import remembered
from mage.cli.setup import Mode, Models, RunSetup
from mage.stores import open_store
from tests.cli.children import KEY, PLAYED, exported, in_one_line, place
from tests.cli.runner import mage
from tests.llm.server import Answer, Request, ScriptedServer, Status, calls, says

__all__ = ["place"]

RUN: Final = "sqlite:///w.db#a"
LAMPS: Final = "tests.cli.gated:Lamps"


def kept() -> dict[str, object]:
    """Return what the run remembers."""
    with open_store("sqlite:///w.db") as store:
        return dict(remembered(store, "a") or {})


def test_the_session_alone_goes_on_with_model_judge_server_mode_and_environment() -> None:
    """Stopped by a limit, and run again by its session only: the same models are asked, of the same server, so."""
    asked: list[str] = []

    def answering(request: Request) -> Answer:
        asked.append(request.body["model"])
        if asked[-1] == "j":
            return says(json.dumps({"reasoning": "So.", "passed": True, "fault": "none", "feedback": ""}))
        assert "tools" not in request.body  # by text
        return says(["Action[light one]", "Compress[One is lit.]", "Finish[Done.]"][asked.count("m") - 1])

    with ScriptedServer(answering=answering) as server:
        options = ("--model", "m", "--judge", "j", "--base-url", server.url, "--mode", "text")
        mage("run", "Light it.", "--environment", LAMPS, *options, "--session", RUN, "--max-steps", 2)
        first = len(asked)
        mage("run", "--session", RUN, "--policy", "max_steps=none")
    assert first == 1
    assert set(asked[1:]) == {"m", "j"}
    assert kept() == {
        "environment": LAMPS,
        "model": "m",
        "judge": "j",
        "base_url": server.url,
        "mode": "text",
        "policy": {"max_steps": None},
    }


@pytest.mark.parametrize("options", [(), ("--model", "m"), ("--anew", "--model", "m"), ("--by-hand",)])
def test_a_session_of_a_memory_is_no_run(options: tuple[str, ...]) -> None:
    """A program goes on with it: the command says so, and what else can be done, and asks for no environment."""
    with Memory.open("sqlite:///w.db", "a", task="Light it.") as memory:
        memory.record("light one", "1 are lit.")
    before = exported(RUN)
    said = (f"mage show {RUN}", f"mage log {RUN}", "its program can go on with it", "say --environment")
    assert in_one_line(mage("run", "--session", RUN, *options), "no agent has run this session", *said)
    assert exported(RUN) == before
    Path("s.jsonl").write_text('{"act": "light two"}\n{"finish": "Done."}\n', encoding="utf-8")
    ran = mage("run", "--session", RUN, "--environment", LAMPS, "--script", "s.jsonl")
    assert (ran.status, "finished: Done." in ran.out) == (0, True)


def test_what_is_said_anew_is_remembered_from_then_on() -> None:
    """Another model, and only that: the others stay, and the next time it is the one."""
    with ScriptedServer(Status(404), Status(404), calls("finish", answer="yes")) as server:
        options = ("--environment", "shop", "--base-url", server.url)
        mage("run", "Find a desk.", *options, "--model", "nope", "--session", RUN)
        mage("run", "--session", RUN, "--model", "nope2")
        assert mage("run", "--session", RUN).status == 0
        assert [request.body["model"] for request in server.requests] == ["nope", "nope2", "nope2"]
    assert kept() == {"environment": "shop", "model": "nope2", "base_url": server.url}


def test_no_secret_is_remembered() -> None:
    """Neither the key nor what stands before the @ of an address; where that is needed again, it is asked for."""
    with ScriptedServer(Status(404), calls("finish", answer="yes")) as server:
        secret = server.url.replace("http://", "http://u:geheim@")
        mage("run", "Find.", "--environment", "shop", "--model", "m", "--base-url", secret, "--session", RUN)
        assert kept()["base_url"] == server.url.replace("http://", "http://***@")
        for path in Path.cwd().iterdir():
            assert b"geheim" not in path.read_bytes()
            assert KEY.encode() not in path.read_bytes()
        assert in_one_line(mage("run", "--session", RUN), "--base-url", "never kept", "***@")
        assert mage("run", "--session", RUN, "--base-url", secret).status == 0


def test_a_store_with_one_session_needs_no_name_and_the_demo_nothing_said() -> None:
    """`mage run --session w.db` goes on with the demo's run, without a model and without a key."""
    mage("run", "--offline", "--session", "w.db#a", "--max-steps", 5)
    assert mage("run", "--session", "w.db", "--policy", "max_steps=none").status == 0
    mage("run", "--offline", "--session", "w.db#whole")
    assert exported(RUN) == exported("sqlite:///w.db#whole")


def test_a_script_is_found_from_another_folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered of it is its whole path."""
    Path("s.jsonl").write_text(
        '{"act": "light one"}\n{"act": "look"}\n{"finish": "Done."}\n', encoding="utf-8"
    )
    options = ("--environment", LAMPS, "--script", "s.jsonl", "--session", f"{place}/w.db#a")
    mage("run", "Light it.", *options, "--max-steps", 2)
    (place / "elsewhere").mkdir()
    monkeypatch.chdir(place / "elsewhere")
    assert mage("run", "--session", f"{place}/w.db", "--policy", "max_steps=none").status == 0


def test_a_changed_run_that_is_kept_remembers_too() -> None:
    """What the run remembered, and the model that was named: its session alone goes on."""
    mage("run", *PLAYED, "--environment", "shop", "--session", RUN)
    mage("rerun", RUN, "--policy", "max_steps=3", "--into", "sqlite:///w.db#b")
    assert mage("run", "--session", "sqlite:///w.db#b", "--policy", "max_steps=none").status == 0
    assert exported("sqlite:///w.db#b") == exported(RUN)


def test_a_changed_run_that_is_kept_remembers_its_script() -> None:
    """Its session alone goes on, behind the lines that were played in it, however many the record had answered."""
    light, other = '{"act": "light one"}\n', "sqlite:///w.db#b"
    Path("one.jsonl").write_text(light, encoding="utf-8")
    Path("more.jsonl").write_text(light * 2, encoding="utf-8")
    mage("run", "Light it.", "--environment", LAMPS, "--script", "one.jsonl", "--session", RUN)
    ran = mage("rerun", RUN, "--environment", LAMPS, "--script", "more.jsonl", "--into", other)
    assert in_one_line(ran, "more.jsonl has no more to say", f"mage run --session '{other}' goes on")
    with open_store("sqlite:///w.db") as store:
        assert remembered(store, "b") == {
            "environment": LAMPS,
            "script": str(Path("more.jsonl").absolute()),
            "used": {"model": 1},
        }
    Path("more.jsonl").write_text(light * 2 + '{"finish": "Done."}\n', encoding="utf-8")
    ran = mage("run", "--session", other, "--json")
    assert (ran.status, json.loads(ran.out)["steps"]) == (0, 4)  # `reset` gives the first
    assert mage("rerun", other).status == 0


@pytest.mark.parametrize("options", [("--judge", "j"), ("--base-url", "http://h"), ("--mode", "text")])
def test_an_option_of_a_model_where_none_is_asked_is_a_usage_error(options: tuple[str, str]) -> None:
    """A run that remembers a script has no use for it: status 2, and it says what would."""
    mage("run", "--offline", "--session", RUN, "--max-steps", 1)
    ran = mage("run", "--session", RUN, *options)
    assert (ran.status, "--model names one" in ran.err) == (2, True)


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        {"model": "m"},
        {"environment": 3},
        {"environment": "shop", "mode": "nope"},
        {"environment": "shop", "more": "x"},
        {"environment": "shop", "used": 3},
        {"environment": "shop", "used": {"model": "3"}},
        {"environment": "shop", "model": ["m"]},
        {"environment": "shop", "policy": "x"},
        {"environment": "shop", "by_hand": 1},
        {"environment": "shop", "sampling": []},
    ],
)
def test_what_others_have_kept_is_not_taken_for_ours(document: dict[str, object] | None) -> None:
    """`Agent.run(remember=...)` keeps whatever its caller wants: the command goes by what it wrote itself."""
    assert RunSetup.of(document) is None


@pytest.mark.parametrize(
    "asked",
    [
        RunSetup("shop"),
        RunSetup("a:B", Models("m", "j", "http://h/v1")),
        RunSetup("a:B", Models("m", mode=Mode.TEXT, prompts="/p", sampling={"seed": 3, "extra": {"a": [1]}})),
        RunSetup("a:B", Models(judge="-"), is_by_hand=True, policy={"wait": False}),
        RunSetup("a:B:c", script="/tmp/s.jsonl", used={"model": 3}),
    ],
)
def test_what_is_kept_is_what_was_asked(asked: RunSetup) -> None:
    """Through JSON and back."""
    assert RunSetup.of(json.loads(json.dumps(asked.document))) == asked
