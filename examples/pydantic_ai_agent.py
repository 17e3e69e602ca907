"""An agent of pydantic-ai whose memory is mage: python examples/pydantic_ai_agent.py

Needs: pip install 'mage-state[pydantic-ai]'. Run it again, or kill it anywhere and run it again: it goes on in study.db
where it was.
"""

import asyncio
from functools import partial

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from mage import AsyncMemory, JudgeRequest, Verdict, demo
from mage.integrations.pydantic_ai import MageCapability


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Reply without a model; "openai:gpt-5" in its place asks OpenAI."""
    shown = "\n".join(str(getattr(part, "content", "")) for part in messages[-1].parts)
    reply = demo.ScriptedClient().chat.completions.create(messages=[{"role": "user", "content": shown}])
    message = reply.choices[0].message
    calls = [(call.function.name, call.function.arguments, call.id) for call in message.tool_calls or ()]
    said = [TextPart(message.content)] if message.content else []
    return ModelResponse([*said, *[ToolCallPart(*call) for call in calls]])


async def judge(request: JudgeRequest) -> Verdict:
    """Judge a purchase."""
    return demo.judge(request)


async def main() -> None:
    """Run the agent."""
    mage = MageCapability(partial(AsyncMemory.open, "study.db", judge=judge))
    agent = Agent(FunctionModel(scripted), instructions="You keep house.", capabilities=[mage])
    agent.tool_plain(demo.buy)
    result = await agent.run("Buy a desk, then a chair that fits it.", conversation_id="monday")
    print(result.output)
    await mage.close()


asyncio.run(main())
