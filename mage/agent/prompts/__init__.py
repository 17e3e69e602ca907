"""What models are told, and pure functions that make a chat of what is asked of them.

No client of any interface is imported here: `mage.llm` translates the messages for OpenAI's.
"""

from mage.agent.prompts.chat import Assistant, ChatMessage, System, ToolCall, ToolResult, User
from mage.agent.prompts.deciding import MODES, Mode, decide_messages, system_prompt
from mage.agent.prompts.judging import judge_messages, judge_prompt, summary_messages, summary_prompt
from mage.agent.prompts.prompt import Prompt
from mage.agent.prompts.wording import (
    ALL_PROMPTS,
    AS_JSON,
    AS_TEXT,
    AS_TOOLS,
    JUDGE_FALLBACK,
    JUDGE_SUBGOAL,
    SUMMARIZE_AGAIN,
    SUMMARIZE_FALLBACK,
    SUMMARIZE_SUBGOAL,
    SYSTEM,
)

__all__ = [
    "ALL_PROMPTS",
    "AS_JSON",
    "AS_TEXT",
    "AS_TOOLS",
    "JUDGE_FALLBACK",
    "JUDGE_SUBGOAL",
    "MODES",
    "SUMMARIZE_AGAIN",
    "SUMMARIZE_FALLBACK",
    "SUMMARIZE_SUBGOAL",
    "SYSTEM",
    "Assistant",
    "ChatMessage",
    "Mode",
    "Prompt",
    "System",
    "ToolCall",
    "ToolResult",
    "User",
    "decide_messages",
    "judge_messages",
    "judge_prompt",
    "summary_messages",
    "summary_prompt",
    "system_prompt",
]
