"""What another's memory system is given in place of a provider: a server on loopback that counts.

Chat completions are passed on to the user's server and model, and their tokens are counted, whatever the system
itself makes of them; calls that come to nothing are counted too, as some systems hide them. Embeddings are answered
here, by MiniLM.
"""

from __future__ import annotations

import base64
import json
import os
import struct
import threading
from types import TracebackType
from typing import Any, Final, final

from benchmarks.arena.retrieval.attached import Spent
from benchmarks.arena.retrieval.minilm import NAME, embedded, minilm
from benchmarks.arena.retrieval.wire import Address, JsonServer, NoAnswer, post
from mage.effects import Usage
from mage.tokens import TokenCounter

_OPENAI: Final = "https://api.openai.com/v1"


@final
class Gateway:
    """A server of the interface of OpenAI, to use in a `with` statement.

    Attributes:
        models: the names by which whoever answered has called itself.
    """

    def __init__(self, models: Address | None, counter: TokenCounter, model: str = "") -> None:
        """Make a server.

        Args:
            models: where the models are; None where there is none, and whoever asks for one is refused.
            counter: counts what a server has not.
            model: is asked, whichever a system names: some name one of their own; empty for what they name.
        """
        self.models: set[str] = set()
        self._upstream = models
        self._model = model
        self._counter = counter
        self._usage = Usage(calls=0)
        self._failed = 0
        self._lock = threading.Lock()
        self._http = JsonServer(("127.0.0.1", 0), self.answer, _refusal)
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def spent(self) -> Spent:
        """Return what was taken so far, what was embedded in this process without the server too."""
        with self._lock:
            return Spent(self._usage, self._failed, embedded())

    def __enter__(self) -> Gateway:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the status and the body for a request. Never raises what a client or a server has done wrong."""
        if path.endswith("/embeddings"):
            return _embeddings(body)
        if not path.endswith("/chat/completions"):
            return _refused(404, "chat completions and embeddings are served here, and nothing else")
        if body.get("stream"):
            return _refused(400, "no streams are served here")
        status, answer = self._asked(body)
        self._count(status, body, answer)
        return status, answer

    def _asked(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self._upstream is None:
            return _refused(400, "no model was named for the memory system: --memory-model NAME")
        try:
            asked = {**body, "model": self._model} if self._model else body
            return 200, post(self._upstream, "/chat/completions", asked)
        except NoAnswer as error:
            return _refused(error.status or 502, error.reason)

    def _count(self, status: int, body: dict[str, Any], answer: dict[str, Any]) -> None:
        with self._lock:
            if status != 200:
                self._failed += 1
                return
            self.models.add(str(answer.get("model") or body.get("model")))
            self._usage += self._taken(body, answer)

    def _taken(self, body: dict[str, Any], answer: dict[str, Any]) -> Usage:
        said = answer.get("usage") or {}
        prompt, completion = said.get("prompt_tokens"), said.get("completion_tokens")
        if isinstance(prompt, int) and isinstance(completion, int) and prompt > 0 <= completion:
            return Usage(prompt, completion)
        asked = self._counter.count(json.dumps(body.get("messages"), ensure_ascii=False))
        replied = self._counter.count(json.dumps(answer.get("choices"), ensure_ascii=False))
        return Usage(asked, replied, estimated=1)


def models_at(base_url: str | None) -> Address:
    """Return where models are asked: at a URL, else as `OPENAI_BASE_URL` says; with `OPENAI_API_KEY`, if there is one."""
    url = base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI
    return Address.of(url, os.environ.get("OPENAI_API_KEY", ""))


def _refused(status: int, why: str) -> tuple[int, dict[str, Any]]:
    return status, _refusal(why)


def _refusal(why: str) -> dict[str, Any]:
    return {"error": {"message": why, "type": "memory_gateway", "code": None}}


def _embeddings(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return _refused(400, "`input` is no text and no list of texts")
    model = minilm()
    before = model.read
    vectors: list[Any] = model(texts)
    if body.get("encoding_format") == "base64":
        vectors = [base64.b64encode(struct.pack(f"<{len(each)}f", *each)).decode() for each in vectors]
    data = [{"object": "embedding", "index": at, "embedding": each} for at, each in enumerate(vectors)]
    taken = {"prompt_tokens": model.read - before, "total_tokens": model.read - before}
    return 200, {"object": "list", "model": NAME, "data": data, "usage": taken}
