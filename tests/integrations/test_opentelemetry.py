"""OpenTelemetry: what happens stands on the current span, by today's names, and no text unless it was asked for."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mage import AsyncSession, Failed, JudgeRequest, Passed, Session, Verdict
from mage.engine import FoldRequest
from mage.memory import Asked, AskFailed, Noticed, RunEnded
from mage.session import events

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mage.integrations.opentelemetry import SpanEvents, conversation

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "opentelemetry_loop.py"
TEXTS = ("a task", "an action", "an observation", "a wish", "good text", "bad text", "a feedback", "a lesson")
Heard = list[tuple[str, dict[str, Any]]]


def judge(request: JudgeRequest | FoldRequest) -> Verdict:
    return Failed("a feedback") if "bad" in request.text else Passed()


@contextmanager
def spanned() -> Iterator[Heard]:
    """Make a span current, and return what stands on it when it has ended."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    heard: Heard = []
    with provider.get_tracer("test").start_as_current_span("invoke_agent"):
        yield heard
    (span,) = exporter.get_finished_spans()
    heard += [(event.name, dict(event.attributes or {})) for event in span.events]


def _story(hook: SpanEvents, *, with_texts: bool) -> Session:
    session = Session.open("memory:", "study", task="a task", judge=judge, on_event=hook)
    if with_texts:
        hook.show_texts_of(session)
    session.instruct("a wish")
    session.grow("an action", "an observation")
    session.compress("good text")
    session.grow("an action", "another observation")
    session.compress("bad text")
    session.revise(1, "a lesson")
    return session


def test_what_happens_stands_on_the_span() -> None:
    """In order, a verdict as the result of an evaluation, all else under names of our own, with ids and sizes."""
    with spanned() as heard:
        _story(SpanEvents(), with_texts=False).close()
    assert [name for name, _ in heard] == [
        "mage.created",
        "mage.instructed",
        "mage.grown",
        "mage.compressed",
        "gen_ai.evaluation.result",
        "mage.grown",
        "mage.compressed",
        "gen_ai.evaluation.result",
        "mage.revised",
    ]
    assert heard[4][1] == {
        "gen_ai.evaluation.name": "mage.maintain",
        "gen_ai.evaluation.score.label": "passed",
        "gen_ai.evaluation.score.value": 1.0,
        "gen_ai.conversation.id": "study",
        "mage.version": 5,
        "mage.summary": 1,
    }
    assert heard[7][1]["gen_ai.evaluation.score.label"] == "failed"
    assert heard[7][1]["mage.fault"] == "execution"
    assert all(attributes["gen_ai.conversation.id"] == "study" for _, attributes in heard)


def test_no_text_is_in_them_unless_asked_for() -> None:
    """Without the asking none of the texts is anywhere; with it each stands in its own event."""
    with spanned() as silent:
        _story(SpanEvents(), with_texts=False).close()
    with spanned() as told:
        _story(SpanEvents(), with_texts=True).close()
    assert not any(text in str(silent) for text in TEXTS)
    assert all(text in str(told) for text in TEXTS if text != "a task")
    assert [name for name, _ in silent] == [name for name, _ in told]
    assert told[7][1]["gen_ai.evaluation.explanation"] == "a feedback"


def test_texts_of_another_session_stay_out() -> None:
    """A hook that several sessions share shows the texts of the one for which it was allowed."""
    hook = SpanEvents()
    with spanned() as heard, _story(hook, with_texts=True) as session, session.fork("other") as other:
        other.grow("an act of another", "x")
    assert heard[-1][0] == "mage.grown"
    assert "an act of another" not in str(heard)


def test_awaited_session_is_heard_alike() -> None:
    """The same hook, the same events, on the span of the task that awaits."""

    async def story() -> None:
        hook = SpanEvents()
        session = await AsyncSession.open("memory:", "study", task="a task", on_event=hook)
        hook.show_texts_of(session)
        await session.grow("an action", "an observation")
        await session.close()

    with spanned() as heard:
        asyncio.run(story())
    assert heard[-1] == (
        "mage.grown",
        {
            "gen_ai.conversation.id": "study",
            "mage.version": 2,
            "mage.step": 1,
            "mage.size": 23,
            "mage.action": "an action",
            "mage.observation": "an observation",
        },
    )


def test_without_a_span_nothing_is_added() -> None:
    """A program that traces nothing is not disturbed."""
    session = _story(SpanEvents(), with_texts=True)
    assert session.version == 9
    session.close()


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (
            Asked("model", 90, 8, 70),
            (
                "mage.asked",
                {
                    "gen_ai.usage.input_tokens": 90,
                    "gen_ai.usage.output_tokens": 8,
                    "mage.who": "model",
                    "mage.shown": 70,
                },
            ),
        ),
        (AskFailed("judge", "timeout"), ("mage.ask_failed", {"error.type": "timeout", "mage.who": "judge"})),
        (Noticed("failed"), ("mage.noticed", {"mage.kind": "failed"})),
        (RunEnded("finished", ""), ("mage.run_ended", {"mage.outcome": "finished", "mage.reason": ""})),
        (
            events.Accepted("study", 3, 1, despite=True),
            (
                "mage.accepted",
                {
                    "gen_ai.conversation.id": "study",
                    "mage.version": 3,
                    "mage.summary": 1,
                    "mage.despite": True,
                },
            ),
        ),
    ],
)
def test_events_of_a_memory_are_heard(event: Any, expected: object) -> None:
    """Tokens and faults have the conventions' names, kinds and counts our own."""
    with spanned() as heard:
        SpanEvents()(event)
    assert heard == [expected]


def test_a_models_call_says_whether_it_is_shown_less() -> None:
    """By the conventions the mark is there once a part of the conversation is compressed, and absent before."""
    with Session.open("memory:", "study", task="a task") as session:
        session.grow("an action", "an observation")
        assert conversation(session) == {"gen_ai.conversation.id": "study"}
        session.compress("good text")
        assert conversation(session)["gen_ai.conversation.compacted"] is True


def test_the_example_runs(tmp_path: Path) -> None:
    """It prints its spans, with the verdict that failed on one of them."""
    ran = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "execute_tool buy\n" in ran.stdout
    assert "'gen_ai.evaluation.score.label': 'failed'" in ran.stdout
    assert "invoke_agent shopper\n" in ran.stdout


def test_a_missing_package_is_said_in_one_line() -> None:
    """With what to install."""
    missing = "import sys; sys.modules['opentelemetry'] = None; import mage.integrations.opentelemetry"
    ran = subprocess.run([sys.executable, "-c", missing], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr.rstrip().endswith("needs its extra: pip install 'mage-state[otel]'")
    assert "During handling" not in ran.stderr
