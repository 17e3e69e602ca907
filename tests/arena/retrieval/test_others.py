"""The memory systems of others, each over a task and a scripted model: `make memories` installs and runs them.

No figure comes of these: the model that writes is a script. What is tested is the plumbing: that the traces reach each
system, that what its model makes of them comes back into the prompts, and that all it takes is counted.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from benchmarks.arena.domains.running import run_task
from benchmarks.arena.domains.series import run_series
from benchmarks.arena.domains.settings import Settings
from benchmarks.arena.retrieval.gateway import Gateway
from benchmarks.arena.retrieval.minilm import minilm
from benchmarks.arena.retrieval.wire import Address, NoAnswer, post
from mage.tokens import EstimateCounter
from tests.arena.domains.cases import SMALL
from tests.arena.retrieval.player import playing
from tests.arena.retrieval.writer import writing
from tests.llm.server import Request, ScriptedServer, Status

pytestmark = pytest.mark.memories

ROOM = ("mem0", "mem0-raw", "simplemem", "memoryos", "reasoning-bank", "dense:chunk=subtask")
BY_HAND = {"hipporag": "hipporag", "hipporag-lite": "hipporag_lite"}
"""By module: those that no room of CI has, as they take gigabytes, or pins that nothing else can meet."""
SYSTEMS = (*ROOM, *[name for name, module in BY_HAND.items() if find_spec(module) is not None])
WRITING = ("mem0", "simplemem", "memoryos", "reasoning-bank", *BY_HAND)
TASK = SMALL["shopping"].task(3, 0)


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of this machine, and no address of another server."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture(scope="module", params=SYSTEMS)
def played(
    request: pytest.FixtureRequest,
) -> Iterator[tuple[str, dict[str, Any], list[Request], list[Request]]]:
    """Yield a system, the row of a task that a scripted model has played beside it, and what both models were asked."""
    name = request.param
    with ScriptedServer(answering=writing) as writer, ScriptedServer(answering=playing([TASK])) as player:
        settings = Settings(
            domain="shopping",
            memory=name,
            agent="model",
            model="scripted-player",
            size="small",
            seed=3,
            base_url=player.url,
            memory_model="scripted-1",
            memory_url=writer.url,
        )
        yield name, run_task(settings, 0), writer.requests, player.requests


def test_a_task_is_played_beside_it(played: Any) -> None:
    """The task is solved, each trace but the last was written, and before each action the system was asked."""
    name, row, _, _ = played
    assert (row["outcome"], row["sr"]) == ("finished", 1), row
    said = row["memory_system"]
    assert said["writes"] == len(TASK.plan) - 1
    assert said["writes_refused"] == said["failed_calls"] == 0, said
    assert said["retrievals"] == sum(len(part.actions) for part in TASK.plan) + 1
    assert said["retrieved_tokens"] > 0
    assert all(number != "unknown" for number in said["versions"].values())
    assert row["settings"]["memory"] == name


def test_what_was_bought_comes_back_into_the_prompt(played: Any) -> None:
    """In the last subtask the prompt holds the first purchase, which stands nowhere but in the system."""
    _, row, _, asked = played
    [first] = [line for line in row["answers"][0] if line[0] == "code"]
    last = next(request for request in reversed(asked) if request.body.get("tools"))
    said = "\n".join(str(message["content"]) for message in last.body["messages"])
    assert f"Bought as product 1: {first[1]}" in said


def test_all_that_it_takes_is_counted(played: Any) -> None:
    """The tokens of its own model are in the row and in the total; one that asks none has none."""
    name, row, written, _ = played
    kinds = row["tokens_by_call"]
    assert row["tokens"] == sum(each["prompt"] + each["completion"] for each in kinds.values())
    if name in WRITING:
        assert kinds["memory"]["calls"] == len(written) > 0
        assert row["memory_system"]["figures"] == "plumbing only: no model wrote what was remembered"
    else:
        assert "memory" not in kinds
        assert not written
    assert row["memory_system"]["embedded"] > 0


@pytest.mark.parametrize("name", ["mem0", "simplemem", "memoryos", "reasoning-bank"])
def test_a_model_that_fails_is_a_row_and_not_a_crash(name: str, tmp_path: Path) -> None:
    """Where its model answers nothing, a system either fails the row in words, or hides it, and the row counts it."""

    def refusing(_request: Request) -> Status:
        return Status(400)

    with ScriptedServer(answering=refusing) as writer:
        settings = Settings(
            domain="shopping",
            memory=f"{name}:short=1" if name == "memoryos" else name,
            size="small",
            seed=3,
            memory_model="scripted-1",
            memory_url=writer.url,
        )
        [row] = run_series(settings, 1, tmp_path / "rows.jsonl")
    said: Any = row["memory_system"]
    if name in ("mem0", "reasoning-bank"):
        assert row["outcome"] == "failed"
        assert f"{name} failed at a write" in str(row["detail"])
    elif name == "simplemem":
        assert row["outcome"] == "finished"
        assert said["writes_refused"] == said["writes"]
        assert said["failed_calls"] > 0
    else:
        assert row["outcome"] == "finished"
        assert said["failed_calls"] > 0


def test_mem0_without_a_model_is_dense_retrieval_of_whole_traces() -> None:
    """With the same chunks it gives back as much, before each action, as a list of vectors does."""
    rows = [
        run_task(Settings(domain="shopping", memory=name, size="small", seed=3), 0)
        for name in ("mem0-raw:k=1", "dense:k=1,chunk=subtask")
    ]
    first, second = (row["memory_system"] for row in rows)
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert first["retrieved_tokens"] == second["retrieved_tokens"]


def test_minilm_is_what_sentence_transformers_computes() -> None:
    """The first numbers of vectors that sentence-transformers 6.2.0 gave for these weights, to four places.

    One text is longer than what is read, one is not English. (All numbers were the same within 1.1e-7, by hand.)
    """
    texts = {
        "Buy a desk, then a chair that fits it.": (0.0418, 0.0136, 0.0442, -0.0206),
        "Observation: Bought as product 1: S65-9157 Dilell Meadow Pink Tent, 12 oz, $27.34.": (
            *(0.0096, 0.1163, -0.0374, 0.0851),
        ),
        "the quick brown fox " * 200: (-0.0345, -0.0338, 0.0002, -0.0255),
        "Zürich 東京 naïve – ok?": (0.0887, 0.0651, 0.1084, -0.0378),
    }
    for vector, expected in zip(minilm()(list(texts)), texts.values(), strict=True):
        assert vector[:4] == pytest.approx(expected, abs=6e-5)
        assert sum(number * number for number in vector) == pytest.approx(1, abs=1e-5)


def test_the_gateway_embeds_in_both_forms() -> None:
    """As a list of numbers, and as OpenAI's client asks by default; the word pieces are counted, known texts too."""
    with Gateway(None, EstimateCounter()) as gateway:
        before = gateway.spent().embedded
        body = {"model": "any", "input": ["Buy a desk."]}
        [plain] = post(Address.of(gateway.url), "/embeddings", body)["data"]
        reply = post(Address.of(gateway.url), "/embeddings", {**body, "encoding_format": "base64"})
        packed = struct.unpack("<384f", base64.b64decode(reply["data"][0]["embedding"]))
        assert packed == pytest.approx(plain["embedding"])
        assert gateway.spent().embedded - before == 2 * reply["usage"]["prompt_tokens"] > 0
        with pytest.raises(NoAnswer, match="no list of texts"):
            post(Address.of(gateway.url), "/embeddings", {"input": [1]})
