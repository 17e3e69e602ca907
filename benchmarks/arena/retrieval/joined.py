"""A named memory system put beside an agent: with all that it needs for one task, and what the row says of it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, MutableMapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, final

import attrs

from benchmarks.arena.domains.world import Rules
from benchmarks.arena.retrieval.attached import (
    Book,
    ByRules,
    Caps,
    Entry,
    Moment,
    Remembering,
    Remembers,
    Spent,
    summed,
    usage_of,
    windowed,
)
from benchmarks.arena.retrieval.catalogue import KINDS, SERVER, WINDOW, Chosen
from benchmarks.arena.retrieval.gateway import Gateway, models_at
from benchmarks.arena.retrieval.others import Lent
from benchmarks.arena.retrieval.server import Remote
from mage.effects import Model, Usage
from mage.tokens import TokenCounter

SCRIPTED: Final = "scripted"
"""A model whose name begins so has written nothing: it stands in for one in tests."""


@final
@attrs.frozen
class Needs:
    """What a memory system is run with, besides its parameters.

    Attributes:
        caps: the same for every system.
        model: the name of the model that writes; empty for none.
        base_url: where that is; None for what the environment says. It may hold a password, and stands in no result.
        seed: of what is drawn.
        account: the file that keeps the account of a run that may be resumed; None for none.
    """

    caps: Caps
    model: str = ""
    base_url: str | None = attrs.field(default=None, repr=False)
    seed: int = 0
    account: Path | None = None


@final
class Joined:
    """A memory system and the model that is shown what it chooses.

    Attributes:
        model: decides, for an agent that keeps every step.
    """

    def __init__(
        self,
        model: Model,
        chosen: Chosen,
        needs: Needs,
        rules: Rules[Any],  # Any: each domain has a state of its own
        counter: TokenCounter,
        stack: ExitStack,
    ) -> None:
        """Make an empty system, whose files and servers last as long as the stack.

        Raises:
            BadMemory: its packages are missing.
        """
        self._chosen, self._needs = chosen, needs
        self._models: set[str] = set()
        self._book: Book = {} if needs.account is None else Account(needs.account)
        caps = attrs.evolve(needs.caps, query=chosen.query)
        if chosen.name == WINDOW:
            self.model: Model = windowed(model, int(chosen.parameters["steps"]))
            return
        if chosen.name == SERVER:
            remote = Remote(chosen.url, str(chosen.parameters["name"]), _user())
            memory: Remembers = remote
            spent, self._models = remote.spent, remote.models
        else:
            gateway = opened(needs, counter, stack)
            memory = made(chosen, needs, gateway, _user(), stack)
            spent, self._models = gateway.spent, gateway.models
        self.model = Remembering(
            model, memory, ByRules(rules), counter, caps=caps, spent=spent, book=self._book, name=chosen.label
        )

    def usage(self) -> Usage:
        """Return the tokens of the models that the system has asked."""
        return usage_of(self._book)

    def document(self, *, acted: str) -> dict[str, object]:
        """Return as JSON what a row says of the system.

        Args:
            acted: who acted: a plan, a scripted reader, a model, or nobody, where no call was answered.
        """
        chosen = self._chosen
        said: dict[str, object] = {"name": chosen.name, "figures": self._figures(acted=acted)}
        said |= {"parameters": {**chosen.parameters, "query": chosen.query}, "versions": chosen.versions()}
        if chosen.name == WINDOW:
            return {**said, "parameters": dict(chosen.parameters)}
        caps = self._needs.caps
        said |= {"caps": {"handed": caps.handed, "shown": caps.shown}, **summed(self._book)}
        if chosen.writes:
            said["model"] = self._needs.model
        return said

    def _figures(self, *, acted: str) -> str:
        """Say what the figures of the row are worth."""
        if acted == "nobody":
            return "nothing: no call was answered"
        named = {*self._models, *({self._needs.model} if self._chosen.writes else ())}
        if any(not name or name.startswith(SCRIPTED) for name in named):
            return "plumbing only: no model wrote what was remembered"
        if acted == "plan":
            return "tokens only: a plan acted, which reads no memory"
        if acted == "reader":
            return "scripted reader: no model acted on what was remembered"
        if self._chosen.name == SERVER and not named:
            return "measured; whether a model wrote behind the server is not known"
        return "measured"


def opened(needs: Needs, counter: TokenCounter, stack: ExitStack) -> Gateway:
    """Return a gateway to the model that writes, if there is one; it is closed with the stack."""
    upstream = models_at(needs.base_url) if needs.model else None
    return stack.enter_context(Gateway(upstream, counter, needs.model))


def made(chosen: Chosen, needs: Needs, gateway: Gateway, user: str, stack: ExitStack) -> Remembers:
    """Return an empty system for a user; its files go with the stack.

    Raises:
        BadMemory: its packages are missing.
    """
    chosen.require()
    folder = stack.enter_context(TemporaryDirectory(prefix="arena-memory-", ignore_cleanup_errors=True))
    lent = Lent(gateway.url, needs.model, Path(folder), user, stack, needs.seed)
    return KINDS[chosen.name].make(lent, chosen.parameters)


def _user() -> str:
    return f"task-{uuid.uuid4().hex[:12]}"


# -- an account that lasts --------------------------------------------------------------------------------------


@final
class Account(MutableMapping[Moment, Entry]):
    """An account in a file, a line for each moment, so that a resumed run comes to what a run in one piece comes to."""

    def __init__(self, path: Path) -> None:
        """Read what is there; a line that was cut off by a kill is left out."""
        self._path = path
        self._entries: dict[Moment, Entry] = {}
        if path.exists():
            whole, _, _ = path.read_text(encoding="utf-8").rpartition("\n")
            for line in whole.splitlines():
                moment, entry = _read(json.loads(line))
                self._entries[moment] = entry
            path.write_text(whole + "\n" if whole else "", encoding="utf-8")

    def __getitem__(self, moment: Moment) -> Entry:
        return self._entries[moment]

    def __setitem__(self, moment: Moment, entry: Entry) -> None:
        self._entries[moment] = entry
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([list(moment), attrs.asdict(entry)]) + "\n")

    def __delitem__(self, moment: Moment) -> None:
        raise TypeError("what was paid stays in an account")

    def __iter__(self) -> Iterator[Moment]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def _read(line: Any) -> tuple[Moment, Entry]:
    (what, place), said = line
    spent = said.pop("spent")
    taken = Spent(Usage(**spent.pop("usage")), **spent)
    return ("write" if what == "write" else "ask", place), Entry(**said, spent=taken)
