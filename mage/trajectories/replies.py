"""A reply of a model as the logs of coding agents have it, in several records, put together into the steps that it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import final

import attrs

from mage.chat import Content
from mage.trajectories.messages import Call, Said, Turn, steps_of
from mage.trajectories.paths import beside
from mage.trajectories.trajectory import Entry, Made, Oddities, Steps


@final
@attrs.define(eq=False)
class Reply:
    """A reply that is being put together.

    Attributes:
        at: when it began, in microseconds.
        entries: its records.
        said, thoughts: what it says beside its calls, in order.
        calls: its calls, in order.
        results: what came back, by the ids of the calls.
        after: what came back, in the order in which it came.
        parts: its images and files.
        log: what goes into the meta of its first step.
    """

    at: int | None
    entries: list[Entry] = attrs.field(factory=list)
    said: list[str] = attrs.field(factory=list)
    thoughts: list[str] = attrs.field(factory=list)
    calls: list[Call] = attrs.field(factory=list)
    results: dict[str, list[Said]] = attrs.field(factory=dict)
    after: list[Said] = attrs.field(factory=list)
    parts: dict[str, object] = attrs.field(factory=dict)
    log: dict[str, object] = attrs.field(factory=dict)

    def say(self, content: Content) -> None:
        """Take in a part of what it says."""
        self.said.append(content.text)
        self.thoughts += content.thoughts
        self.parts.update(content.parts)

    def answer(self, key: str, content: Content, entry: Entry, odd: Oddities) -> None:
        """Take in what came back from the call with an id."""
        name = next((call.name for call in self.calls if call.key == key), None)
        if name is None:
            odd.note("a result of no call before it, kept as an observation", entry)
        by = "tool (result of no call)" if name is None else f"tool {name}"
        said = Said(by, content.text, "loose" if name is None else "result", entry, content.parts)
        self.results.setdefault(key, []).append(said)
        self.after.append(said)

    def made(self, steps: Steps, odd: Oddities) -> tuple[Made, ...]:
        """Return its steps; one that only thought is none."""
        said = "\n".join(filter(None, self.said))
        action = "\n".join(filter(None, [said, *[call.action for call in self.calls]]))
        if not action and not self.after:
            odd.note("a thought without a reply, left out", self.entries[0])
            return ()
        results = tuple([tuple(self.results.get(call.key, ())) for call in self.calls])
        for result in results:
            if not result:
                odd.note("a tool call without a result", self.entries[0])
        thought = "\n".join(filter(None, self.thoughts))
        turn = Turn(
            *(action, tuple(self.calls), results, tuple(self.after)),
            self.entries[0],
            said,
            thought,
            self.parts,
        )
        kind: Steps = steps if self.calls else "messages"  # with nothing but words, it is a step either way
        return tuple(self._beside(steps_of([turn], kind, odd), kind))

    def _beside(self, steps: Iterable[Made], kind: Steps) -> Iterator[Made]:
        """Put beside its steps the ids of their calls, and beside the first what the log says of the reply."""
        ids = [call.key for call in self.calls]
        log = self.log
        for place, made in enumerate(steps):
            own: dict[str, object] = {}
            entries = made.entries
            if kind == "messages":
                entries = tuple(dict.fromkeys([*self.entries, *entries]))
                own = {"calls": ids} if ids else {}
            elif place < len(ids):
                own = {"call": ids[place]}
            yield Made(made.command, entries, {**beside(self.at, **log), **made.meta, **own})
            log = {}
