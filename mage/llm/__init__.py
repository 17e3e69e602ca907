"""Model, judge and summarizer over OpenAI's chat completions, for OpenAI or any server that speaks them.

    pip install 'mage-state[openai]'

    from mage.llm import ChatJudge, ChatModel, ChatSummarizer, client
    with client() as ours:                       # OPENAI_API_KEY, OPENAI_BASE_URL
        model = ChatModel(ours, "gpt-5-mini")
        judge = ChatJudge(ours, "gpt-5-mini")
        summarizer = ChatSummarizer(ours, "gpt-5-mini")
        agent = Agent(model=model, environment=MyEnvironment(), judge=judge, summarizer=summarizer)

Each has an awaitable twin that runs the same program. A failure is an `EffectError` with its fault; no error, repr
or log ever holds a key.
"""

try:
    import openai as _openai  # noqa: F401  # everything below needs it
except ModuleNotFoundError as _missing:
    if _missing.name != "openai":
        raise
    raise ModuleNotFoundError(
        "mage.llm needs its extra: pip install 'mage-state[openai]'", name="openai"
    ) from None

from mage.llm.clients import BadAddress, BadKey, BadProxy, MissingKey, async_client, client
from mage.llm.models import (
    AsyncChatJudge,
    AsyncChatModel,
    AsyncChatSummarizer,
    ChatJudge,
    ChatModel,
    ChatSummarizer,
)
from mage.llm.transport import Sampling

__all__ = [
    "AsyncChatJudge",
    "AsyncChatModel",
    "AsyncChatSummarizer",
    "BadAddress",
    "BadKey",
    "BadProxy",
    "ChatJudge",
    "ChatModel",
    "ChatSummarizer",
    "MissingKey",
    "Sampling",
    "async_client",
    "client",
]
