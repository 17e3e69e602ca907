"""A model that plays the desk shop: it buys a desk and a chair that the judge fails, goes back, buys one that fits.

    with ProviderServer(desk_shop) as server: ...

The model has no memory: what it does next depends on what it is shown, so a loop that was killed and goes on is told
the same again. The judge is on the same server: whoever asks for JSON with `passed` in it gets a verdict.
"""

from __future__ import annotations

import json
from typing import Final

from tests.providers.forms import Json, Prompt, Reply

PRICES: Final = {"oak desk": 310, "chrome chair": 129, "linen chair": 145}
TASK: Final = "Buy a desk, then a chair that fits it."
DESK: Final = "Desk purchased: oak, $310."
CHROME: Final = "Chair purchased: chrome, $129."
LINEN: Final = "Chair purchased: linen, $145."
FEEDBACK: Final = "Oak avoids chrome."
LESSON: Final = "Chrome does not go with oak: look at linen."
END: Final = "Bought: an oak desk for $310, a linen chair for $145."


def _calls(tool: str, **arguments: object) -> Reply:
    return Reply(calls=((tool, arguments),))


# Each reply is given where the text before it is shown and no later one is.
STORY: Final = (
    ("", _calls("buy", item="oak desk")),
    ("Bought for $310.", _calls("compress", text=DESK)),
    (DESK, _calls("buy", item="chrome chair")),
    ("Bought for $129.", _calls("compress", text=CHROME)),
    (FEEDBACK, _calls("revise", step=1, lesson=LESSON)),
    (LESSON, _calls("buy", item="linen chair")),
    ("Bought for $145.", _calls("compress", text=LINEN)),
    (LINEN, Reply(END)),
)


def buy(item: str) -> str:
    """Return what the shop says."""
    return f"Bought for ${PRICES[item]}."


def desk_shop(prompt: Prompt) -> Reply:
    """Return what the model does next, or what the judge says."""
    if "passed" in prompt.asks:
        return Reply(json.dumps(verdict(prompt.text)))
    return next(reply for mark, reply in reversed(STORY) if mark in prompt.text)


def verdict(text: str) -> Json:
    """Return what the judge says of the summary within a text: a chair of chrome does not pass."""
    passed = LINEN in text or CHROME not in text
    fault, feedback = ("none", "") if passed else ("execution", FEEDBACK)
    return {"reasoning": "The desk is of oak.", "passed": passed, "fault": fault, "feedback": feedback}
