"""Memory systems by name, what a row says of them, an account that lasts, and the gateway that counts."""

from __future__ import annotations

import contextlib
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.arena.__main__ import main
from benchmarks.arena.domains.memories import MEMORIES, policy_of
from benchmarks.arena.domains.results import read_results
from benchmarks.arena.domains.running import run_task
from benchmarks.arena.domains.series import run_series
from benchmarks.arena.domains.settings import Settings
from benchmarks.arena.retrieval.attached import Entry, Spent
from benchmarks.arena.retrieval.catalogue import KINDS, BadMemory, chosen
from benchmarks.arena.retrieval.gateway import Gateway
from benchmarks.arena.retrieval.joined import Account
from benchmarks.arena.retrieval.wire import Address, NoAnswer, post
from mage.effects import Usage
from mage.tokens import EstimateCounter
from tests.arena.domains.cases import SMALL, actions_of
from tests.arena.retrieval.player import playing
from tests.llm.server import Completion, Raw, Request, ScriptedServer, Status, says

TASK = SMALL["shopping"].task(3, 0)
FEW = {"random": "random", "window": "window:steps=8"}


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of this machine, and no address of another server."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def planned(memory: str, **more: Any) -> Settings:
    return Settings(domain="shopping", memory=memory, size="small", seed=3, **more)


# -- names --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("named", "label"),
    [
        ("bm25", "bm25"),
        ("bm25:k=5", "bm25"),
        ("bm25:query=trace,chunk=step", "bm25"),
        ("bm25:query=instruction,k=3", "bm25:k=3,query=instruction"),
        ("dense:chunk=200", "dense:chunk=200"),
        ("mem0:infer=0", "mem0:infer=0"),
        ("window", "window"),
        ("window:steps=8", "window:steps=8"),
        ("http://me:secret@host:1/x#theirs", "server:theirs"),
        ("https://host", "server"),
    ],
)
def test_a_name_has_one_spelling(named: str, label: str) -> None:
    """What is as it is anyway is not said; a server's address, which may hold a password, is not either."""
    assert chosen(named).label == label
    assert "secret" not in repr(chosen(named))


@pytest.mark.parametrize(
    "named",
    ["", "bm26", "bm25:k=0", "bm25:k", "bm25:l=3", "bm25:chunk=words", "window:steps=0", "bm25:query=all"],
)
def test_what_names_nothing_is_refused_in_words(
    named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message says what there is; a command prints it, and makes no file."""
    with pytest.raises(BadMemory):
        chosen(named)
    out = tmp_path / "rows.jsonl"
    assert main(["run", "--domain", "shopping", "--memory", named, "--out", str(out)]) == 2
    assert capsys.readouterr().err.startswith("Error: ")
    assert not out.exists()


@given(st.text(max_size=20))
def test_any_text_names_a_memory_or_is_refused(text: str) -> None:
    """Nothing else comes of it."""
    with contextlib.suppress(BadMemory):
        assert chosen(text).label


def test_a_system_whose_packages_are_missing_says_what_brings_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Before any task is run."""
    missing = [
        name for name, kind in KINDS.items() if any(find_spec(module) is None for module in kind.packages)
    ]
    for name in missing:
        assert (
            main(["run", "--domain", "shopping", "--memory", name, "--out", "never", "--memory-model", "m"])
            == 2
        )
        assert f"--memory {name} needs " in capsys.readouterr().err
    assert missing or find_spec("hipporag")


def test_a_system_that_writes_by_a_model_wants_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Served or run, it is refused without; those that are not installed are refused before."""
    for name, kind in KINDS.items():
        assert (
            main(["run", "--domain", "shopping", "--memory", name, "--out", "/nowhere/x"]) == 2
            or not kind.writes
        )
        capsys.readouterr()
        if kind.writes:
            assert main(["serve", "--memory", name]) == 2
            assert "needs a model that writes" in capsys.readouterr().err


def test_beside_a_system_the_policy_neither_compresses_nor_goes_back() -> None:
    """What was written cannot be taken back, so such changes are refused; others are taken."""
    assert policy_of("random", '{"max_unusable": 1}', 7) == attrs.evolve(
        MEMORIES["full-history"], max_unusable=1, max_steps=7
    )
    for change in ("compress", "revise"):
        with pytest.raises(BadMemory, match=change):
            policy_of("random", json.dumps({change: True}), 7)


# -- rows ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", FEW.values())
def test_a_row_says_what_the_system_was_and_did(memory: str) -> None:
    """Its parameters, its caps, what it gave back, and what the figures are worth."""
    row = run_task(planned(memory), 0)
    assert (row["outcome"], row["sr"]) == ("finished", 1), row
    said: Any = row["memory_system"]
    assert said["figures"] == "tokens only: a plan acted, which reads no memory"
    read: Any = run_task(attrs.evolve(planned(memory), agent="reader"), 0)
    assert read["memory_system"]["figures"] == "scripted reader: no model acted on what was remembered"
    full = run_task(planned("full-history"), 0)
    assert "memory_system" not in full
    assert isinstance(row["tokens"], int)
    assert isinstance(full["tokens"], int)
    assert row["tokens"] < full["tokens"]
    if memory == "random":
        assert said["caps"] == {"handed": 16_000, "shown": 8_000}
        assert said["parameters"] == {"chunk": "step", "k": 5, "query": "trace"}
        assert said["writes"] == len(TASK.plan) - 1
        assert said["retrievals"] == len(actions_of(TASK)) + 1


def test_caps_are_part_of_the_settings(tmp_path: Path) -> None:
    """With other caps it is another series, in the same file; a cut is counted."""
    out = tmp_path / "rows.jsonl"
    common = [
        "run",
        "--domain",
        "shopping",
        "--size",
        "small",
        "--memory",
        "random",
        "--tasks",
        "1",
        "--out",
        str(out),
    ]
    assert main(common) == main([*common, "--write-cap", "50", "--read-cap", "20"]) == 0
    cut, whole = sorted(read_results(out), key=lambda row: str(row["settings"]), reverse=True)
    said: Any = [row["memory_system"] for row in (whole, cut)]
    assert {row["caps"]["handed"] for row in said} == {50, 16_000}
    counts = {row["caps"]["handed"]: (row["writes_cut"], row["retrievals_cut"]) for row in said}
    assert counts[16_000] == (0, 0)
    assert min(counts[50]) > 0


def test_a_model_plays_beside_a_system_over_http(tmp_path: Path) -> None:
    """As under any other memory; killed in the middle, a kept run resumes to the same row."""

    def dies(request: Request) -> Any:
        return Status(401) if len(server.requests) == 15 else knows(request)

    knows = playing([TASK])
    settings = planned("random:k=2", agent="model", model="m")
    with ScriptedServer(answering=knows) as server:
        whole = run_task(attrs.evolve(settings, base_url=server.url), 0)
    assert (whole["sr"], whole["memory_system"]["figures"]) == (1, "measured")  # type: ignore[index]  # JSON
    with ScriptedServer(answering=dies) as server:
        kept = attrs.evolve(settings, base_url=server.url, sessions=tmp_path)
        [failed] = run_series(kept, 1, tmp_path / "rows.jsonl")
        assert failed["outcome"] == "failed"
        [resumed] = run_series(kept, 1, tmp_path / "rows.jsonl", again=True)
    rows = (
        {**row, "tokens_by_model": {}} for row in (resumed, whole)
    )  # there the call that failed has no model
    assert next(rows) == next(rows)


def test_where_no_call_was_answered_nothing_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model that refuses every call: the row says so, and the command ends with status 1, not with a figure."""
    out = tmp_path / "rows.jsonl"
    command = [
        "run",
        "--domain",
        "shopping",
        "--size",
        "small",
        "--tasks",
        "2",
        "--memory",
        "random:k=2",
        "--agent",
        "model",
        "--model",
        "m",
    ]
    with ScriptedServer(answering=lambda _: Status(401)) as server:
        assert main([*command, "--base-url", server.url, "--out", str(out)]) == 1
    said: Any = [row["memory_system"] for row in read_results(out)]
    assert {each["figures"] for each in said} == {"nothing: no call was answered"}
    assert "every task failed" in capsys.readouterr().err


# -- accounts -----------------------------------------------------------------------------------------


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["write", "ask"]), st.integers(0, 50)),
        st.builds(
            Entry,
            st.integers(0, 99),
            st.booleans(),
            st.text(max_size=5),
            st.builds(
                Spent,
                st.builds(Usage, st.integers(0, 9), st.integers(0, 9)),
                st.integers(0, 9),
                st.integers(0, 9),
            ),
        ),
        max_size=5,
    )
)
def test_an_account_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, entries: Any) -> None:
    """Also where a kill has cut off its last line."""
    path = tmp_path_factory.mktemp("account") / "a.jsonl"
    account = Account(path)
    account.update(entries)
    assert dict(Account(path)) == entries
    with path.open("a", encoding="utf-8") as file:
        file.write('[["ask", 99], {"tok')
    assert dict(Account(path)) == entries
    Account(path)["ask", 100] = Entry(1)
    assert len(Account(path)) == len(entries) + 1


# -- the gateway ---------------------------------------------------------------------------------------


def test_the_gateway_passes_on_and_counts() -> None:
    """A request goes through as it is, and its tokens are those that the server says; else they are estimated."""
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello."}], "temperature": 0.3}
    with (
        ScriptedServer(says("Yes."), Completion({"content": "No."}, usage=None)) as server,
        Gateway(Address.of(server.url, "key"), EstimateCounter()) as gateway,
    ):
        replies = [post(Address.of(gateway.url), "/chat/completions", body) for _ in range(2)]
        taken = gateway.spent()
        assert [request.body for request in server.requests] == [body, body]
        assert server.requests[0].authorization == "Bearer key"
    assert [reply["choices"][0]["message"]["content"] for reply in replies] == ["Yes.", "No."]
    assert (taken.usage.calls, taken.usage.estimated, taken.failed) == (2, 1, 0)
    assert taken.usage.prompt > 100
    assert gateway.models == {"scripted-1"}


def test_the_named_model_is_asked_whichever_a_system_names() -> None:
    """MemoryOS names one of its own beside the one that it is given."""
    with (
        ScriptedServer(says("Yes.")) as server,
        Gateway(Address.of(server.url), EstimateCounter(), "mine") as gateway,
    ):
        post(Address.of(gateway.url), "/chat/completions", {"model": "theirs", "messages": []})
        assert [request.body["model"] for request in server.requests] == ["mine"]


def test_what_comes_to_nothing_is_counted_too() -> None:
    """A server's error goes through with its status; a call without a server is refused in words."""
    body = {"model": "m", "messages": []}
    with (
        ScriptedServer(Status(429), Raw(b"no")) as server,
        Gateway(Address.of(server.url), EstimateCounter()) as gateway,
    ):
        for status in (429, 502):
            with pytest.raises(NoAnswer) as refused:
                post(Address.of(gateway.url), "/chat/completions", body)
            assert refused.value.status == status
        assert gateway.spent() == Spent(Usage(calls=0), failed=2, embedded=gateway.spent().embedded)
    with Gateway(None, EstimateCounter()) as gateway:
        for path, words in (("/chat/completions", "--memory-model"), ("/models", "nothing else")):
            with pytest.raises(NoAnswer, match=words):
                post(Address.of(gateway.url), path, body)
        with pytest.raises(NoAnswer, match="no streams"):
            post(Address.of(gateway.url), "/chat/completions", {**body, "stream": True})
