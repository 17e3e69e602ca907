"""What decides, judges and summarizes in a run: models behind a server, the user, a script, or the demo's story."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final, final
from urllib.parse import urlsplit

import attrs

from mage.chat import Mode as PromptMode
from mage.cli.by_hand import ByHand
from mage.cli.output import Refused
from mage.cli.prompts import read_prompts
from mage.cli.script import BadScript, Played, read_script
from mage.cli.setup import BY_HAND, Mode, Models, RunSetup
from mage.demo import shop
from mage.effects import AsyncJudge, Judge, Model, Summarizer
from mage.memory.outcomes import KINDS_OF_CALL, KindOfCall

_PROMPT_MODES: Final[dict[Mode, PromptMode]] = {Mode.TOOLS: "tools", Mode.TEXT: "text", Mode.SCHEMA: "json"}


@final
@attrs.frozen
class Answerers:
    """What answers beside the environment; None for a judge or a summarizer that the run has not."""

    model: Model
    judge: Judge | None
    summarizer: Summarizer | None


def answerers_of(stack: ExitStack, asked: RunSetup, answers: Mapping[KindOfCall, int]) -> Answerers:
    """Return what answers in a run; nothing is sent yet.

    Args:
        stack: closes what they need.
        asked: what the options and the run say.
        answers: how many answers of each kind the run has: a script goes on behind those that it gave.

    Raises:
        Refused: as `models_at`; or a script cannot be read.
    """
    if asked.is_by_hand:
        return Answerers(ByHand(read_prompts(asked.models.prompts)), judge_of(stack, asked.models), None)
    if asked.models.model is not None:
        return models_at(stack, asked.models)
    if asked.script is None:
        return Answerers(shop.shopper, shop.judge, shop.summarize)
    try:
        script = read_script(asked.script)
    except BadScript as problem:
        raise Refused(str(problem)) from None
    file = Path(asked.script).name
    used = {who: answers.get(who, 0) - asked.used.get(who, 0) for who in KINDS_OF_CALL}
    return Answerers(
        Played(file, "model", script.decisions, used["model"]),
        Played(file, "judge", script.verdicts, used["judge"]) if script.verdicts else None,
        Played(file, "summarizer", script.summaries, used["summarizer"]) if script.summaries else None,
    )


def models_at(stack: ExitStack, models: Models) -> Answerers:
    """Return models behind an address, else that of the environment variables, or OpenAI's; nothing is sent yet.

    Raises:
        Refused: there is no key or none that can be sent, no address or proxy that can be used, no such prompts, or no
            `openai` client.
    """
    prompts = read_prompts(models.prompts)
    name = models.model or ""
    with _models("--offline needs no model", models.base_url) as llm:
        client = stack.enter_context(llm.client(base_url=models.base_url))
        asked: Mapping[str, Any] = {"prompts": prompts, **models.sampling}  # Any: as `Sampling` takes them
        chat = llm.ChatModel(client, name, mode=_PROMPT_MODES[models.mode or Mode.TOOLS], **asked)
        is_by_hand = models.judge == BY_HAND
        judge = ByHand(prompts).judge if is_by_hand else llm.ChatJudge(client, models.judge or name, **asked)
        return Answerers(chat, judge, llm.ChatSummarizer(client, name, **asked))


def judge_of(stack: ExitStack, models: Models) -> Judge | None:
    """Return the judge that is named, a model or the user; None where none is. Nothing is sent yet.

    Raises:
        Refused: as `models_at`.
    """
    if models.judge is None:
        return None
    if models.judge == BY_HAND:
        return ByHand(read_prompts(models.prompts)).judge
    return models_at(stack, attrs.evolve(models, model=models.judge)).judge


def awaited_judge_at(model: str) -> AsyncJudge:
    """Return a judge behind the address of the environment variables, or OpenAI's; nothing is sent yet.

    Raises:
        Refused: as `models_at`.
    """
    with _models("without --judge the client's own model judges") as llm:
        judge: AsyncJudge = llm.AsyncChatJudge(llm.async_client(), model)
        return judge


@contextmanager
def _models(otherwise: str, base_url: str | None = None) -> Iterator[ModuleType]:
    """Give `mage.llm`, and refuse in one line what is wrong with it, with a key, an address or a proxy."""
    _require_address("--base-url", base_url)
    _require_address("OPENAI_BASE_URL", os.environ.get("OPENAI_BASE_URL"))
    try:
        from mage import llm  # noqa: PLC0415  # an extra, and slow to load
    except ModuleNotFoundError as missing:
        raise Refused(str(missing)) from None
    try:
        yield llm
    except (llm.BadAddress, llm.BadProxy) as error:
        raise Refused(str(error)) from None
    except (llm.MissingKey, llm.BadKey) as error:
        raise Refused(f"{error}; {otherwise}") from None


def _require_address(where: str, given: str | None) -> None:
    if not given:
        return
    try:
        parts = urlsplit(given)
        names_host = given.isprintable() and bool((parts.hostname or "").encode("idna")) and parts.port != 0
        sound = names_host and parts.scheme in ("http", "https") and not (parts.query or parts.fragment)
    except ValueError:
        sound = False
    if not sound:
        raise Refused(
            f"{where}: an address begins with http:// or https://, names a host, and ends with its path"
        )
