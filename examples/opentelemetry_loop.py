"""A plain loop whose spans carry what its memory does: python examples/opentelemetry_loop.py

Needs: pip install 'mage-state[otel]' opentelemetry-sdk. In place of the exporter here, which prints, yours sends.
"""

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

import mage
from mage import demo
from mage.integrations.opentelemetry import SpanEvents, conversation


def line(span: ReadableSpan) -> str:
    """Return a span and its events, a line each."""
    events = [f"    {event.name} {dict(event.attributes or {})}\n" for event in span.events]
    return "".join([f"{span.name}\n", *events])


provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(formatter=line)))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("shopper")
client, hook = demo.ScriptedClient(), SpanEvents()
memory = mage.Memory.open(
    "study.db", "monday", task="Buy a desk, then a chair that fits it.", judge=demo.judge, on_event=hook
)
hook.show_texts_of(memory.session)  # leave it out where texts must not go to the traces


def perform(call: mage.Call) -> str:
    """Carry out a call, in a span of its own."""
    names = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call.id,
    }
    with tracer.start_as_current_span(f"execute_tool {call.name}", attributes=names):
        return demo.buy(**call.arguments)


with tracer.start_as_current_span("invoke_agent shopper", attributes={"gen_ai.agent.name": "shopper"}):
    while True:
        messages = memory.messages("chat", beside=demo.TOOLS)
        tools = [*demo.TOOLS, *memory.tools("chat")]
        with tracer.start_as_current_span("chat gpt-5", attributes=conversation(memory.session)):
            reply = client.chat.completions.create(model="gpt-5", messages=messages, tools=tools)
        if memory.take(reply, perform=perform).finished:
            break
