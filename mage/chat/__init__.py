"""The execution state as a chat, and a chat as steps: prompts, tools, messages, and one spelling of a call.

No client of any interface is imported here, and nothing is sent: `mage.llm` and the hosts do that.
"""

from mage.chat.messages import (
    Assistant,
    ChatMessage,
    Form,
    System,
    ToolCall,
    ToolResult,
    User,
    sendable,
    written,
)
from mage.chat.prompts import (
    MODES,
    Mode,
    Steps,
    decide_messages,
    judge_messages,
    judge_prompt,
    state_messages,
    summary_messages,
    summary_prompt,
    system_prompt,
)
from mage.chat.replies import AssistantReply, NoReply, read_reply
from mage.chat.schemas import misfit, move_schema, verdict_schema
from mage.chat.tools import (
    ACT,
    COMPRESS,
    FINISH,
    OWN_TOOLS,
    REVISE,
    BadAction,
    Style,
    action_text,
    canonical,
    declared,
    offered,
    parse_action,
    read_arguments,
)
from mage.chat.wording import ALL_PROMPTS, Prompt
from mage.effects.tools import is_strict

__all__ = [
    "ACT",
    "ALL_PROMPTS",
    "COMPRESS",
    "FINISH",
    "MODES",
    "OWN_TOOLS",
    "REVISE",
    "Assistant",
    "AssistantReply",
    "BadAction",
    "ChatMessage",
    "Form",
    "Mode",
    "NoReply",
    "Prompt",
    "Steps",
    "Style",
    "System",
    "ToolCall",
    "ToolResult",
    "User",
    "action_text",
    "canonical",
    "decide_messages",
    "declared",
    "is_strict",
    "judge_messages",
    "judge_prompt",
    "misfit",
    "move_schema",
    "offered",
    "parse_action",
    "read_arguments",
    "read_reply",
    "sendable",
    "state_messages",
    "summary_messages",
    "summary_prompt",
    "system_prompt",
    "verdict_schema",
    "written",
]
