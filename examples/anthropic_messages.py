"""A loop over Anthropic's Messages, and a judge over the same client. No thinking needs to be sent back to it.

pip install mage-state anthropic; ANTHROPIC_API_KEY=... python examples/anthropic_messages.py
"""

import json
from functools import partial
from typing import Any  # the client's types refuse plain dicts

import anthropic

import mage
from mage.chat import declared, judge_messages, verdict_schema
from mage.effects import Tool

MODEL, TASK = "claude-sonnet-5-5", "Buy a desk, then a chair that fits it."
PRICES = {"oak desk": 310, "chrome chair": 129, "linen chair": 145}
TOOLS = declared([Tool.of("buy", f"Buy one of: {', '.join(PRICES)}.", item={"type": "string"})], "anthropic")


def main(store: str = "messages.db", **more: Any) -> str:  # such as thinking={"type": "adaptive"}
    ask: Any = partial(anthropic.Anthropic().messages.create, model=MODEL, max_tokens=8000)

    def judge(request: mage.JudgeRequest | mage.FoldRequest) -> mage.Verdict:
        (system, user), schema = judge_messages(request), verdict_schema(request)
        form = {"format": {"type": "json_schema", "schema": schema}}
        reply = ask(system=system.text, messages=[{"role": "user", "content": user.text}], output_config=form)
        said: Any = json.loads(reply.content[-1].text).get
        return mage.Passed() if said("passed") else mage.Failed(*map(said, ("feedback", "fault", "boundary")))

    with mage.Memory.open(store, "shop", task=TASK, judge=judge) as memory:
        while (answer := memory.answer()) is None:
            messages, tools = memory.messages("anthropic", beside=TOOLS), [*TOOLS, *memory.tools("anthropic")]
            reply = ask(messages=messages, tools=tools, **more)
            memory.take(reply, perform=lambda call: f"Bought for ${PRICES[call.arguments['item']]}.")
        return answer


if __name__ == "__main__":
    print(main())
