"""Logs of Codex: `~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl`, lines of `{timestamp, type, payload}`.

A `response_item` is what the model saw or said; an `event_msg` mirrors it for the screen, but for one that says that the
user went back. A compaction of newer clients is encrypted: its text is for the server alone, and an extract of ours
stands in its place, which says so. A subagent has a file of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from mage.chat import canonical, content_of
from mage.chat.messages import list_of, mapping_of, string_of
from mage.engine import Start
from mage.trajectories.coding import Cut, Place, Reply, Walk, beside, history, micros, told
from mage.trajectories.messages import Call
from mage.trajectories.trajectory import (
    Entry,
    Made,
    Oddities,
    Spot,
    Steps,
    Trajectory,
    entry_at,
    made_of,
    shortened,
)

_TYPES: Final = frozenset({"session_meta", "response_item", "turn_context", "event_msg", "compacted"})
_CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
_RESULTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})
_OF_THE_CLIENT: Final = (
    *("<environment_context>", "<permissions instructions>", "<user_instructions>", "<turn_aborted>"),
    *("<skill>", "# AGENTS.md"),
)
"""How what the client itself puts among the user's words begins."""
CLIENT: Final = "codex"


def is_codex(document: Spot) -> bool:
    """Tell whether a file looks like such a log: some record of it has a payload and a known type."""
    return any(
        record.has("payload") and string_of(mapping_of(record.value).get("type")) in _TYPES
        for record in (document, *document.records)
    )


def load_codex(document: Spot, stem: str, steps: Steps) -> tuple[Trajectory, ...]:
    """Return one trajectory, named `stem`.

    A step is a reply, and what came back is its observation: all that the model said and called until a result comes,
    or a person speaks; with `steps="tools"` each call with its result. The user's first words are the task, all others
    a step without an action; what the client says in the user's name is left out. Where the user went back, the tree
    does (`mage.trajectories.coding`). A compaction is a fallback summary, accepted without a verdict.
    """
    log = _Log(steps)
    for spot in document.records or [document]:
        log.read(spot)
    log.end()
    about = beside(log.begun, client=CLIENT, **log.about)
    begin = Made(Start(log.task), log.asked, about)
    made = history(begin, [*log.left, log.path], log.odd)
    cut = any(isinstance(place.made, Cut) for path in (*log.left, log.path) for place in path)
    return (made_of(stem, made, summarized=cut, remarks=log.odd.remarks),)


@final
class _Log:
    """A log that is being read: the path where it stands, and those that were left."""

    def __init__(self, steps: Steps) -> None:
        self.odd = Oddities()
        self.task = ""
        self.asked: tuple[Entry, ...] = ()
        self.begun: int | None = None
        self.about: dict[str, object] = {}
        self.path: list[Place] = []
        self.left: list[Walk] = []
        self._steps: Steps = steps
        self._heard: list[int] = []  # how many places stood before each word of a person
        self._reply: Reply | None = None
        self._model: object = None

    def read(self, spot: Spot) -> None:
        """Take in a record. Whatever it is, nothing is raised."""
        record = mapping_of(spot.value)
        payload = mapping_of(record.get("payload"))
        at, kind, inner = micros(record.get("timestamp")), record.get("type"), payload.get("type")
        if kind == "session_meta":
            self._begin(payload)
        elif kind == "turn_context":
            self._model = payload.get("model")
        elif kind == "compacted":
            self._compact(payload, at, spot)
        elif kind == "event_msg" and inner == "thread_rolled_back":
            self._go_back(payload.get("num_turns"), spot)
        elif kind == "event_msg":  # a mirror of what stands elsewhere
            if inner == "token_count" and self._reply is not None:
                self._reply.log["usage"] = mapping_of(payload.get("info")).get("last_token_usage")
        elif kind == "response_item":
            self._item(payload, at, spot)
        else:
            self._skip(string_of(kind) or "no type", spot)

    def _skip(self, kind: str, spot: Spot) -> None:
        self.odd.note(f"a record of the type {shortened(kind)!r}, left out", spot.path)

    def _begin(self, payload: Mapping[str, object]) -> None:
        named = {"session": "id", "folder": "cwd", "version": "cli_version", "forked": "forked_from_id"}
        if not self.about:  # a fork has that of its parent behind its own
            self.about = {name: payload[field] for name, field in named.items() if field in payload}

    def _item(self, item: Mapping[str, object], at: int | None, spot: Spot) -> None:
        kind, role = string_of(item.get("type")), string_of(item.get("role"))
        if kind == "message" and role == "user":
            self._hear(content_of(item.get("content")).text, at, spot)
        elif kind == "message" and role == "assistant":
            self._replying(at, spot).say(content_of(item.get("content")))
        elif kind == "reasoning":
            self._replying(at, spot).say(content_of([item]))
        elif kind in _CALLS:
            self._call(item, at, spot)
        elif kind in _RESULTS:
            self._return(item, spot)
        else:
            self._skip(f"response_item ({role or kind or 'no type'})", spot)

    def _replying(self, at: int | None, spot: Spot) -> Reply:
        """Return the reply that goes on: a new one where something has come back since."""
        if self._reply is None or self._reply.after:
            self.end()
            self._reply = Reply(at, log={"model": self._model})
        self._reply.entries.append(entry_at(spot.path))
        return self._reply

    def _call(self, item: Mapping[str, object], at: int | None, spot: Spot) -> None:
        reply = self._replying(at, spot)
        given = next((item[name] for name in ("arguments", "input", "action") if item.get(name)), {})
        written = given if isinstance(given, str) else canonical(given)
        name = string_of(item.get("name")) or string_of(item.get("type"))
        key = string_of(item.get("call_id")) or string_of(item.get("id"))
        reply.calls.append(Call(name, written, key))

    def _return(self, item: Mapping[str, object], spot: Spot) -> None:
        key, given = string_of(item.get("call_id")), item.get("output")
        inside = mapping_of(given)
        found = content_of(inside.get("content", given) if inside else given)
        reply = self._reply or self._replying(None, spot)
        reply.answer(key, found, entry_at(spot.path), self.odd)

    def _hear(self, text: str, at: int | None, spot: Spot) -> None:
        """Take in what a person said."""
        if text.lstrip().startswith(_OF_THE_CLIENT):
            self._skip("response_item (of the client)", spot)
            return
        self.end()
        self._heard.append(len(self.path))
        entry = entry_at(spot.path)
        if not self.asked:
            self.task, self.asked, self.begun = text, (entry,), at
            return
        self.path.append(Place(entry.record, (told(text, entry, beside(at)),)))

    def end(self) -> None:
        """End the reply that is being read."""
        reply, self._reply = self._reply, None
        if reply is not None:
            self.path.append(Place(reply.entries[0].record, reply.made(self._steps, self.odd)))

    def _go_back(self, turns: object, spot: Spot) -> None:
        """Leave the path behind a word of a person, of so many from the last."""
        self.end()
        if not isinstance(turns, int) or isinstance(turns, bool) or turns < 1 or not self._heard:
            self._skip("event_msg (thread_rolled_back)", spot)
            return
        first = max(0, len(self._heard) - turns)
        self.left.append(list(self.path))
        del self.path[self._heard[first] :], self._heard[first:]

    def _compact(self, payload: Mapping[str, object], at: int | None, spot: Spot) -> None:
        self.end()
        kept = [mapping_of(item) for item in list_of(payload.get("replacement_history"))]
        texts = [content_of(item.get("content")).text for item in kept if item.get("type") == "message"]
        is_sealed = any(item.get("encrypted_content") for item in kept)
        text = string_of(payload.get("message")) or ("" if is_sealed or not texts else texts[-1])
        entry = entry_at(spot.path)
        self.path.append(Place(entry.record, Cut(text, entry, beside(at, sealed=is_sealed or None))))
