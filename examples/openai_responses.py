"""A loop over OpenAI's Responses. Nothing is kept by the server, and no reasoning needs to be sent back to it.

pip install 'mage-state[openai]'; OPENAI_API_KEY=... python examples/openai_responses.py
"""

from typing import Any

import openai

import mage
from mage.chat import declared
from mage.effects import Tool
from mage.llm import ChatJudge

MODEL, TASK = "gpt-5-mini", "Buy a desk, then a chair that fits it."
PRICES = {"oak desk": 310, "chrome chair": 129, "linen chair": 145}
TOOLS = declared([Tool.of("buy", f"Buy one of: {', '.join(PRICES)}.", item={"type": "string"})], "responses")


def main(store: str = "responses.db", **more: Any) -> str:  # such as reasoning={"effort": "high"}
    client: Any = openai.OpenAI()  # its types ask for its own classes where it takes plain dicts
    with mage.Memory.open(store, "shop", task=TASK, judge=ChatJudge(client, MODEL)) as memory:
        while (answer := memory.answer()) is None:
            shown, tools = memory.messages("responses", beside=TOOLS), [*TOOLS, *memory.tools("responses")]
            reply = client.responses.create(model=MODEL, input=shown, tools=tools, store=False, **more)
            memory.take(reply, perform=lambda call: f"Bought for ${PRICES[call.arguments['item']]}.")
        return answer


if __name__ == "__main__":
    print(main())
