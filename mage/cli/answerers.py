"""Who answers in a run of `mage run`: models behind an address, or the demo's from a script."""

from __future__ import annotations

import os
from contextlib import ExitStack
from enum import StrEnum
from typing import Final, final
from urllib.parse import urlsplit

import attrs

from mage.chat import Mode as PromptMode
from mage.cli.output import Refused
from mage.demo import shop
from mage.effects import Judge, Model, Summarizer

__all__ = ["Answerers", "Mode", "live", "offline"]


class Mode(StrEnum):
    """How a model says what it does."""

    TOOLS = "tools"
    TEXT = "text"
    SCHEMA = "schema"


_PROMPT_MODES: Final[dict[Mode, PromptMode]] = {Mode.TOOLS: "tools", Mode.TEXT: "text", Mode.SCHEMA: "json"}


@final
@attrs.frozen
class Answerers:
    """What answers beside the environment."""

    model: Model
    judge: Judge
    summarizer: Summarizer


def offline() -> Answerers:
    """Return who plays the demo's story."""
    return Answerers(shop.shopper, shop.judge, shop.summarize)


def live(
    stack: ExitStack,
    model: str,
    *,
    judge_model: str | None = None,
    base_url: str | None = None,
    mode: Mode = Mode.TOOLS,
) -> Answerers:
    """Return models behind an address; nothing is sent yet.

    Args:
        stack: closes their client.
        model: decides and summarizes.
        judge_model: judges; None for the same.
        base_url: the server's address; None for that of the environment variables, or OpenAI's.
        mode: how the model replies.

    Raises:
        Refused: there is no key or none that can be sent, no address or proxy that can be used, or no `openai` client.
    """
    _require_address("--base-url", base_url)
    _require_address("OPENAI_BASE_URL", os.environ.get("OPENAI_BASE_URL"))
    try:
        from mage import llm  # noqa: PLC0415  # an extra, and slow to load
    except ModuleNotFoundError as missing:
        raise Refused(str(missing)) from None
    try:
        client = stack.enter_context(llm.client(base_url=base_url))
    except (llm.BadAddress, llm.BadProxy) as error:
        raise Refused(str(error)) from None
    except (llm.MissingKey, llm.BadKey) as error:
        raise Refused(f"{error}; --offline needs no model") from None
    chat = llm.ChatModel(client, model, mode=_PROMPT_MODES[mode])
    return Answerers(chat, llm.ChatJudge(client, judge_model or model), llm.ChatSummarizer(client, model))


def _require_address(where: str, given: str | None) -> None:
    if not given:
        return
    try:
        parts = urlsplit(given)
        named = given.isprintable() and bool((parts.hostname or "").encode("idna"))
        sound = (
            parts.scheme in ("http", "https")
            and named
            and parts.port != 0
            and not (parts.query or parts.fragment)
        )
    except ValueError:
        sound = False
    if not sound:
        raise Refused(
            f"{where}: an address begins with http:// or https://, names a host, and ends with its path"
        )
