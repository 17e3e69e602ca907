"""A context reader: a scripted model that knows what stands in its prompt, and nothing else.

It takes the text of a prompt of the shop, and returns a decision by the rules of the shop. It has no task, no world and
no memory of its own but dice: how often it has seen a product bought, so that another try is another throw. A fact that
is not in the text is guessed, and now and then it buys what it does not want; both are drawn from the seed. Of the
hints it reads nothing, it never looks into a summary, and it goes back only where a judge sends it. What was bought
earlier it may overlook, with a probability that the length of the text decides; the present options it never does.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias, final

import attrs

from benchmarks.arena.domains.calls import action
from benchmarks.arena.domains.drawing import draws
from benchmarks.arena.domains.shopping.catalogue import dollars
from benchmarks.arena.retrieval.attached import RETRIEVED
from mage.chat import BadAction, parse_action
from mage.effects import Decision

GIVEN_BACK: Final = "It was given back"
"""How an observation says that a purchase does not count any more."""

_MARGIN: Final = re.compile(r"\n(?! )")
_BUDGET: Final = re.compile(r"bundle of (\d+) products.* for at most (\$\d+\.\d\d) in all")
_WANTED: Final = re.compile(r"Product (\d+): buy one .+\. Of those that fit and can be paid, (.+)\.")
_RESERVE: Final = re.compile(r"Leave at least (\$\d+\.\d\d) of the budget")
_AVOIDING: Final = re.compile(r"Avoid notes, product (\d+) with this one:")
_AVOIDS: Final = re.compile(r"- (.+) avoids (.+)\.")
_OPTION: Final = re.compile(r"\d+\. (.+)")
_LISTED: Final = re.compile(r"(\S+-\d{4}) (.+)")
_PAGES: Final = re.compile(r"Page (\d+) of (\d+):")
_PRICED: Final = re.compile(r"Price: (\$\d+\.\d\d)\. Rating: (\d\.\d) of 5\.")
_SUMMARY: Final = re.compile(r"\[Step [\d.]+\] ")
_ENDED: Final = re.compile(r"(?:Bought as product|Subtask) (\d+)(?: is closed)?")
_BOUGHT: Final = re.compile(
    r"(?:Bought as product|Product) (\d+)(?: purchased)?: (\S+) (.+), (\$\d+\.\d\d)\.$"
)
_OVER: Final = re.compile(r"Product (\d+)(?: purchased:|: nothing was bought| was purchased)")
_CARTED: Final = re.compile(r"Cart: product (\d+) is (\S+) (.+), (\$\d+\.\d\d)\.")
_RETRIEVED: Final = f"Notice: {RETRIEVED}"
_UNDONE: Final = "hints"
_SPREAD: Final = 0.7
"""A price that is not known is guessed within so much of an equal share of the budget."""


@final
@attrs.frozen
class Found:
    """What the text says of a product.

    Attributes:
        code: what it is ordered by; empty where only its title is known.
        title: its title.
        cents: its price.
        rating: tenths of a star.
    """

    code: str
    title: str
    cents: int
    rating: int = 0


@final
@attrs.define
class Scene:
    """All that a prompt says that a purchase depends on; it is filled while the text is read, from its beginning.

    Attributes:
        count: products of the bundle.
        budget: cents.
        place: which product is wanted, counted from 1; 0 where none is.
        preference: which of those that fit is wanted.
        reserve: cents that must be left.
        options: titles.
        avoids: by earlier product, what each word avoids.
        bought: purchases whose title and price stand in the text, by their number.
        cart: what the newest observation says is in the cart, by number; empty in a shop without one.
        over: the numbers of the products that were dealt with, facts or not.
        pages: products by title, whose page stands in the text.
        codes: codes by title, of the results of the last search.
        refused: codes that could not be paid.
        searched: the words of the last search.
        has_more: whether its results have a further page.
        last: the last action and what was seen.
        is_open: whether there are steps to compress.
    """

    count: int = 0
    budget: int = 0
    place: int = 0
    preference: str = ""
    reserve: int = 0
    options: tuple[str, ...] = ()
    avoids: Mapping[int, Mapping[str, frozenset[str]]] = attrs.field(factory=dict)
    bought: dict[int, Found] = attrs.field(factory=dict)
    cart: Mapping[int, Found] = attrs.field(factory=dict)
    over: set[int] = attrs.field(factory=set)
    pages: dict[str, Found] = attrs.field(factory=dict)
    codes: dict[str, str] = attrs.field(factory=dict)
    refused: set[str] = attrs.field(factory=set)
    searched: str = ""
    has_more: bool = True
    last: tuple[str, str] = ("", "")
    is_open: bool = True

    @property
    def opened(self) -> str:
        """The code of the product that the last action has opened; empty where it was another action."""
        name, said = _call(self.last[0])
        return said if name == "open" else ""


def read(text: str) -> Scene:
    """Return what a prompt says. Total: what is not there is left out. Cost: O(length)."""
    scene = Scene()
    done = ""
    for block in _blocks(text):
        if block.startswith("Nothing is open"):
            scene.is_open = False
        elif block.startswith("Hints: "):
            done = _UNDONE
        elif done == _UNDONE:
            continue  # what was tried and left is no fact
        elif block.startswith("Action["):
            done = block.removeprefix("Action[").removesuffix("]")
        elif block.startswith("Observation: "):
            _see(scene, done, block.removeprefix("Observation: "))
        else:
            _take(scene, block)
    return scene


def _take(scene: Scene, block: str) -> None:
    """Take in a block that is no step and no hint."""
    if block.startswith("Task: "):
        _take_task(scene, block)
    elif block.startswith("Instruction: "):
        _take_instruction(scene, block.removeprefix("Instruction: "))
    elif block.startswith(_RETRIEVED):
        _take_retrieved(scene, block)
    elif _SUMMARY.match(block):
        _take_account(scene, _SUMMARY.sub("", block, count=1))


def _blocks(text: str) -> Iterator[str]:
    """Yield the blocks from the task on: a line at the left margin and the indented ones below it."""
    _, task, rest = text.partition("\nTask: ")
    for block in _MARGIN.split(f"{task.lstrip()}{rest}"):
        yield block.replace("\n ", "\n")


def _take_task(scene: Scene, block: str) -> None:
    said = _BUDGET.search(block)
    if said is not None:
        scene.count, scene.budget = int(said[1]), _cents(said[2])


def _take_instruction(scene: Scene, text: str) -> None:
    """Take an instruction in: the newest stands last, and replaces those before it."""
    wanted = _WANTED.match(text)
    if wanted is None:
        return
    scene.place, scene.preference = int(wanted[1]), wanted[2]
    reserve = _RESERVE.search(text)
    scene.reserve = 0 if reserve is None else _cents(reserve[1])
    of, options, avoids = 0, list[str](), dict[int, dict[str, frozenset[str]]]()
    for line in text.split("\n"):
        noted, avoided, option = _AVOIDING.match(line), _AVOIDS.match(line), _OPTION.match(line)
        if noted is not None:
            of = int(noted[1])
            avoids[of] = {}
        elif avoided is not None and of:
            avoids[of][avoided[1].lower()] = frozenset(re.split(r", | and ", avoided[2].lower()))
        elif option is not None:
            options.append(option[1])
    scene.options, scene.avoids = tuple(options), avoids


def _take_account(scene: Scene, text: str) -> None:
    """Take in what a summary says of a purchase, with its title and price or without."""
    for line in text.split("\n"):
        over = _OVER.match(line)
        if over is not None:
            scene.over.add(int(over[1]))
            _take_purchase(scene, line)


def _take_purchase(scene: Scene, line: str) -> None:
    bought = _BOUGHT.match(line)
    if bought is not None:
        scene.bought[int(bought[1])] = Found(bought[2], bought[3], _cents(bought[4]))


def _take_retrieved(scene: Scene, block: str) -> None:
    """Take in the purchases among what was retrieved. Pages and results of earlier subtasks decide nothing now."""
    for line in block.split("\n"):
        said = line.rpartition("Observation: ")[2]
        if said.startswith("Bought"):
            _take_purchase(scene, said)


def _see(scene: Scene, done: str, text: str) -> None:
    """Take in what was seen after an action."""
    before, scene.last = scene.opened, (done, text)
    name, said = _call(done)
    if name == "search":
        scene.searched, scene.has_more = said, True
        scene.codes.clear()
    seen = _seen(text)
    scene.codes.update(seen.codes)
    scene.pages.update(seen.pages)
    if seen.has_more is not None:
        scene.has_more = seen.has_more
    if text.startswith("Not bought"):
        scene.refused.add(before)
    if "\nCart: " in text:
        carted = [line for each in text.split("\n") if (line := _CARTED.fullmatch(each)) is not None]
        scene.cart = {int(line[1]): Found(line[2], line[3], _cents(line[4])) for line in carted}
    ended = _ended(text)
    if ended and GIVEN_BACK not in text:
        scene.over.add(ended)
        _take_purchase(scene, text.split("\n", maxsplit=1)[0])


@final
@attrs.frozen
class _Seen:
    codes: Mapping[str, str] = attrs.field(factory=dict)
    pages: Mapping[str, Found] = attrs.field(factory=dict)
    has_more: bool | None = None


@lru_cache(maxsize=4096)
def _seen(text: str) -> _Seen:
    """Return what an observation shows; one that stands in many prompts is read once."""
    lines = text.split("\n")
    pages = _PAGES.match(lines[0])
    if pages is not None:
        rows = [row for line in lines[1:] if (row := _LISTED.fullmatch(line)) is not None]
        return _Seen({row[2]: row[1] for row in rows}, has_more=int(pages[1]) < int(pages[2]))
    named, priced = _LISTED.fullmatch(lines[0]), _PRICED.match(lines[1]) if len(lines) > 1 else None
    if named is None or priced is None:
        return _Seen()
    rating = round(float(priced[2]) * 10)
    return _Seen(pages={named[2]: Found(named[1], named[2], _cents(priced[1]), rating)})


@lru_cache(maxsize=4096)
def _ended(text: str) -> int:
    """Return the number of the product that is over by an observation; 0 for none."""
    for line in text.split("\n"):
        ended = _ENDED.match(line)
        if ended is not None:
            return int(ended[1])
    return 0


@lru_cache(maxsize=4096)
def _call(done: str) -> tuple[str, str]:
    """Return the tool of an action and its one argument, both empty where it is no call."""
    try:
        name, arguments = parse_action(done)
    except BadAction:
        return "", ""
    return name, str(next(iter(arguments.values()), ""))


def _cents(text: str) -> int:
    return round(float(text.strip("$")) * 100)


Recall: TypeAlias = Callable[[str], float]
"""From the text of a prompt, the share of earlier purchases in it that are noticed."""


def all_of_it(_text: str, /) -> float:
    """Notice everything, however long a text is."""
    return 1.0


@final
class ContextReader:
    """Decides from the text of a prompt; see the module.

    Attributes:
        guessed: facts that it had to guess, over the purchases that it has decided.
    """

    def __init__(
        self,
        *dice: object,
        mistakes: float = 0.0,
        loss: float = 0.0,
        compresses: bool = True,
        recall: Recall = all_of_it,
    ) -> None:
        """Make a reader.

        Args:
            dice: names its draws.
            mistakes: the share of purchases for which it takes another option than it wants.
            loss: the share of its summaries that say neither title nor price.
            compresses: whether it compresses after each product.
            recall: the share of earlier purchases that it notices in a text, when it buys and when it summarizes.
        """
        self.guessed = 0
        self._dice = dice
        self._mistakes = mistakes
        self._loss = loss
        self._compresses = compresses
        self._recall = recall
        self._tries: Counter[int] = Counter()

    def __call__(self, text: str, /) -> Decision:
        """Return what to do, from the text of a prompt. Cost: O(length)."""
        scene = read(text)
        ended = _ended(scene.last[1])
        if ended:
            self._tries[ended] += 1
            if self._compresses and scene.is_open and ended in scene.over:
                return Decision.compress(self._account(scene, ended, text))
        if scene.count in scene.over or not scene.place:
            return Decision.finish("Done.")
        return Decision.act(_looking(scene) or self._buying(scene, text))

    def _noticed(self, scene: Scene, text: str, place: int) -> Mapping[int, Found]:
        """Return the purchases that are noticed in a text. A longer one never shows more: each has one throw a try."""
        facts = {**scene.cart, **scene.bought}
        share = self._recall(text) if facts else 0.0
        return {of: each for of, each in facts.items() if self._draw("notice", place, of).random() < share}

    def _account(self, scene: Scene, place: int, text: str) -> str:
        """Return the text of a summary, which may have lost what later products need."""
        if not scene.last[1].startswith("Bought"):
            return f"Product {place}: nothing was bought."
        known = self._noticed(scene, text, place).get(place)
        if known is None or self._draw("loss", place).random() < self._loss:
            return f"Product {place} was purchased."
        return f"Product {place} purchased: {known.code} {known.title}, {dollars(known.cents)}."

    def _draw(self, what: str, place: int, *more: object) -> random.Random:
        return draws("laboratory", *self._dice, what, place, self._tries[place], *more)

    def _buying(self, scene: Scene, text: str) -> str:
        """Return the action that buys what the rules ask for, or by mistake something else."""
        known = self._noticed(scene, text, scene.place)
        found = [scene.pages[title] for title in scene.options if title in scene.pages]
        found = [each for each in found if each.code not in scene.refused]
        left, missing = self._left(scene, known)
        bad, unknown = self._avoided(scene, known)
        fitting = [
            each
            for each in found
            if each.cents <= left - scene.reserve and not bad & set(each.title.lower().split())
        ]
        choice = _best(fitting or sorted(found, key=lambda each: each.cents)[:1], scene.preference)
        others = [each for each in found if each != choice and each.cents <= left]
        slip = self._draw("mistake", scene.place)
        if slip.random() < self._mistakes and others:
            choice = slip.choice(others)
        if choice is None:
            return action("buy")  # which the shop refuses, until the cap closes the subtask
        if scene.opened != choice.code:
            return action("open", code=choice.code)
        self.guessed += missing + unknown
        return action("buy")

    def _left(self, scene: Scene, facts: Mapping[int, Found]) -> tuple[int, int]:
        """Return what is left of the budget in cents, and how many prices of earlier products were guessed for it."""
        left, missing = scene.budget, 0
        for place in range(1, scene.place):
            known = facts.get(place)
            if known is None:
                missing += 1
                off = self._draw("price", scene.place, place).uniform(-_SPREAD, _SPREAD)
                left -= round(scene.budget / scene.count * (1 + off))
            else:
                left -= known.cents
        return left, missing

    def _avoided(self, scene: Scene, facts: Mapping[int, Found]) -> tuple[frozenset[str], int]:
        """Return the words that must not stand in a title, and how many earlier titles were guessed for it."""
        bad, missing = frozenset[str](), 0
        for place, avoids in scene.avoids.items():
            known = facts.get(place)
            if known is None:
                missing += 1
                words = {self._draw("title", scene.place, place).choice(sorted(avoids))} if avoids else set()
            else:
                words = set(known.title.lower().split())
            bad = bad.union(*[avoids[word] for word in words if word in avoids])
        return bad, missing


def _looking(scene: Scene) -> str:
    """Return the action that looks for the first option whose page is not in the text; empty where each is.

    It searches for each by its whole text, as the manual says, also where another search has listed it.
    """
    for title in scene.options:
        if title in scene.pages:
            continue
        if scene.searched != title:
            return action("search", words=title)
        if title in scene.codes:
            return action("open", code=scene.codes[title])
        if scene.has_more:
            return action("next_page")
    return ""


def _best(products: Sequence[Found], preference: str) -> Found | None:
    if preference == "the highest rating":
        return max(products, key=lambda each: each.rating, default=None)
    sign = 1 if preference == "the highest price" else -1
    return max(products, key=lambda each: sign * each.cents, default=None)
