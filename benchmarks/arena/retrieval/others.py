"""Memory systems of others, each behind MemoryArena's interface: one call that writes, one that retrieves.

Each is a whole configuration, said in `domains/README.md`. All of them ask their models through a `Gateway`,
and embed by MiniLM: over the gateway, or by what stands here for `sentence_transformers`. What they print is not shown.
Imports are inside, as each of the packages is optional.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias, final

import attrs

from benchmarks.arena.retrieval.attached import Remembers, WriteRefused, wrapped
from benchmarks.arena.retrieval.minilm import NAME, SIZE, minilm

# `Any` below: no package of others is known to mypy here.

_KEPT_NOTHING = WriteRefused("it kept nothing of the text")


@final
@attrs.frozen
class Lent:
    """What a system is given to run with.

    Attributes:
        url: the base URL of the gateway.
        model: the name of the model that writes.
        folder: an empty one for its files.
        user: a name that nobody else has.
        stack: closes what must be closed, before the folder goes.
        seed: of what is drawn.
    """

    url: str
    model: str
    folder: Path
    user: str
    stack: ExitStack
    seed: int = 0


Value: TypeAlias = str | int
Parameters: TypeAlias = Mapping[str, Value]
Make: TypeAlias = Callable[[Lent, Parameters], Remembers]

_KEY = "none"
"""The gateway wants no key, and the clients insist on one."""


@final
class Asked:
    """A system of two functions, whatever they print kept away."""

    def __init__(self, write: Callable[[str], object], find: Callable[[str], Sequence[str]]) -> None:
        """Take what writes a text, and what finds texts for a question."""
        self._write = write
        self._find = find

    def add_chunk(self, chunk: str, /) -> None:
        """Write a trace.

        Raises:
            WriteRefused: nothing of it was kept.
        """
        with _quiet():
            self._write(chunk)

    def wrap_user_prompt(self, question: str, /) -> str:
        """Return the question below what was found for it."""
        with _quiet():
            found = [text for text in self._find(question) if text.strip()]
        return wrapped(found, question)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def mem0(lent: Lent, parameters: Parameters) -> Remembers:
    """Return Mem0 over a private Qdrant; with `infer` a model says what is kept of a text, else the text is kept."""
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["MEM0_DIR"] = str(lent.folder)
    os.environ["HF_HUB_OFFLINE"] = "1"
    with _quiet():
        module: Any = import_module("mem0")
        server = {"api_key": _KEY, "openai_base_url": lent.url}
        memory = module.Memory.from_config(
            {
                "llm": {"provider": "openai", "config": {**server, "model": lent.model}},
                "embedder": {
                    "provider": "openai",
                    "config": {**server, "model": NAME, "embedding_dims": SIZE},
                },
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "path": str(lent.folder / "qdrant"),
                        "embedding_model_dims": SIZE,
                        "collection_name": "m",
                    },
                },
                "history_db_path": str(lent.folder / "history.db"),
            }
        )

    lent.stack.callback(memory.close)

    def write(text: str) -> None:
        kept = memory.add(text, user_id=lent.user, infer=bool(parameters["infer"]))
        if not kept["results"]:
            raise _KEPT_NOTHING

    def find(question: str) -> list[str]:
        found = memory.search(question, filters={"user_id": lent.user}, top_k=parameters["k"], threshold=0.0)
        return [str(each["memory"]) for each in found["results"]]

    return Asked(write, find)


def simplemem(lent: Lent, parameters: Parameters) -> Remembers:
    """Return SimpleMem over a private LanceDB; with `planning` it asks its model before each retrieval, and reflects."""
    _stand_in()
    plans = bool(parameters["planning"])
    with _quiet():
        config: Any = import_module("simplemem.config")
        config.set_config(
            config.SimpleMemConfig(
                openai_api_key=_KEY,
                openai_base_url=lent.url,
                llm_model=lent.model,
                embedding_model=NAME,
                embedding_dimension=SIZE,
                semantic_top_k=parameters["k"],
                use_streaming=False,
                enable_parallel_processing=False,
                enable_parallel_retrieval=False,
                enable_planning=plans,
                enable_reflection=plans,
            )
        )
        module: Any = import_module("simplemem.system")
        memory = module.SimpleMemSystem(db_path=str(lent.folder / "lancedb"))

    def write(text: str) -> None:
        before = memory.vector_store.table.count_rows()
        memory.add_dialogue("agent", text)
        memory.finalize()
        if memory.vector_store.table.count_rows() == before:  # it hides that its model has failed
            raise _KEPT_NOTHING

    def find(question: str) -> list[str]:
        return [str(each.lossless_restatement) for each in memory.hybrid_retriever.retrieve(question)]

    return Asked(write, find)


def memoryos(lent: Lent, parameters: Parameters) -> Remembers:
    """Return MemoryOS, whose short-term memory has room for `short` traces before the oldest goes to the next level."""
    _stand_in()
    with _quiet():
        module: Any = import_module("memoryos")
        memory = module.Memoryos(
            user_id=lent.user,
            openai_api_key=_KEY,
            openai_base_url=lent.url,
            data_storage_path=str(lent.folder),
            llm_model=lent.model,
            short_term_capacity=parameters["short"],
            retrieval_queue_capacity=parameters["k"],
        )

    def write(text: str) -> None:
        asked, _, done = text.partition("\nAction: ")
        memory.add_memory(user_input=asked, agent_response=f"Action: {done}" if done else asked)

    def find(question: str) -> list[str]:
        found = memory.retriever.retrieve_context(user_query=question, user_id=lent.user)
        pages = [*found["retrieved_pages"], *memory.short_term_memory.get_all()]
        known = [*found["retrieved_user_knowledge"], *found["retrieved_assistant_knowledge"]]
        told = [f"{page['user_input']}\n{page['agent_response']}" for page in pages]
        profile = str(memory.user_long_term_memory.get_raw_user_profile(lent.user) or "")
        return [
            *told,
            *(str(each["knowledge"]) for each in known),
            "" if profile.lower() == "none" else profile,
        ]

    return Asked(write, find)


def reasoning_bank(lent: Lent, parameters: Parameters) -> Remembers:
    """Return a third party's ReasoningBank in memory: its judge, what it distils, and what it merges."""
    from openai import OpenAI  # noqa: PLC0415  # a plan without such a system needs no client

    client = lent.stack.enter_context(OpenAI(api_key=_KEY, base_url=lent.url))
    with _quiet():
        module: Any = import_module("reasoning_bank")

    async def ask(prompt: str, *, system: str | None = None) -> str:
        said: list[Any] = [{"role": "system", "content": system}] if system else []
        reply = client.chat.completions.create(
            model=lent.model, messages=[*said, {"role": "user", "content": prompt}], temperature=0.0
        )
        return reply.choices[0].message.content or ""

    bank = module.ReasoningBank(llm=ask, store=module.InMemoryStore(), embedder=_Embedder())
    loop = lent.stack.enter_context(asyncio.Runner())

    def write(text: str) -> None:
        instruction, _, done = text.partition("\nAction: ")
        turns = [
            {"role": "user", "content": instruction},
            {"role": "assistant", "content": f"Action: {done}"},
        ]
        kept = _awaited(loop, bank.ingest_trajectory(turns, instruction))
        if not kept:
            raise _KEPT_NOTHING

    def find(question: str) -> list[str]:
        return [bank.format_as_system_block(_awaited(loop, bank.retrieve(question, k=parameters["k"])))]

    return Asked(write, find)


def hipporag(lent: Lent, parameters: Parameters) -> Remembers:
    """Return HippoRAG 2. It carries out, as Python, what its model writes: only for a model that you trust."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.setdefault(
        "OPENAI_API_KEY", _KEY
    )  # its clients look nowhere else; they reach the gateway alone
    with _quiet():
        module: Any = import_module("hipporag")
        memory = module.HippoRAG(
            save_dir=str(lent.folder),
            llm_model_name=lent.model,
            llm_base_url=lent.url,
            embedding_model_name="text-embedding-3-small",  # a name by which it asks a server
            embedding_base_url=lent.url,
        )
    written: list[str] = []

    def write(text: str) -> None:
        memory.index([text])
        memory.ready_to_retrieve = False  # else it goes on with what it had read before
        written.append(text)

    def find(question: str) -> list[str]:
        if not written:
            return []
        [found] = memory.retrieve(queries=[question], num_to_retrieve=parameters["k"])
        return [str(each) for each in found.docs]

    return Asked(write, find)


def hipporag_lite(lent: Lent, parameters: Parameters) -> Remembers:
    """Return a third party's HippoRAG over HTTP alone. It, too, carries out what its model writes."""
    with _quiet():
        module: Any = import_module("hipporag_lite")
        memory = module.HippoRAG(
            save_dir=str(lent.folder),
            api_key=f"Bearer {_KEY}",
            llm_model_name=lent.model,
            llm_base_url=f"{lent.url}/chat/completions",
            embedding_model_name="Qwen/Qwen3-Embedding-8B",  # it takes no other name
            embedding_base_url=f"{lent.url}/embeddings",
        )
    loop = lent.stack.enter_context(asyncio.Runner())
    written: list[str] = []

    def write(text: str) -> None:
        _awaited(loop, memory.index([text]))
        memory.ready_to_retrieve = False
        written.append(text)

    def find(question: str) -> list[str]:
        if not written:
            return []
        [found] = _awaited(loop, memory.retrieve([question], num_to_retrieve=parameters["k"]))
        return [str(each) for each in found.docs]

    return Asked(write, find)


def _awaited(loop: asyncio.Runner, coroutine: Coroutine[Any, Any, Any]) -> Any:
    return loop.run(coroutine)


@final
class _Embedder:
    """MiniLM as a ReasoningBank asks for it."""

    dim = SIZE

    def embed(self, texts: list[str]) -> list[list[float]]:
        return minilm()(texts)


@final
class _SentenceTransformer:
    """MiniLM as sentence-transformers has it, without torch."""

    def __init__(self, name: str, **_more: object) -> None:
        self.name = name

    def encode(self, texts: list[str], **_more: object) -> Any:
        numpy: Any = import_module("numpy")
        return numpy.array(minilm()(texts), dtype="float32")

    def get_sentence_embedding_dimension(self) -> int:
        return SIZE


def _stand_in() -> None:
    """Let those who import sentence-transformers have MiniLM, whichever model they name."""
    module: Any = ModuleType("sentence_transformers")
    module.SentenceTransformer = _SentenceTransformer
    sys.modules["sentence_transformers"] = module
