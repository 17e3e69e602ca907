"""A client for an implementation in another language: a process that answers in JSON Lines (PROTOCOL.md)."""

from __future__ import annotations

import os
import subprocess
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import IO, Final, NoReturn, final

from mage.codec.strict_json import Problem, short
from mage.engine import MageError
from specs.conformance.implementation import Answer, Implementation, Request
from specs.conformance.protocol import FORGET, Show, is_forgotten, read_answer, write_request

_BATCH: Final = 512
"""Requests that are sent before the first of their answers is read."""
_CHUNK: Final = 1 << 16


class _Failed(MageError):
    """The process did not keep to the protocol.

    Attributes:
        request: the line that it was sent.
        problem: what it did.
    """

    def __init__(self, request: bytes, problem: str) -> None:
        self.request = request
        self.problem = problem
        super().__init__(request, problem)

    def __str__(self) -> str:
        return f"{self.problem}, after the request {short(self.request.decode())}"


@final
class NoAnswer(_Failed):
    """The process ended, or was silent for too long, with a request unanswered."""


@final
class BadAnswer(_Failed):
    """The process answered what is no answer to the request, such as an error or a line that is not JSON."""


@final
class JsonLines(Implementation):
    """An implementation in a process of its own, which reads requests and writes answers.

    Use it as a context manager, or call `close`. Its standard error is left alone. What it reads and writes
    goes through two threads, so that neither side can wait for the other to read.
    """

    def __init__(self, argv: Sequence[str], *, timeout: float = 30.0, startup: float = 120.0) -> None:
        """Start the process and wait until it answers, so that no request pays for its start.

        Args:
            argv: the program and its arguments.
            timeout: seconds that it may be silent while an answer is due.
            startup: seconds that it may be silent at first.

        Raises:
            OSError: it cannot be started.
            NoAnswer, BadAnswer: it ended, is silent, or does not answer as PROTOCOL.md says.
        """
        self._process = subprocess.Popen(
            list(argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )  # what to run is the caller's to say
        if self._process.stdin is None or self._process.stdout is None:
            raise OSError("the process has no pipes")
        self._timeout = startup
        self._outgoing: SimpleQueue[bytes | None] = SimpleQueue()
        self._incoming: SimpleQueue[bytes] = SimpleQueue()
        self._unanswered: deque[bytes] = deque()
        self._received = 0
        self._lines: deque[bytes] = deque()
        self._cut = b""
        self._ended = False
        self._threads = (
            threading.Thread(target=_write, args=(self._process.stdin, self._outgoing), daemon=True),
            threading.Thread(target=_read, args=(self._process.stdout, self._incoming), daemon=True),
        )
        for thread in self._threads:
            thread.start()
        try:
            self._receive(self._send([FORGET]))
        except MageError:
            self.close()
            raise
        self._timeout = timeout

    def __enter__(self) -> JsonLines:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def apply(self, request: Request) -> Answer:
        """Carry out one command.

        Raises:
            NoAnswer, BadAnswer: the process ended, is silent, or said something else.
            NotText, UnknownName: the command cannot be written, as `mage.codec.encode_command`.
        """
        return next(self.apply_many([request]))

    def apply_many(self, requests: Iterable[Request]) -> Iterator[Answer]:
        """Send commands without waiting for answers, at once as far as a batch goes; yield their answers.

        Whoever does not want the rest of the answers need not read them.

        Raises:
            NoAnswer, BadAnswer, NotText, UnknownName: as `apply`, at the answer or the command at fault.
        """
        lines = [write_request(request) for request in requests]
        first = self._send(lines[:_BATCH])
        return self._answers(lines, first)

    def _answers(self, lines: list[bytes], first: int) -> Iterator[Answer]:
        for place, line in enumerate(lines):
            if place and place % _BATCH == 0:
                first = self._send(lines[place : place + _BATCH])
            read = read_answer(found := self._receive(first + place % _BATCH))
            if isinstance(read, Problem):
                raise BadAnswer(line, f"the process answered {short(repr(found))}: {read.path}{read.text}")
            yield read

    def show(self, state: int) -> bytes:
        """Return the line that the process shows a state with.

        Raises:
            NoAnswer, BadAnswer: the process ended, is silent, or said that there is no such state.
        """
        line = write_request(Show(state))
        shown = self._receive(self._send([line]))
        if shown.startswith(b'{"error"'):
            raise BadAnswer(line, f"the process answered {short(repr(shown))}")
        return shown

    def forget(self) -> None:
        """Drop all states; numbers begin anew. Its answer is looked at when the next one is read."""
        self._send([FORGET])

    def close(self) -> None:
        """End the process: it has a moment to end by itself when there is nothing more to read."""
        self._outgoing.put(None)
        try:
            self._process.wait(timeout=min(self._timeout, 5.0))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _send(self, lines: list[bytes]) -> int:
        """Send requests; return the number of the first, which is that of its answer."""
        if self._lines and not self._unanswered:
            raise BadAnswer(b"", f"the process said {short(repr(self._lines[0]))}, which nobody asked for")
        number = self._received + len(self._unanswered)
        self._unanswered.extend(lines)
        self._outgoing.put(b"".join([line + b"\n" for line in lines]))
        return number

    def _receive(self, number: int) -> bytes:
        """Return the answer with this number; those before it that nobody read are dropped."""
        if number < self._received:
            raise LookupError(f"answer {number} was dropped: another request was made since")
        while self._received < number:
            self._next()
        return self._next()

    def _next(self) -> bytes:
        while not self._lines:
            self._read_more()
        request, line = self._unanswered.popleft(), self._lines.popleft()
        self._received += 1
        if request == FORGET and not is_forgotten(line):
            raise BadAnswer(request, f"the process answered {short(repr(line))}")
        return line

    def _read_more(self) -> None:
        try:
            chunk = b"" if self._ended else self._incoming.get(timeout=self._timeout)
        except Empty:
            self._process.kill()
            self._fail(f"the process was silent for {self._timeout:g} s")
        if not chunk:
            self._ended = True
            self._fail(f"the process ended with status {self._process.wait()}")
        *lines, self._cut = (self._cut + chunk).split(b"\n")
        self._lines.extend(lines)

    def _fail(self, problem: str) -> NoReturn:
        raise NoAnswer(self._unanswered[0], problem)


def _write(pipe: IO[bytes], queue: SimpleQueue[bytes | None]) -> None:
    """Write what is in the queue until it says None, or nobody reads any more."""
    try:
        with pipe:
            while (lines := queue.get()) is not None:
                pipe.write(lines)
                pipe.flush()
    except OSError:  # the process has ended; whoever waits for its answer is told so
        return


def _read(pipe: IO[bytes], queue: SimpleQueue[bytes]) -> None:
    """Put what comes into the queue; nothing is at its end."""
    while chunk := os.read(pipe.fileno(), _CHUNK):
        queue.put(chunk)
    queue.put(b"")
