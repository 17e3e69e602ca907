"""A LangChain agent whose memory is mage: python examples/langchain_agent.py

Needs: pip install 'mage-state[langchain]' langchain-openai. Run it again, or kill it anywhere and run it again: it goes
on in study.db where it was.
"""

from functools import partial

from langchain.agents import create_agent
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from loopback import served
from pydantic import SecretStr

from mage import Memory, demo
from mage.integrations.langchain import MageMiddleware

with served() as url:  # without it, ChatOpenAI(model="gpt-5") asks OpenAI
    mage = MageMiddleware(partial(Memory.open, "study.db", judge=demo.judge))
    model = ChatOpenAI(model="scripted", base_url=url, api_key=SecretStr("none"))
    agent = create_agent(model, tools=[demo.buy], middleware=[mage], system_prompt="You keep house.")
    monday: RunnableConfig = {"configurable": {"thread_id": "monday"}}
    said = "Buy a desk, then a chair that fits it."
    state = agent.invoke({"messages": [{"role": "user", "content": said}]}, monday)
    print(state["messages"][-1].text)
    mage.close()
