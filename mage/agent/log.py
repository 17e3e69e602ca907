"""The log of a run: the notes that an agent's run leaves in the journal of its session, between its commands.

A note has an answer, or an operation that is about to begin; a command of the run is marked in its meta (`RUN`). So
the journal alone has, in order, every answer that the program of the run received. The program can run again over
the journal, without a model, to the same state (`mage.agent.replay`).

    began        a run begins here: its policy, its token counter, the tools and the manual of its environment
    decided      the model's answer, or why there is none; likewise summarized, chapter (of the summarizer), judged,
                 verdict (of a judge in the background), started and restored (of the environment)
    acting       an action is about to be performed; its result is the next step, or act_failed. A step without this
                 note before it is a note of the model
    again        an action that was interrupted is about to be performed once more
    restoring    the environment is about to be restored
    conflict     a command was not recorded, because another writer's command came first
    taken        the program has read the commands of other writers, up to a version
    policy       another policy is in force from here on
    remembered   the value of `Agent.run(remember=...)` from here on; at any place, because the program never reads it
    resumed      a new process has restored the environment to where the run stands
    ended        the outcome of the run, unless the run was resumed
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, final, get_args, get_origin

import attrs

from mage.chat import sent_as
from mage.effects import (
    ActionEffect,
    Capabilities,
    Decision,
    Divergence,
    EffectError,
    EffectFault,
    Metered,
    Mode,
    NotRestored,
    Observed,
    Restored,
    Then,
    Tool,
    Usage,
)
from mage.engine import State, StepId, Verdict
from mage.engine.errors import MageError
from mage.memory.journal import OBSERVED, RUN, BadEffect, Tally
from mage.memory.policy import BadPolicy, KindOfCall, Policy
from mage.memory.requests import Uncertain
from mage.render import Meter
from mage.session import Entry, Noted
from mage.tokens import BadCounter, TokenCounter, counter_named

try:
    from cattrs import Converter
    from cattrs.errors import BaseValidationError
    from cattrs.strategies import configure_tagged_union
except ModuleNotFoundError as missing:
    if missing.name != "cattrs":
        raise
    raise ModuleNotFoundError(
        "mage.agent needs its extra: pip install 'mage-state[agent]'", name="cattrs"
    ) from None

BEGAN: Final = "began"
PROGRAM: Final = 6
"""The version of the program: raised by a change after which the program no longer follows older logs."""


@final
class BadRunLog(MageError, ValueError):
    """The log of a run cannot be read: the message says which note, and why."""


@final
@attrs.define
class RunDiverged(MageError):
    """The program of a run asks for something else than the next note or command of its log.

    Attributes:
        version: the version of the journal at which they differ.
        asked: the kind of note or command that the program asks for.
        found: the kind that the log has there.
    """

    version: int
    asked: str
    found: str

    def __str__(self) -> str:
        return (
            f"version {self.version} of the journal holds {self.found!r}, where the run asks for {self.asked!r}:"
            " the run was recorded by another version of mage, or its journal was changed. Begin a new run there"
            " (anew=True)"
        )


@final
@attrs.frozen
class RunNote:
    """A note of a run.

    Attributes:
        kind: as in the table above.
        data: its JSON object. `Any`, because `require_sound` checks the values before they are read.
        version: the version of the journal that the note made; 0 where unknown.
    """

    kind: str
    data: Mapping[str, Any]
    version: int = 0


def encoded(data: Mapping[str, object]) -> str:
    """Return the JSON text of a note: ASCII, keys sorted."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def note_of(noted: Noted) -> RunNote:
    """Return a note of a journal as a note of a run. Cost: O(length of the note).

    Raises:
        BadRunLog: the note is no JSON object.
    """
    try:
        data = json.loads(noted.note.text)
    except (ValueError, RecursionError):  # nested deeper than any note that mage writes
        data = None
    if not isinstance(data, dict):
        raise BadRunLog(
            f"the note {noted.note.kind!r} at version {noted.version} is no JSON object: it was redacted, or is no"
            " note of a run"
        )
    return RunNote(noted.note.kind, data, noted.version)


# -- the types of notes that are no answers ----------------------------------------------------------------


@final
@attrs.frozen
class Failure:
    """The fields of the `EffectError` of a question without an answer."""

    fault: EffectFault
    detail: str
    usage: Usage
    retry_after: float | None = None
    shorter_may_help: bool = False
    model: str = ""


@final
@attrs.frozen
class Kept:
    """The part of an `Observed` that the meta of a step has: all but its text and parts."""

    uncertain: bool = False
    over: bool = False
    instructions: tuple[str, ...] = ()
    effect: ActionEffect | None = None


@final
@attrs.frozen
class Began:
    """`began`. `Policy.of` reads its policy; `remembered` is any JSON that the host gave. Hence `Any` in both."""

    program: int
    policy: dict[str, Any]
    counter: str
    overhead: int
    judged: bool
    mode: Mode | None = None
    tools: tuple[Tool, ...] = ()
    manual: str = ""
    remembered: dict[str, Any] = attrs.field(factory=dict)


@final
@attrs.frozen
class Acting:
    """`acting`: the action, the step before it, and whether the environment foresaw that its effect lasts."""

    action: str
    after: int
    lasts: bool = False


@final
@attrs.frozen
class Counting:
    """`counting`: from here on, the tokens of the fixed text of every call, and the mode of the model's replies."""

    overhead: int
    mode: Mode | None = None


@final
@attrs.frozen
class Again:
    """`again`: the action that is about to be performed once more."""

    action: str


@final
@attrs.frozen
class Restoring:
    """`restoring`: how many steps are undone."""

    steps: int


@final
@attrs.frozen
class Taken:
    """`taken`: the version up to which the commands of other writers were read."""

    version: int


@final
@attrs.frozen
class Conflicted:
    """`conflict`: the result of an action whose step was not recorded. The meta of the command stands beside it.

    With `instead` the action was not even performed.
    """

    observation: str = ""
    observed: Kept | None = None
    instead: Literal["act", ""] = ""


@final
@attrs.frozen
class Ended:
    """`ended`: the outcome, with the fields of `mage.memory.policy.outcome_document`."""

    outcome: Literal["finished", "stopped", "failed"]
    reason: str
    steps: int
    summaries: int
    revisions: int
    tokens: dict[str, Usage]
    models: dict[str, Usage]
    answer: str = ""
    detail: str = ""


# -- values as JSON, by cattrs: each union is tagged with the name of its class -----------------------------

_PLAIN: Final[Mapping[type, tuple[type, ...]]] = {
    str: (str,),
    int: (int,),
    bool: (bool,),
    float: (int, float),
}
"""By plain type, the types of JSON values that are read as it."""


def _converter() -> Converter:
    """Return the converter. It converts no value to another type, so that `null` does not become the text "None"."""
    made = Converter(omit_if_default=True, forbid_extra_keys=True)
    for exact, kinds in _PLAIN.items():
        made.register_structure_hook(exact, _only(exact, kinds))
    made.register_structure_hook_factory(_is_a_tuple, _of_a_list)
    made.register_structure_hook(StepId | int, lambda given, _: made.structure(given, int))
    made.register_structure_hook(
        StepId | int | None, lambda given, _: None if given is None else made.structure(given, int)
    )
    made.register_structure_hook(Tool, lambda given, _: Tool(**given))
    made.register_unstructure_hook(Tool, lambda tool: attrs.asdict(tool, recurse=False))
    for union in (Then, Verdict, ActionEffect, Restored | NotRestored):
        configure_tagged_union(union, made, tag_name="is")
        _make_optional(made, union)
    return made


def _only(exact: type, kinds: tuple[type, ...]) -> Callable[[object, object], object]:
    """Return a hook that accepts only values of exactly these types: `true` is no number."""

    def read(given: object, _: object) -> object:
        if type(given) not in kinds:
            raise TypeError(f"{type(given).__name__} is no {exact.__name__}")
        return given

    return read


def _is_a_tuple(kind: Any) -> bool:  # Any: cattrs asks with whatever type it meets
    origin: object = get_origin(kind)
    return origin is tuple


def _of_a_list(kind: Any, made: Converter) -> Callable[[object, object], object]:  # Any: a `tuple[X, ...]`
    """Return a hook that accepts lists and no other iterable: a text is no list of its letters."""
    each = get_args(kind)[0]
    hook = made.get_structure_hook(each)

    def read(given: object, _: object) -> object:
        if not isinstance(given, list):
            raise TypeError(f"{type(given).__name__} is no list")
        return tuple([hook(one, each) for one in given])

    return read


def _make_optional(made: Converter, union: Any) -> None:  # Any: a union is no type
    """Register `union | None`, which cattrs treats as another union."""
    made.register_structure_hook(
        union | None, lambda given, _: None if given is None else made.structure(given, union)
    )
    made.register_unstructure_hook(
        union | None, lambda given: None if given is None else made.unstructure(given, union)
    )


_CONVERTER: Final = _converter()
_NOTES: Final[Mapping[str, Any]] = {  # Any: cattrs accepts unions, which are no `type`
    "began": Began,
    "decided": Decision,
    "judged": Verdict,
    "verdict": Verdict,
    "summarized": str,
    "chapter": str,
    "started": Observed,
    "restored": Restored | NotRestored,
    "resumed": Restored | NotRestored,
    "acting": Acting,
    "counting": Counting,
    "again": Again,
    "restoring": Restoring,
    "conflict": Conflicted,
    "taken": Taken,
    "ended": Ended,
}
"""By kind, the type of a note's data; for an answer, the type of its value."""
_VALUES: Final[Mapping[str, Any]] = {  # Any: as above
    "observed": Kept,
    "failed": Failure,
    "text": str,
    "effect": ActionEffect,
    "usage": Usage,
    "divergence": Divergence,
}
"""By name, the type of a value inside a note or in the meta of a step."""
_TYPES: Final = {**_NOTES, **_VALUES}
KINDS: Final = frozenset((*_NOTES, "policy", "remembered", "act_failed"))
"""The kinds of the notes of a run. `_TYPES` lacks the last three: `policy` and `act_failed` have their own decoders."""
_OF_AN_ANSWER: Final = frozenset(("value", "usage", "model", "prompt"))
_OF_A_CONFLICT: Final = tuple(attrs.fields_dict(Conflicted))


def encode(kind: str, value: object) -> Any:  # Any: JSON, whose type follows from `kind`
    """Return a value as JSON."""
    return _CONVERTER.unstructure(value, _TYPES[kind])


def decode(kind: str, document: object) -> Any:  # Any: its type follows from `kind`
    """Return the value of a JSON document, of the type that belongs to `kind`.

    Raises:
        BadRunLog: the document is no such value.
    """
    try:
        return _CONVERTER.structure(document, _TYPES[kind])
    except (BaseValidationError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadRunLog(f"a run's log holds no {kind!r} that can be read ({type(error).__name__})") from error


def encode_answer(kind: str, answer: Metered[Any]) -> dict[str, object]:
    """Return an answer and its usage as JSON."""
    said: dict[str, object] = {"value": encode(kind, answer.value), "usage": encode("usage", answer.usage)}
    named = {"model": answer.model, "prompt": answer.prompt_hash}
    return {**said, **{name: value for name, value in named.items() if value}}


def decode_answer(
    kind: str, data: Mapping[str, Any]
) -> Metered[Any]:  # Any: the type of its value follows from `kind`
    """Return the answer of a note.

    Raises:
        BadRunLog: the note has no answer, or a field that no answer has.
    """
    unknown = sorted(data.keys() - _OF_AN_ANSWER)
    if unknown:
        raise BadRunLog(f"a run's log holds no {kind!r} that can be read: an answer has no {unknown[0]!r}")
    return Metered(
        decode(kind, data.get("value")),
        decode("usage", data.get("usage", {})),
        decode("text", data.get("model", "")),
        decode("text", data.get("prompt", "")),
    )


def encode_failure(error: EffectError) -> dict[str, object]:
    """Return as JSON why there is no answer."""
    failure = Failure(
        error.fault,
        error.detail,
        error.usage,
        error.retry_after,
        bool(error.shorter_may_help),  # the error is another's, who may have left these two as they came
        error.model or "",
    )
    return {"failed": encode("failed", failure)}


def decode_failure(data: Mapping[str, object]) -> EffectError | None:
    """Return why a note has no answer; None where it has one.

    Raises:
        BadRunLog: the failure in the note cannot be read, or is not its only field.
    """
    if "failed" not in data:
        return None
    if len(data) > 1:
        raise BadRunLog("a run's log holds no 'failed' that can be read: something stands beside it")
    return EffectError(**attrs.asdict(decode("failed", data["failed"]), recurse=False))


def decode_policy(document: object) -> Policy:
    """Return a policy.

    Raises:
        BadRunLog: the document is no policy.
    """
    try:
        return Policy.of(document)
    except BadPolicy as error:
        raise BadRunLog(f"a run's log holds no 'policy' that can be read: {error}") from error


def decode_observed(text: str, meta: Mapping[str, object]) -> Observed | Uncertain | None:
    """Return the environment's answer from a step's observation and meta; None where the meta has none.

    Raises:
        BadRunLog: the answer in the meta cannot be read.
    """
    said = meta.get(OBSERVED)
    if not isinstance(said, dict):
        return None
    kept: Kept = decode("observed", said)
    if kept.uncertain:
        return Uncertain(kept.effect)
    return Observed(text, over=kept.over, instructions=kept.instructions, effect=kept.effect)


def require_sound(note: RunNote) -> None:
    """Check that all values of a note have the types that belong to its kind.

    Raises:
        BadRunLog: a value has another type, or the kind is unknown.
    """
    match note.kind:
        case "policy":
            decode_policy(note.data)
        case "remembered":
            pass  # any JSON object
        case "conflict":  # with the meta of the command that was not recorded
            decode("conflict", {name: note.data[name] for name in _OF_A_CONFLICT if name in note.data})
        case "acting" | "again" | "restoring" | "taken" | "resumed" | "counting" | "ended":
            decode(note.kind, note.data)
        case "decided" | "summarized" | "chapter" | "judged" | "verdict" | "started" | "restored":
            if decode_failure(note.data) is None:
                decode_answer(note.kind, note.data)
        case "act_failed" if decode_failure(note.data) is not None:
            pass
        case _:
            raise BadRunLog(f"a run's log holds no {note.kind[:40]!r}, or not so")


# -- a run in the journal of its session ----------------------------------------------------------------------


@final
@attrs.frozen
class RecordedRun:
    """A run, read from the journal of its session.

    Attributes:
        version: the version of the journal that its `began` made.
        policy: the policy at its beginning.
        counter: counts its tokens.
        overhead: tokens of the system prompt and the tool schemas at its beginning.
        mode: how its model replies, and so how a step is sent to it; None where the model does not say.
        judged: whether it began with a judge.
        introduced: the environment's tools and manual, as the model was told them.
        remembered: the newest value of `Agent.run(remember=...)`.
        state: the state of the session at its beginning.
        tally: what the journal says of revisions and effects up to its beginning.
        log: its notes except `remembered`, and the commands of all writers since then, in order.
        interrupted: the action during which an earlier run of this journal was interrupted; empty where none was.
    """

    version: int
    policy: Policy
    counter: TokenCounter
    overhead: int
    judged: bool
    introduced: Capabilities
    remembered: Mapping[str, object]
    state: State
    tally: Tally
    log: Sequence[RunNote | Entry]
    interrupted: str = ""
    mode: Mode | None = None

    @property
    def meter(self) -> Meter:
        """The meter for the tokens of S, each step counted as it is sent to the model."""
        return self.meter_in(self.mode)

    def meter_in(self, mode: Mode | None) -> Meter:
        """Return the meter for a model that replies in another mode."""
        if mode is None:
            return Meter(self.counter)
        return Meter(self.counter, sent_as(mode, self.introduced.tools))

    @property
    def last_policy(self) -> Policy:
        """The newest policy of the run."""
        notes = (each for each in reversed(self.log) if isinstance(each, RunNote) and each.kind == "policy")
        note = next(notes, None)
        return self.policy if note is None else decode_policy(note.data)

    @property
    def answers(self) -> Mapping[KindOfCall, int]:
        """How many answers of each kind the log has, unusable ones included. Cost: O(log)."""
        found = Counter(each.kind for each in self.log if isinstance(each, RunNote))
        judged = found["judged"] + found["verdict"]
        written = found["summarized"] + found["chapter"]
        return {"model": found["decided"], "judge": judged, "summarizer": written}


def is_of_a_run(noted: Entry | Noted) -> bool:
    """Tell whether a record is a note of a run; notes of other writers have other kinds."""
    return isinstance(noted, Noted) and noted.note.kind in KINDS


def find_run(log: Sequence[Entry | Noted], counter: TokenCounter | None = None) -> RecordedRun | None:
    """Return the newest run of a journal; None where there is none. Cost: O(replaying the commands before it).

    Args:
        log: the whole log of a session.
        counter: counts the tokens of the run, if the run names this counter.

    Raises:
        BadRunLog: the run cannot be read, or was recorded by another version of mage.
        MissingTokenizer: the counter that the run names is not installed.
    """
    for place in range(len(log) - 1, -1, -1):
        each = log[place]
        if isinstance(each, Noted) and each.note.kind == BEGAN:
            return _found(each, log[:place], log[place + 1 :], counter)
    return None


def _found(
    begin: Noted,
    before: Sequence[Entry | Noted],
    after: Sequence[Entry | Noted],
    counter: TokenCounter | None,
) -> RecordedRun:
    note = note_of(begin)
    if note.data.get("program") != PROGRAM:
        raise BadRunLog(
            f"the run that was begun at version {begin.version} was recorded by another version of mage: begin a"
            " new one there (anew=True)"
        )
    said: Began = decode(BEGAN, note.data)
    if counter is None or counter.name != said.counter:
        counter = _counter_of(said.counter)
    tally = Tally()
    try:
        state = tally.add_all([each for each in before if isinstance(each, Entry)], None)
    except BadEffect as error:
        raise BadRunLog(str(error)) from error
    assert state is not None  # a journal begins with a `Start`, before any note
    log: list[RunNote | Entry] = []
    remembered: Mapping[str, object] = said.remembered
    for each in after:
        if isinstance(each, Entry):
            log.append(each)
        elif is_of_a_run(each) and each.note.kind != "remembered":
            log.append(note_of(each))
        elif is_of_a_run(each):  # the program does not read `remembered`
            remembered = note_of(each).data
    return RecordedRun(
        begin.version,
        decode_policy(said.policy),
        counter,
        said.overhead,
        said.judged,
        Capabilities(tools=said.tools, manual=said.manual),
        remembered,
        state,
        tally,
        log,
        _interrupted(before),
        said.mode,
    )


def _interrupted(before: Sequence[Entry | Noted]) -> str:
    """Return the action whose result an earlier run of the journal did not record; empty where there is none."""
    for each in reversed(before):
        if isinstance(each, Entry) and RUN in each.meta:
            return ""
        if is_of_a_run(each) and isinstance(each, Noted) and each.note.kind != "resumed":
            is_acting = each.note.kind in ("acting", "again")
            return str(note_of(each).data.get("action", "")) if is_acting else ""
    return ""


def _counter_of(name: str) -> TokenCounter:
    """Return the counter that a run names: a run keeps its counter, so that its prompts stay the same.

    Raises:
        MissingTokenizer: the counter needs a package that is not installed.
        BadRunLog: there is no such counter.
    """
    try:
        return counter_named(name)
    except BadCounter:
        raise BadRunLog(
            f"the run counts tokens as {name!r}: give the agent that counter, as when the run was begun"
        ) from None


def began_note(
    policy: Policy,
    counter: TokenCounter,
    counting: Counting,
    introduced: Capabilities,
    *,
    judged: bool,
    remembered: Mapping[str, object],
) -> str:
    """Return the text of `began`; the fields are those of a `RecordedRun`."""
    said = Began(
        *(PROGRAM, policy.document(), counter.name, counting.overhead, judged, counting.mode),
        tools=introduced.tools,
        manual=introduced.manual,
    )
    document = encode(BEGAN, said)
    if remembered:  # any JSON of the host's, however deep: it is written as it is
        document["remembered"] = dict(remembered)
    return encoded(document)
