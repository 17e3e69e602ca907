"""A loop over OpenAI's chat completions. End it anywhere and run it again: it goes on where it was.

pip install 'mage-state[openai]'; OPENAI_API_KEY=... python examples/openai_chat.py
"""

from typing import Any

import openai

import mage
from mage.chat import declared
from mage.effects import Tool
from mage.llm import ChatJudge

MODEL, TASK = "gpt-5-mini", "Buy a desk, then a chair that fits it."
PRICES = {"oak desk": 310, "chrome chair": 129, "linen chair": 145}
TOOLS = declared([Tool.of("buy", f"Buy one of: {', '.join(PRICES)}.", item={"type": "string"})], "chat")


def main(store: str = "chat.db", **more: Any) -> str:  # such as reasoning_effort="high"
    client: Any = openai.OpenAI()  # its types ask for its own classes where it takes plain dicts
    with mage.Memory.open(store, "shop", task=TASK, judge=ChatJudge(client, MODEL)) as memory:
        while (answer := memory.answer()) is None:
            messages, tools = memory.messages("chat", beside=TOOLS), [*TOOLS, *memory.tools("chat")]
            reply = client.chat.completions.create(model=MODEL, messages=messages, tools=tools, **more)
            memory.take(reply, perform=lambda call: f"Bought for ${PRICES[call.arguments['item']]}.")
        return answer


if __name__ == "__main__":
    print(main())
