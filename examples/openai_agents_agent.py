"""An agent of the OpenAI Agents SDK whose memory is mage: python examples/openai_agents_agent.py

Needs: pip install 'mage-state[openai-agents]'. Run it again, or kill it anywhere and run it again: it goes on in study.db
where it was.
"""

import asyncio

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    RunConfig,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from loopback import served
from openai import AsyncOpenAI

from mage import AsyncMemory, JudgeRequest, Verdict, demo
from mage.integrations.openai_agents import MageSession


async def judge(request: JudgeRequest) -> Verdict:
    """Judge a purchase."""
    return demo.judge(request)


async def main() -> None:
    """Run the agent."""
    set_tracing_disabled(True)
    said = "Buy a desk, then a chair that fits it."
    with served() as url:  # without it, model="gpt-5" asks OpenAI
        async with (
            AsyncOpenAI(base_url=url, api_key="none") as client,
            await AsyncMemory.open("study.db", "monday", or_task=said, judge=judge) as memory,
        ):
            mage = MageSession(memory)
            agent = Agent(
                name="shopper",
                instructions="You keep house.",
                model=OpenAIChatCompletionsModel("scripted", client),
                tools=[function_tool(demo.buy), *mage.tools],
            )
            config = RunConfig(call_model_input_filter=mage.show)
            result = await Runner.run(agent, said, session=mage, run_config=config)
            print(result.final_output)


asyncio.run(main())
