"""OpenTelemetry: the events of a session and a memory, on the current span.

    hook = SpanEvents()
    memory = Memory.open("work.db", "monday", task=task, judge=judge, on_event=hook)
    hook.show_texts_of(memory.session)    # only where texts may go to the traces

The host or its framework makes spans: an event has no duration. Names are those of the GenAI conventions
(open-telemetry/semantic-conventions-genai, status Development), spelled here, as there is no package of them; all other
names begin with `mage.`.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias, final

import attrs

try:
    from opentelemetry import trace
except ModuleNotFoundError as _missing:
    raise ModuleNotFoundError(
        "mage.integrations.opentelemetry needs its extra: pip install 'mage-state[otel]'", name=_missing.name
    ) from None

from mage.engine import Failed, StepId, SummaryId, view
from mage.memory import AgentEvent, Asked, AskFailed
from mage.session import AsyncSession, Event, Session, events

Attributes: TypeAlias = Mapping[str, str | bool | int | float]
_CONVERSATION: Final = "gen_ai.conversation.id"
_NAMED: Final = frozenset({"passed", "prompt", "completion"})
"""Fields for which the conventions have a name."""


@final
class SpanEvents:
    """A hook for `on_event=` that adds each event to the current span, if there is one.

    The events have no texts, unless `show_texts_of` was called.
    """

    def __init__(self) -> None:
        self._session: Session | AsyncSession | None = None

    def show_texts_of(self, session: Session | AsyncSession) -> None:
        """Put the texts of a session into its events from now on: actions, summaries, feedbacks, lessons, instructions."""
        self._session = session

    def __call__(self, event: Event | AgentEvent) -> None:
        """Add an event to the current span."""
        span = trace.get_current_span()
        if span.is_recording():
            span.add_event(_name(event), {**_attributes(event), **self._texts(event)})

    def _texts(self, event: Event | AgentEvent) -> Attributes:
        if self._session is None or getattr(event, "journal", None) != self._session.name:
            return {}
        tree = self._session.tree
        match event:
            case events.Grown(step=step):
                added = tree.step(StepId(step))
                return {"mage.action": added.action, "mage.observation": added.observation}
            case events.Instructed(step=step):
                return {"mage.text": tree.instructions_at(StepId(step))[-1].text}
            case events.Compressed(summary=summary) | events.Retexted(summary=summary):
                return {"mage.text": tree.summary(SummaryId(summary)).text}
            case events.Judged(summary=summary):
                verdict = tree.summary(SummaryId(summary)).verdict
                return (
                    {"gen_ai.evaluation.explanation": verdict.feedback} if isinstance(verdict, Failed) else {}
                )
            case events.Revised(boundary=boundary):
                lessons = tree.lessons_at(StepId(boundary))
                return {"mage.lesson": lessons[-1]} if lessons else {}
            case _:
                return {}


def conversation(session: Session | AsyncSession) -> dict[str, str | bool]:
    """Return the attributes for the host's span of a model's call: the conversation, and whether a part of it is compacted.

    By the conventions `gen_ai.conversation.compacted` is true or absent. Cost: O(size of S).
    """
    compacted = {"gen_ai.conversation.compacted": True} if view(session.phase).compressed else {}
    return {_CONVERSATION: session.name, **compacted}


def _name(event: Event | AgentEvent) -> str:
    if isinstance(event, events.Judged):
        return "gen_ai.evaluation.result"
    words = "".join([f"_{char.lower()}" if char.isupper() else char for char in type(event).__name__])
    return f"mage.{words.lstrip('_')}"


def _attributes(event: Event | AgentEvent) -> Attributes:
    """Return ids, versions, sizes, counts and kinds, each under its name in the conventions, if it has one."""
    match event:
        case events.Judged(passed=passed):
            named: dict[str, object] = {
                "gen_ai.evaluation.name": "mage.maintain",
                "gen_ai.evaluation.score.label": "passed" if passed else "failed",
                "gen_ai.evaluation.score.value": float(passed),
            }
        case Asked(prompt=prompt, completion=completion):
            named = {"gen_ai.usage.input_tokens": prompt, "gen_ai.usage.output_tokens": completion}
        case AskFailed(fault=fault):
            named = {"error.type": fault}
        case _:
            named = {}
    fields = {name: value for name, value in attrs.asdict(event).items() if name not in _NAMED}
    if isinstance(event, AskFailed):
        del fields["fault"]
    named |= {f"mage.{name}": value for name, value in fields.items()}
    if "mage.journal" in named:
        named[_CONVERSATION] = named.pop("mage.journal")
    return {name: value for name, value in named.items() if isinstance(value, str | bool | int | float)}
