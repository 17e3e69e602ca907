"""The demo's shop: ten products, an environment that sells them, and the model, judge and summarizer of a story in it.

`mage demo` and `mage run --offline` show this story. Model, judge and summarizer need no network and no key: each is a
function of its prompt or request. So the story goes on wherever it was interrupted, under any policy, and in the middle
of any other journal of this task. The model makes one mistake: it buys the cheapest chair, unless a lesson at that place
names the linen chairs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, final

import attrs

from mage.effects import (
    Capabilities,
    ChapterRequest,
    Decide,
    Decision,
    NoEffect,
    Observed,
    Reversible,
    SummaryRequest,
)
from mage.engine import ExecutionState, Failed, FoldRequest, JudgeRequest, Passed, Summary, Verdict

# -- what is sold, and the words of the story ----------------------------------------------------------

BUDGET: Final = 700
"""Dollars."""
_KINDS: Final = ("desk", "chair", "lamp")
"""What is wanted, in this order."""
TASK: Final = (
    f"Furnish a study: buy a desk, then a chair, then a lamp, one of each, for at most ${BUDGET} in all."
    " What was bought before decides what fits: follow the notes that come with each product."
)
SUBTASKS: Final = (
    "Product 1: an oak desk, 120 cm, solid wood.",
    "Product 2: a desk chair. Oak pairs well with linen. Oak avoids chrome. Check every option.",
    "Product 3: a desk lamp. Linen pairs well with brass.",
)
_FEEDBACK: Final = (
    "The desk is oak and oak avoids chrome, so {code} does not fit. The linen chairs were never looked at."
)


@final
@attrs.frozen
class Product:
    """One thing to buy.

    Attributes:
        code: its number in orders.
        kind: desk, chair or lamp.
        line: its line in the results of a search, without the price.
        price: in dollars.
        reviews: the end of that line, behind the price.
        page: its page, two lines without price and button.
        short: its name in a summary.
    """

    code: str
    kind: str
    line: str
    price: int
    reviews: str
    page: str
    short: str

    @property
    def listed(self) -> str:
        """The line in a list of results."""
        return f"{self.code} {self.line}, ${self.price}, {self.reviews}"

    @property
    def opened(self) -> str:
        """The page, with price and button."""
        return f"{self.code} {self.page}Price: ${self.price}. [Buy Now]"


GOODS: Final = (
    Product(
        "D-2041",
        "desk",
        "Halden desk, solid oak, 120 x 60 cm, cable tray",
        310,
        "4.6 of 5 (212 reviews)",
        "Halden desk. Solid oak, oiled. 120 x 60 x 74 cm, 31 kg. Cable tray under the rear edge.\n"
        "Delivered in two boxes, about 40 minutes to put together. In stock: 7. ",
        "Halden desk, solid oak, 120 cm",
    ),
    Product(
        "D-2077",
        "desk",
        "Halden desk, oak veneer, 140 x 70 cm",
        265,
        "3.9 of 5 (88 reviews)",
        "Halden desk. Chipboard with oak veneer. 140 x 70 x 74 cm, 27 kg. In stock: 3.\n",
        "Halden desk, oak veneer, 140 cm",
    ),
    Product(
        "D-1902",
        "desk",
        "Brink desk, painted pine, 120 x 60 cm, white",
        189,
        "4.1 of 5 (530 reviews)",
        "Brink desk. Pine, painted white. 120 x 60 x 73 cm, 22 kg. In stock: 19.\n",
        "Brink desk, painted pine, 120 cm",
    ),
    Product(
        "C-1180",
        "chair",
        "Orbit swivel chair, chrome frame, black mesh, five castors",
        129,
        "4.4 of 5 (1,034 reviews)",
        "Orbit swivel chair. Chrome frame, black mesh back, seat height 44 to 54 cm, 12 kg.\n"
        "For hard floors. In stock: 41. ",
        "Orbit chair, chrome",
    ),
    Product(
        "C-1181",
        "chair",
        "Orbit swivel chair, chrome frame, grey mesh, headrest",
        159,
        "4.2 of 5 (301 reviews)",
        "Orbit swivel chair. Chrome frame, grey mesh back, headrest, 13 kg.\nFor hard floors. In stock: 12. ",
        "Orbit chair, chrome, headrest",
    ),
    Product(
        "C-2210",
        "chair",
        "Sund desk chair, linen seat, beech legs",
        175,
        "4.5 of 5 (146 reviews)",
        "Sund desk chair. Natural linen seat, beech legs, seat height 46 cm, 8 kg.\nIn stock: 9. ",
        "Sund chair, linen, beech legs",
    ),
    Product(
        "C-2214",
        "chair",
        "Sund desk chair, linen seat and back, oak legs",
        198,
        "4.7 of 5 (97 reviews)",
        "Sund desk chair. Natural linen, oak legs, seat height 46 cm, 9 kg. Cover can be washed.\n"
        "In stock: 5. ",
        "Sund chair, linen, oak legs",
    ),
    Product(
        "L-0310",
        "lamp",
        "Fyr desk lamp, brass stem, linen shade",
        84,
        "4.8 of 5 (77 reviews)",
        "Fyr desk lamp. Brushed brass stem, linen shade, 42 cm, E14 bulb not included. In stock: 12.\n",
        "Fyr desk lamp, brass, linen shade",
    ),
    Product(
        "L-0342",
        "lamp",
        "Fyr floor lamp, brass stem, linen shade",
        139,
        "4.6 of 5 (59 reviews)",
        "Fyr floor lamp. Brushed brass stem, linen shade, 148 cm, E27 bulb not included. In stock: 6.\n",
        "Fyr floor lamp, brass, linen shade",
    ),
    Product(
        "L-0207",
        "lamp",
        "Bolt desk lamp, chrome arm",
        39,
        "4.3 of 5 (870 reviews)",
        "Bolt desk lamp. Chrome arm, 38 cm, LED included. In stock: 55.\n",
        "Bolt desk lamp, chrome",
    ),
)
_BY_CODE: Final = {product.code: product for product in GOODS}

# -- the environment -----------------------------------------------------------------------------------

_MANUAL: Final = (
    "search[words] lists products; open[code] shows one; buy[code] buys it; return[code] gives it back."
)
_ACTION: Final = re.compile(r"(search|open|buy|return)\[(.+)\]", re.DOTALL)
_WORD: Final = re.compile(r"[a-z0-9]+")


@final
class Shop:
    """A deterministic shop, as an `Environment`: restored by a reset and the actions of the path.

    `search` and `open` change nothing; `buy` and `return` undo each other, and declare that. The first desk, chair and
    lamp that is bought brings the instruction of the next subtask. Nothing can be bought beyond the budget.

    Attributes:
        bought: the codes of what was bought and not returned, oldest first.
    """

    capabilities = Capabilities("replay", manual=_MANUAL)

    def __init__(self) -> None:
        self.bought: tuple[str, ...] = ()

    @property
    def spent(self) -> int:
        """The sum of the prices of what was bought and not returned, in dollars."""
        return sum(_BY_CODE[code].price for code in self.bought)

    def reset(self) -> Observed:
        """Empty the basket, and return the instruction of the first subtask."""
        self.bought = ()
        return Observed("", instructions=SUBTASKS[:1])

    def act(self, action: str) -> Observed:
        """Perform an action; the observation of an unknown action lists those that there are."""
        understood = _ACTION.fullmatch(action.strip())
        if understood is None:
            return _looked(f"There is no such action. {_MANUAL}")
        verb, what = understood[1], understood[2].strip()
        if verb == "search":
            return _looked(_results(what))
        product = _BY_CODE.get(what)
        if product is None:
            return _looked(f"There is no product {what}.")
        if verb == "open":
            return _looked(product.opened)
        return self._buy(product) if verb == "buy" else self._return(product)

    def _buy(self, product: Product) -> Observed:
        if product.code in self.bought:
            return _looked(f"{product.code} was bought before.")
        if self.spent + product.price > BUDGET:
            return _looked(
                f"Not bought: {product.code} is ${product.price}, ${BUDGET - self.spent} are left."
            )
        had = {_BY_CODE[code].kind for code in self.bought}
        self.bought = (*self.bought, product.code)
        return Observed(
            f"Bought {product.code} for ${product.price}. Spent so far: ${self.spent}.",
            instructions=_subtask_after(product.kind) if product.kind not in had else (),
            effect=Reversible(f"return[{product.code}]"),
        )

    def _return(self, product: Product) -> Observed:
        if product.code not in self.bought:
            return _looked(f"{product.code} was not bought.")
        self.bought = tuple(code for code in self.bought if code != product.code)
        return Observed(
            f"Returned {product.code}. Spent so far: ${self.spent}.",
            effect=Reversible(f"buy[{product.code}]"),
        )


def _looked(text: str) -> Observed:
    return Observed(text, effect=NoEffect())


def _subtask_after(kind: str) -> tuple[str, ...]:
    following = _KINDS.index(kind) + 1
    return SUBTASKS[following : following + 1]


def _results(query: str) -> str:
    """Return the products of the kind named last in a query, first those that share more of its other words."""
    words = _WORD.findall(query.lower())
    kinds = [word for word in words if word in _KINDS]
    wanted = set(words) - set(kinds[-1:])
    of_kind = [product for product in GOODS if product.kind in (kinds[-1:] or _KINDS)]
    shared = {product: len(wanted & set(_WORD.findall(product.line.lower()))) for product in of_kind}
    found = [product for product in of_kind if shared[product] or not wanted]
    found.sort(key=lambda product: -shared[product])
    head = f'{len(found)} {"result" if len(found) == 1 else "results"} for "{query}"'
    return "\n".join([head, *(f"{place}. {product.listed}" for place, product in enumerate(found, 1))])


# -- model, judge and summarizer -----------------------------------------------------------------------

_WAYS: Final = (
    ("oak desk 120 cm", "D-2041"),
    ("chrome swivel chair", "C-1180"),
    ("desk lamp brass linen shade", "L-0310"),
)
"""The query and the purchase of the model, by subtask, without a lesson."""
_WISER: Final = ("linen desk chair", "C-2214")
_BOUGHT: Final = re.compile(r"Bought (\S+) for \$\d+\. Spent so far: \$(\d+)\.")


def shopper(request: Decide, /) -> Decision:
    """Decide as the story goes: search, open, buy and compress for each subtask; then finish."""
    done, known = _progress(request.shown)
    if done == len(SUBTASKS):
        return Decision.finish("The study is furnished.", thought="All three are bought.")
    query, code = _way(done, request.shown)
    for action in (f"search[{query}]", f"open[{code}]", f"buy[{code}]"):
        if action not in known:
            return Decision.act(action)
    return Decision.compress(_claim(done + 1, code, _spent(known)))


def _claim(subtask: int, code: str, spent: int) -> str:
    """Return the text of the summary of a subtask, counted from 1."""
    product = _BY_CODE[code]
    return (
        f"Product {subtask} purchased: {code} {product.short}, ${product.price}. Spent ${spent} of ${BUDGET}."
    )


def _way(subtask: int, shown: ExecutionState) -> tuple[str, str]:
    told = any("linen" in lesson.text for lesson in shown.hints.lessons)
    return _WISER if told and subtask == 1 else _WAYS[subtask]


def _progress(shown: ExecutionState) -> tuple[int, str]:
    """Return how many subtasks are done, and what S shows of the present one: fallbacks, then steps.

    Where steps are shown in place of summaries (D18), those before the boundary that bought something count.
    """
    done, known = 0, list[str]()
    for line in shown.compressed:
        is_interim = isinstance(line, Summary) and line.kind == "fallback"
        known = [*known, line.text] if is_interim else []
        done += line.text.count("purchased:")
    for step in shown.raw:
        known.append(f"{step.action}: {step.observation}")
        if step.id <= shown.boundary and _BOUGHT.search(step.observation):
            done, known = done + 1, []
    return done, "\n".join(known)


def _spent(known: str) -> int:
    found = _BOUGHT.findall(known)
    return int(found[-1][1]) if found else 0


def judge(request: JudgeRequest | FoldRequest, /) -> Verdict:
    """Judge a purchase by the steps and the instructions: the product must fit, and the text must name it.

    A fallback claims nothing, and passes. A chapter must name all products that its lines name.
    """
    if isinstance(request, FoldRequest):
        named = [code for code in _BY_CODE if any(code in line.text for line in request.lines)]
        left_out = [code for code in named if code not in request.text]
        return Failed(f"{', '.join(left_out)} left out.", "summary") if left_out else Passed()
    if request.kind == "fallback":
        return Passed()
    bought = list(_bought(request))
    if not bought:
        return Failed("Nothing was bought.")
    code = bought[-1]
    if code not in request.text:
        return Failed(f"{code} was bought, and the text does not say so.", "summary")
    avoids_chrome = any("Oak avoids chrome" in instruction for instruction in request.instructions)
    if avoids_chrome and "chrome" in _BY_CODE[code].line:
        return Failed(_FEEDBACK.format(code=code))
    return Passed()


def _bought(request: JudgeRequest) -> Iterator[str]:
    for step in request.steps:
        yield from (code for code, _ in _BOUGHT.findall(step.observation) if code in _BY_CODE)


def summarize(request: SummaryRequest | ChapterRequest, /) -> str:
    """Return the actions so far, purchases with their results; of a chapter, the texts of its lines."""
    if isinstance(request, ChapterRequest):
        return " ".join([line.text for line in request.lines])
    earlier = [earlier.text for earlier in request.earlier[-1:]]
    done = [_told(step.action, step.observation) for step in request.steps]
    return " ".join([*earlier, *done]) or "Nothing was done so far."


def _told(action: str, observation: str) -> str:
    purchase = _BOUGHT.search(observation)
    return f"Did {action}. {purchase[0]}" if purchase else f"Did {action}."
