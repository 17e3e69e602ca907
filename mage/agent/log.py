"""The log of a run: the notes that an agent's run leaves in the journal of its session, between its commands.

A note holds what was answered, or what is about to be done; a command of the run is marked as such in its meta
(`RUN`). So the journal alone says, in order, all that the program of the run was told, and the program can be run
again over it, without a model, to the same state (`mage.agent.replay`).

    began        a run was begun here: its policy, what counts its tokens, what the model was told of the environment
    decided      the model's answer, or why there is none; likewise summarized, chapter (what a summarizer wrote),
                 judged, verdict (of a judge that thinks in the background), started and restored (of the environment)
    acting       an action is about to be performed; its result is the step that is grown next, or act_failed. A step
                 that is grown without it is a note that the model wrote down
    again        an action that was interrupted is about to be performed once more
    restoring    the environment is about to be restored
    conflict     a command was not recorded, because another writer's command came first
    taken        commands of other writers were taken, up to a version
    policy       another policy is in force from here on
    remembered   what `Agent.run(remember=...)` keeps from here on; it may stand anywhere, for the program never reads it
    resumed      the environment was restored to where the run stands, in a new process
    ended        the outcome of the run, unless it was resumed
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
"""The version of the program: it rises when a log of before would no longer be followed."""


@final
class BadRunLog(MageError, ValueError):
    """The log of a run cannot be read: the message says which note, and why."""


@final
@attrs.define
class RunDiverged(MageError):
    """The program of a run asks for something else than its log holds next.

    Attributes:
        version: of the journal, at which the log holds something else.
        asked: what the program asks for.
        found: what the log holds there.
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
        data: its JSON object. `Any`, because its values are checked by `require_sound` before they are read.
        version: of the journal, that the note made; 0 where that is not known.
    """

    kind: str
    data: Mapping[str, Any]
    version: int = 0


def encoded(data: Mapping[str, object]) -> str:
    """Return the JSON text of a note: ASCII, keys sorted."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def note_of(noted: Noted) -> RunNote:
    """Return a note of a journal as one of a run. Cost: O(its length).

    Raises:
        BadRunLog: it is none.
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


# -- the types of what notes hold beside answers -----------------------------------------------------------


@final
@attrs.frozen
class Failure:
    """Why there is no answer."""

    fault: EffectFault
    detail: str
    usage: Usage
    retry_after: float | None = None
    shorter_may_help: bool = False
    model: str = ""


@final
@attrs.frozen
class Kept:
    """What the meta of a step holds of an `Observed`: all but its text."""

    uncertain: bool = False
    over: bool = False
    instructions: tuple[str, ...] = ()
    effect: ActionEffect | None = None


@final
@attrs.frozen
class Began:
    """`began`. Its policy is read by `Policy.of`; `remembered` is whatever JSON the host gave. Hence `Any` in both."""

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
    """`acting`: the action, the step behind which it is performed, and whether the environment foresaw that it lasts."""

    action: str
    after: int
    lasts: bool = False


@final
@attrs.frozen
class Counting:
    """`counting`: from here on the fixed text that goes with every call takes so many tokens, and the model replies so."""

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
    """`taken`: up to which version."""

    version: int


@final
@attrs.frozen
class Conflicted:
    """`conflict`: what an action came to whose step was not recorded. The meta of the command stands beside this.

    With `instead` an action was not even performed.
    """

    observation: str = ""
    observed: Kept | None = None
    instead: Literal["act", ""] = ""


@final
@attrs.frozen
class Ended:
    """`ended`: as `mage.memory.policy.outcome_document` has it."""

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
"""The types of JSON values that are read as each plain type."""


def _converter() -> Converter:
    """Return the converter. It reads no value as one of another type, so that `null` does not become the text "None"."""
    made = Converter(omit_if_default=True, forbid_extra_keys=True)
    for exact, kinds in _PLAIN.items():
        made.register_structure_hook(exact, _only(exact, kinds))
    made.register_structure_hook_factory(_is_a_tuple, _of_a_list)
    made.register_structure_hook(StepId | int, lambda given, _: made.structure(given, int))
    made.register_structure_hook(
        StepId | int | None, lambda given, _: None if given is None else made.structure(given, int)
    )
    made.register_structure_hook(Tool, lambda given, _: Tool(**given))
    for union in (Then, Verdict, ActionEffect, Restored | NotRestored):
        configure_tagged_union(union, made, tag_name="is")
        _make_optional(made, union)
    return made


def _only(exact: type, kinds: tuple[type, ...]) -> Callable[[object, object], object]:
    """Return a hook that takes values of exactly these types: `true` is no number."""

    def read(given: object, _: object) -> object:
        if type(given) not in kinds:
            raise TypeError(f"{type(given).__name__} is no {exact.__name__}")
        return given

    return read


def _is_a_tuple(kind: Any) -> bool:  # Any: cattrs asks with whatever type it meets
    origin: object = get_origin(kind)
    return origin is tuple


def _of_a_list(kind: Any, made: Converter) -> Callable[[object, object], object]:  # Any: a `tuple[X, ...]`
    """Return a hook that takes lists, and no other iterable: a text is no list of its letters."""
    each = get_args(kind)[0]
    hook = made.get_structure_hook(each)

    def read(given: object, _: object) -> object:
        if not isinstance(given, list):
            raise TypeError(f"{type(given).__name__} is no list")
        return tuple([hook(one, each) for one in given])

    return read


def _make_optional(made: Converter, union: Any) -> None:  # Any: a union is no type
    """Register `union | None`: to cattrs that is another union."""
    made.register_structure_hook(
        union | None, lambda given, _: None if given is None else made.structure(given, union)
    )
    made.register_unstructure_hook(
        union | None, lambda given: None if given is None else made.unstructure(given, union)
    )


_CONVERTER: Final = _converter()
_NOTES: Final[Mapping[str, Any]] = {  # Any: unions are no types, and cattrs takes them in the place of one
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
"""The type of what a note of each kind holds; of an answer, that of its value."""
_VALUES: Final[Mapping[str, Any]] = {  # Any: as above
    "observed": Kept,
    "failed": Failure,
    "text": str,
    "effect": ActionEffect,
    "usage": Usage,
    "divergence": Divergence,
}
"""The type of what stands within a note, or in the meta of a step."""
_TYPES: Final = {**_NOTES, **_VALUES}
KINDS: Final = frozenset((*_NOTES, "policy", "remembered", "act_failed"))
"""The kinds of the notes of a run. The last three are read by `decode_policy`, as they are, and by `decode_failure`."""
_OF_AN_ANSWER: Final = frozenset(("value", "usage", "model", "prompt"))
_OF_A_CONFLICT: Final = tuple(attrs.fields_dict(Conflicted))


def encode(kind: str, value: object) -> Any:  # Any: JSON, whose type follows from `kind`
    """Return a value as JSON."""
    return _CONVERTER.unstructure(value, _TYPES[kind])


def decode(kind: str, document: object) -> Any:  # Any: its type follows from `kind`
    """Return the value of a JSON document, of the type that belongs to `kind`.

    Raises:
        BadRunLog: it is no such value.
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
) -> Metered[Any]:  # Any: what it holds follows from `kind`
    """Return the answer of a note.

    Raises:
        BadRunLog: the note holds no answer, or something beside it.
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
    """Return, as JSON, why there is no answer."""
    said: dict[str, object] = {
        "fault": error.fault,
        "detail": error.detail,
        "usage": encode("usage", error.usage),
    }
    if error.retry_after is not None:
        said["retry_after"] = error.retry_after
    if error.shorter_may_help:
        said["shorter_may_help"] = True
    if error.model:
        said["model"] = error.model
    return {"failed": said}


def decode_failure(data: Mapping[str, object]) -> EffectError | None:
    """Return why a note holds no answer, None where it holds one.

    Raises:
        BadRunLog: the note says that it holds none, and not why; or something beside that.
    """
    if "failed" not in data:
        return None
    if len(data) > 1:
        raise BadRunLog("a run's log holds no 'failed' that can be read: something stands beside it")
    said: Failure = decode("failed", data["failed"])
    return EffectError(
        said.fault,
        said.detail,
        retry_after=said.retry_after,
        usage=said.usage,
        shorter_may_help=said.shorter_may_help,
        model=said.model,
    )


def decode_policy(document: object) -> Policy:
    """Return a policy.

    Raises:
        BadRunLog: it is none.
    """
    try:
        return Policy.of(document)
    except BadPolicy as error:
        raise BadRunLog(f"a run's log holds no 'policy' that can be read: {error}") from error


def decode_observed(text: str, meta: Mapping[str, object]) -> Observed | Uncertain | None:
    """Return what the environment answered, from a step's observation and meta; None where the meta says nothing of it.

    Raises:
        BadRunLog: what the meta says cannot be read.
    """
    said = meta.get(OBSERVED)
    if not isinstance(said, dict):
        return None
    kept: Kept = decode("observed", said)
    if kept.uncertain:
        return Uncertain(kept.effect)
    return Observed(text, over=kept.over, instructions=kept.instructions, effect=kept.effect)


def require_sound(note: RunNote) -> None:
    """Check that all of a note is of the types that belong to its kind.

    Raises:
        BadRunLog: something is not, or there is no such kind.
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
    """A run, as the journal of its session has it.

    Attributes:
        version: of the journal, that its `began` made.
        policy: that it was begun with.
        counter: counts its tokens.
        overhead: tokens of the system prompt and the tool schemas when it was begun.
        mode: how its model replies, and so how a step is sent to it; None where the model does not say.
        judged: whether it was begun with a judge.
        introduced: what the model was told of the environment: its tools and its manual.
        remembered: what was kept last for whoever resumes the run.
        state: of the session where it was begun.
        tally: what the journal says of revisions and effects up to there.
        log: its notes but those of `remember`, and the commands of all writers since, in order.
        interrupted: an action during which an earlier run in this journal was interrupted; empty where none was.
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
        """What counts the tokens of what is shown: each step as it is sent."""
        return self.meter_in(self.mode)

    def meter_in(self, mode: Mode | None) -> Meter:
        """Return what counts them where the model replies in another mode."""
        if mode is None:
            return Meter(self.counter)
        return Meter(self.counter, sent_as(mode, self.introduced.tools))

    @property
    def last_policy(self) -> Policy:
        """The policy that the run has had last."""
        notes = (each for each in reversed(self.log) if isinstance(each, RunNote) and each.kind == "policy")
        note = next(notes, None)
        return self.policy if note is None else decode_policy(note.data)

    @property
    def answers(self) -> Mapping[KindOfCall, int]:
        """How many answers of each kind it holds, those that could not be used included. Cost: O(log)."""
        found = Counter(each.kind for each in self.log if isinstance(each, RunNote))
        judged = found["judged"] + found["verdict"]
        written = found["summarized"] + found["chapter"]
        return {"model": found["decided"], "judge": judged, "summarizer": written}


def is_of_a_run(noted: Entry | Noted) -> bool:
    """Tell whether a record is a note of a run; other people's notes are of other kinds."""
    return isinstance(noted, Noted) and noted.note.kind in KINDS


def find_run(log: Sequence[Entry | Noted], counter: TokenCounter | None = None) -> RecordedRun | None:
    """Return the run that was begun last in a journal; None where none was. Cost: O(replaying its commands up to there).

    Args:
        log: the whole log of a session.
        counter: counts the tokens of the run, if it is the one that the run names.

    Raises:
        BadRunLog: the run cannot be read, or was recorded by another version of mage.
        MissingTokenizer: its counter is not installed.
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
    assert state is not None  # a journal begins with its start, and no note stands before it
    log: list[RunNote | Entry] = []
    remembered: Mapping[str, object] = said.remembered
    for each in after:
        if isinstance(each, Entry):
            log.append(each)
        elif is_of_a_run(each) and each.note.kind != "remembered":
            log.append(note_of(each))
        elif is_of_a_run(each):  # no part of what the program does
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
    """Return the action whose result the earlier run of a journal has not recorded; empty where there is none."""
    for each in reversed(before):
        if isinstance(each, Entry) and RUN in each.meta:
            return ""
        if is_of_a_run(each) and isinstance(each, Noted) and each.note.kind != "resumed":
            is_acting = each.note.kind in ("acting", "again")
            return str(note_of(each).data.get("action", "")) if is_acting else ""
    return ""


def _counter_of(name: str) -> TokenCounter:
    """Return the counter of a run, which keeps it so that its prompts stay the same.

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
    overhead: int,
    capabilities: Capabilities,
    *,
    mode: Mode | None,
    judged: bool,
    remembered: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Return the data of `began`."""
    said = {
        "mode": mode,
        "remembered": dict(remembered or {}),
        "tools": [attrs.asdict(tool, recurse=False) for tool in capabilities.tools],
        "manual": capabilities.manual,
    }
    return {
        "program": PROGRAM,
        "policy": policy.document(),
        "counter": counter.name,
        "overhead": overhead,
        "judged": judged,
        **{name: value for name, value in said.items() if value},
    }
