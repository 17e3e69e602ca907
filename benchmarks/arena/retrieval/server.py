"""MemoryArena's memory server interface: a client for anybody's server, and a server for every system here.

    POST /memory/initialize        {user_id, memory_system_name}             an empty memory for this user
    POST /memory/add               {user_id, memory_system_name, chunk}
    POST /memory/wrap_user_prompt  {user_id, memory_system_name, question}   {prompt}

A client takes a name that nobody has for each task, so that no memory is met by two. A reply may say what the system
has taken, `"usage": {"prompt_tokens": ..., "completion_tokens": ...}`, which is counted, and which models have written
for it so far, `"models": ["..."]`, as the server here does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Final, final

from benchmarks.arena.retrieval.attached import Remembers, Spent, WriteRefused
from benchmarks.arena.retrieval.wire import Address, JsonServer, NoAnswer, post
from mage.effects import Usage

_REFUSING: Final = (400, 413, 422)
"""Statuses by which a server says that it does not take a text."""


@final
class Remote:
    """A memory behind a server, as one user of it. It is made at the first call.

    Attributes:
        models: which models have written, where the server says so.
    """

    def __init__(self, url: str, name: str, user: str) -> None:
        """Take the server's URL, the name that it has for the system, and a name that no other task has."""
        self._address = Address.of(url)
        self._named = {"user_id": user, "memory_system_name": name}
        self.models: set[str] = set()
        self._is_begun = False
        self._spent = Spent()

    def spent(self) -> Spent:
        """Return what the server says that the system has taken."""
        return self._spent

    def add_chunk(self, chunk: str, /) -> None:
        """Write a trace.

        Raises:
            WriteRefused: the server does not take this text.
            NoAnswer: it cannot be reached, or has failed.
        """
        self._begin()
        try:
            self._post("add", chunk=chunk)
        except NoAnswer as error:
            raise WriteRefused(error.reason) if error.status in _REFUSING else error from None

    def wrap_user_prompt(self, question: str, /) -> str:
        """Return what the server makes of a question.

        Raises:
            NoAnswer: it cannot be reached, has failed, or its reply has no prompt.
        """
        self._begin()
        prompt = self._post("wrap_user_prompt", question=question).get("prompt")
        if not isinstance(prompt, str):
            raise NoAnswer("the server's reply to a question has no text `prompt`")
        return prompt

    def _begin(self) -> None:
        if not self._is_begun:
            self._post("initialize")
            self._is_begun = True

    def _post(self, what: str, **more: str) -> dict[str, Any]:  # Any: JSON
        reply = post(self._address, f"/memory/{what}", {**self._named, **more})
        usage = reply.get("usage")
        if isinstance(usage, dict):
            self._spent = Spent(self._spent.usage + _usage(usage))
        models = reply.get("models")
        self.models.update(map(str, models if isinstance(models, list) else ()))
        return reply


def _usage(said: dict[str, Any]) -> Usage:
    prompt, completion = said.get("prompt_tokens"), said.get("completion_tokens")
    counts = [each if isinstance(each, int) and each > 0 else 0 for each in (prompt, completion)]
    return Usage(*counts) if any(counts) else Usage(calls=0)


# -- a server -----------------------------------------------------------------------------------------------


@final
class MemoryServer:
    """A server of one memory system, for any number of users, one call at a time.

    Attributes:
        url: its address.
    """

    def __init__(
        self,
        make: Callable[[str], Remembers],
        *,
        name: str,
        spent: Callable[[], Spent] = Spent,
        models: Callable[[], Iterable[str]] = tuple,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        """Bind a port.

        Args:
            make: makes an empty memory for a user.
            name: of the system.
            spent: returns what the system has taken so far.
            models: returns the names of the models that have written.
            host: where it listens.
            port: 0 for a free one.

        Raises:
            OSError: the port cannot be had.
        """
        self._make = make
        self._name = name
        self._spent = spent
        self._models = models
        self._users: dict[str, Remembers] = {}
        self._lock = threading.Lock()
        self._http = JsonServer((host, port), self.answer, lambda reason: {"error": reason})
        self.url = f"http://{host}:{self._http.server_address[1]}"

    def serve(self) -> None:
        """Serve until it is closed."""
        self._http.serve_forever(poll_interval=0.05)

    def close(self) -> None:
        """End `serve`, wherever it runs."""
        self._http.shutdown()
        self._http.server_close()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, object]]:
        """Return the status and the body for a request. Nothing that a system raises comes through."""
        user, name = body.get("user_id"), body.get("memory_system_name")
        if not isinstance(user, str) or not user:
            return 400, {"error": "`user_id` is no text"}
        if name not in (None, "", self._name):
            return 400, {"error": f"{self._name} is served here, and nothing else"}
        with self._lock:
            before = self._spent()
            try:
                status, said = self._carried_out(path, user, body)
            except WriteRefused as refused:
                status, said = 422, {"error": str(refused)}
            except Exception as error:  # whatever another's package raises: the server serves on
                status, said = 500, {"error": f"{self._name} failed: {type(error).__name__}: {error}"}
            taken = self._spent().since(before).usage
        if taken.calls:
            said["usage"] = {"prompt_tokens": taken.prompt, "completion_tokens": taken.completion}
        if models := sorted(self._models()):
            said["models"] = models
        return status, said

    def _carried_out(self, path: str, user: str, body: dict[str, Any]) -> tuple[int, dict[str, object]]:
        if path == "/memory/initialize":
            self._users[user] = self._make(user)
            return 200, {}
        memory = self._users.get(user)
        field = {"/memory/add": "chunk", "/memory/wrap_user_prompt": "question"}.get(path)
        if field is None:
            return 404, {
                "error": "what is served is /memory/initialize, /memory/add, /memory/wrap_user_prompt"
            }
        text = body.get(field)
        if memory is None:
            return 404, {"error": "this user has no memory: /memory/initialize makes one"}
        if not isinstance(text, str):
            return 400, {"error": f"`{field}` is no text"}
        if field == "chunk":
            memory.add_chunk(text)
            return 200, {}
        return 200, {"prompt": memory.wrap_user_prompt(text)}
