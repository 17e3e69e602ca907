"""What frameworks are tried with: the desk shop, with two calls at once, and a run of 60 steps.

The model is behind HTTP, on the server of `tests.providers`: it sees what a model would see, and has no memory.
"""

from __future__ import annotations

import inspect
import json
import threading
from collections.abc import Sequence
from typing import Any, Final, final

from mage.effects import SummaryRequest
from mage.engine import (
    ApplyVerdict,
    Command,
    Compress,
    Failed,
    FoldRequest,
    Grow,
    JudgeRequest,
    Passed,
    Revise,
    Start,
    Verdict,
)
from mage.llm import AsyncChatJudge, ChatJudge, async_client, client
from mage.memory import Memory, Policy
from mage.stores import MemoryStore
from mage.tokens import default_counter
from tests.providers.forms import Json, Prompt, Reply
from tests.providers.server import ProviderServer
from tests.providers.story import CHROME, DESK, END, FEEDBACK, LESSON, LINEN, PRICES, STORY, verdict

SYSTEM: Final = "You keep house."
LAMP: Final = "Bought for $20."
SHOP: Final = (
    ("", Reply(calls=(("buy", {"item": "oak desk"}), ("buy", {"item": "lamp"})))),
    (LAMP, STORY[1][1]),
    *STORY[2:4],
    (FEEDBACK, Reply(calls=(("revise", {"step": 2, "lesson": LESSON}),))),
    *STORY[5:],
)
"""The story of `tests.providers`, which begins with two calls in one reply."""

STEPS: Final = 60
PAGE: Final = "A page of the catalogue. " * 20
READ: Final = "Read them all."


def shop(prompt: Prompt) -> Reply:
    """Return what the model does next, or what the judge says."""
    if "passed" in prompt.asks:
        return Reply(json.dumps(verdict(prompt.text)))
    return next(reply for mark, reply in reversed(SHOP) if mark in prompt.text)


def buy(item: str) -> str:
    """Buy an item."""
    return LAMP if item == "lamp" else f"Bought for ${PRICES[item]}."


@final
class Shop:
    """A shop that knows what it has sold."""

    def __init__(self) -> None:
        self.items: list[str] = []

    def buy(self, item: str) -> str:
        """Buy an item."""
        self.items.append(item)
        return buy(item)


@final
class Slow:
    """A shop where the desk takes until the lamp is sold: results come in another order than the calls were made."""

    def __init__(self) -> None:
        self._lamp = threading.Event()

    def buy(self, item: str) -> str:
        """Buy an item."""
        if item == "lamp":
            self._lamp.set()
        elif item == "oak desk":
            assert self._lamp.wait(30), "the calls of a reply are carried out one after the other"
        return buy(item)


def reader(prompt: Prompt) -> Reply:
    """Read page after page; where there is a `compress`, call it after every tenth."""
    if "passed" in prompt.asks:
        return Reply(json.dumps({"reasoning": "", "passed": True, "fault": "none", "feedback": ""}))
    tens, rest = divmod(prompt.turn, 11 if "compress" in prompt.tools else 10)
    if rest == 10:
        return Reply(calls=(("compress", {"text": f"Pages {tens * 10} to {tens * 10 + 9} read: nothing."}),))
    page = tens * 10 + rest
    return Reply("All read.") if page >= STEPS else Reply(calls=(("read", {"page": page}),))


def read(page: int) -> str:
    """Read a page."""
    return f"{page}: {PAGE}"


def turner(prompt: Prompt) -> Reply:
    """Read page after page, and never call `compress`."""
    return Reply("All read.") if prompt.turn >= STEPS else Reply(calls=(("read", {"page": prompt.turn}),))


def short(request: SummaryRequest) -> str:
    """Write a summary without a model."""
    return f"{len(request.steps)} pages read: nothing."


PART: Final = 0.39
"""The part of its tokens that a framework sends with a memory, at most; README says it."""
MARK: Final = 2_500
LONG: Final = "You read catalogues with care, and never lose your place in them. " * 40
"""A system prompt of some 500 tokens, which count against the mark as the tools do."""
UNDER: Final = Policy(high_water=MARK)


def require_under_the_mark(server: ProviderServer) -> None:
    """No request takes more than the mark, and the summaries (some 30 tokens each) and a step; the frame counts too.

    Raises:
        AssertionError: one does.
    """
    bodies = asked_of_model(server)
    assert len(bodies) == STEPS + 1
    rest = [tokens(body) - 30 * json.dumps(body).count("Status: interim account") for body in bodies]
    assert MARK - 250 < max(rest) < MARK + 250, rest


def share(alone: ProviderServer, kept: ProviderServer) -> float:
    """Return what part of the tokens that a framework alone sends over 60 steps it sends with a memory."""
    assert (alone.refused, kept.refused) == ([], [])
    assert (
        sum(taken.reply.calls[:1] != () and taken.reply.calls[0][0] == "read" for taken in kept.taken)
        == STEPS
    )
    return sum(map(tokens, asked_of_model(kept))) / sum(map(tokens, asked_of_model(alone)))


def require_the_story(commands: Sequence[Command]) -> None:
    """Desk and lamp stand in the order of their calls; the desk passed, the chrome chair failed, the linen chair passed.

    Raises:
        AssertionError: it went otherwise.
    """
    assert isinstance(commands[0], Start)
    grown = [command.action for command in commands if isinstance(command, Grow)]
    bought = ["oak desk", "lamp", "chrome chair", "linen chair"]
    assert grown == [f'buy {{"item":"{item}"}}' for item in bought]
    assert [each.text for each in commands if isinstance(each, Compress)] == [DESK, CHROME, LINEN]
    verdicts = [command.verdict for command in commands if isinstance(command, ApplyVerdict)]
    assert [isinstance(verdict, Failed) for verdict in verdicts] == [False, True, False]
    assert [command.lesson for command in commands if isinstance(command, Revise)] == [FEEDBACK, LESSON]


def judge(request: JudgeRequest | FoldRequest) -> Verdict:
    """Judge a summary without a model."""
    return Failed(FEEDBACK) if "chrome" in request.text else Passed()


def asked_of_model(server: ProviderServer) -> list[Json]:
    """Return the bodies of the requests to the model; the judge's are left out."""
    return [taken.body for taken in server.taken if taken.prompt.tools]


def judge_of(server: ProviderServer) -> ChatJudge:
    """Return a judge that the same server answers."""
    return ChatJudge(client(base_url=server.openai_url, environment={"OPENAI_API_KEY": "k"}), "m")


def async_judge_of(server: ProviderServer) -> AsyncChatJudge:
    """Return the twin."""
    return AsyncChatJudge(async_client(base_url=server.openai_url, environment={"OPENAI_API_KEY": "k"}), "m")


def buys(item: str) -> Reply:
    """Return a reply that buys an item."""
    return Reply(calls=(("buy", {"item": item}),))


def told_by(story: tuple[tuple[str, Reply], ...], prompt: Prompt) -> Reply:
    """Return the last reply of a story whose mark is shown."""
    return next(reply for mark, reply in reversed(story) if mark in prompt.text)


def journal(store: MemoryStore, name: str) -> list[Any]:
    """Return the commands of a session."""
    with Memory.open(store, name) as kept:
        return [entry.command for entry in kept.session.history()]


NOT_DONE: Final = "Not done: [Step 0] has failed"
DESK_BOUGHT: Final = 'buy {"item":"oak desk"}'
_PRICED: Final = "The price is missing."
HASTY: Final = (
    ("", buys("oak desk")),
    ("Bought for $310.", Reply(calls=(("compress", {"text": "Desk."}),))),
    (_PRICED, buys("lamp")),
    ("Not done, of your last reply", Reply(calls=(("compress", {"text": DESK}),))),
    (DESK, Reply(END)),
)
"""A model that goes on shopping although the text of its summary has failed, and is barred from that."""


def hasty(prompt: Prompt) -> Reply:
    """Return what that model does."""
    return told_by(HASTY, prompt)


_EARLY: Final = (
    ("", buys("chrome chair")),
    ("Bought for $129.", Reply(calls=(("compress", {"text": CHROME}),))),
    (CHROME, Reply("Too early.")),
    (FEEDBACK, Reply(END)),
)


def hasty_end(prompt: Prompt) -> Reply:
    """Return what a model does that ends before it knows what the judge says."""
    return told_by(_EARLY, prompt)


LOOKED: Final = 'look {"at":"pond"}'
FROG: Final = "A frog sits there."


def looker(prompt: Prompt) -> Reply:
    """Look at the pond by the host's own tool, and say so."""
    return Reply(END) if FROG in prompt.text else Reply(calls=(("look", {"at": "pond"}),))


def look(at: str) -> str:
    """Look at a place."""
    return FROG


def require_their_look(server: ProviderServer, commands: Sequence[Command]) -> None:
    """The model was offered one `look`, the host's, and what it saw is a step.

    Raises:
        AssertionError: it was ours, or it was lost.
    """
    assert server.refused == []
    for taken in server.taken:
        assert sorted(taken.prompt.tools) == ["compress", "look", "note", "revise"]
        assert "[Step A..B]" not in json.dumps(taken.body["tools"])
    assert [each.action for each in commands if isinstance(each, Grow)] == [LOOKED]


BEFORE: Final = "Buy a desk."
AFTER: Final = "And now the lamp."


def thrifty(prompt: Prompt) -> Reply:
    """Buy what was asked for last, and say so."""
    item, price = ("lamp", LAMP) if AFTER in prompt.text else ("oak desk", "Bought for $310.")
    return Reply("Bought.") if price in prompt.text else buys(item)


def of_prices(request: JudgeRequest) -> Verdict:
    """Judge the text of a summary: it names what was paid."""
    return Passed() if "$" in request.text else Failed(_PRICED, "summary")


@final
class Watched:
    """A memory that notes what it shows, and what was put around that."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory
        self.shown: list[str] = []
        self.beside: list[object] = []

    def messages(self, *given: Any, **named: Any) -> Any:
        """Show S, in either twin."""
        self.beside.append(named.get("beside"))
        shown = self._memory.messages(*given, **named)
        return self._later(shown) if inspect.isawaitable(shown) else self._noted(shown)

    async def _later(self, shown: Any) -> Any:
        return self._noted(await shown)

    def _noted(self, shown: Any) -> Any:
        assert [message["role"] for message in shown] == ["user"]
        self.shown.append(shown[0]["content"])
        return shown

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)


def tokens(body: Json) -> int:
    """Return about how many tokens the model reads of a request."""
    kinds = ("instructions", "messages", "input", "tools")
    return default_counter().count(json.dumps([body[kind] for kind in kinds if body.get(kind)]))
