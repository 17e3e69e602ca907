"""A judge that knows what is right in the shop, and errs at seeded rates; and a shop that it watches.

The same judge, with the same draws, is asked by an agent that maintains its summaries, or by a shop that gives a wrong
purchase back and says so in its observation. The second is for agents that keep every step: judge and undo without a tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, final

from benchmarks.arena.domains.drawing import draws
from benchmarks.arena.domains.reader import GIVEN_BACK
from benchmarks.arena.domains.shopping.catalogue import Product
from benchmarks.arena.domains.shopping.rules import Browsing, ShopRules
from benchmarks.arena.domains.world import Closed, Standing, World
from mage.chat import judge_messages, written
from mage.effects import Capabilities, FoldRequest, JudgeRequest, Metered, Observed, Usage, Verdict
from mage.engine import Digest, Failed, Hints, Passed, Step, StepId
from mage.tokens import TokenCounter

UNDOS: Final = 3
"""How often a purchase is given back, as the default policy goes back to one boundary."""
_WRONG: Final = "What was bought is not what the rules ask for."


def expected(rules: ShopRules, closed: Sequence[Closed]) -> Product | None:
    """Return what was right in the last subtask that is over, after what was bought before it; None for nothing.

    Nothing is right where an earlier product is missing, or no option fits.
    """
    known = {product.code: product for product in rules.shop.shelf}
    bought = [known.get(dict(each.answer).get("code", "")) for each in closed[:-1]]
    before = [product for product in bought if product is not None]
    if len(before) < len(bought):
        return None
    errand = rules.shop.errands[len(before)]
    spent = sum(product.cents for product in before)
    return errand.best(errand.fitting(before, rules.shop.budget - spent))


@final
class TruthJudge:
    """Fails a wrong purchase but for a share of misses, and a right one in a share of false alarms.

    It looks at the world and not at the steps that it is shown; its tokens are those of the prompt that a model would
    have been sent. Where nothing is right it finds nothing wrong: no other purchase would be better.
    """

    def __init__(
        self,
        world: World[Browsing],
        rules: ShopRules,
        counter: TokenCounter,
        *dice: object,
        misses: float,
        alarms: float,
    ) -> None:
        self._world = world
        self._rules = rules
        self._counter = counter
        self._dice = dice
        self._misses = misses
        self._alarms = alarms
        self._asked: Counter[int] = Counter()

    def __call__(self, request: JudgeRequest | FoldRequest, /) -> Metered[Verdict]:
        """Return a verdict on the newest purchase; an account of an open subtask passes."""
        closed = self._world.standing.closed
        verdict: Verdict = Passed()
        if isinstance(request, JudgeRequest) and request.kind == "subgoal" and closed:
            verdict = self._verdict(closed)
        said = verdict.feedback if isinstance(verdict, Failed) else "passed"
        chat = written(judge_messages(request, manual=self._rules.manual), "chat")
        prompt = sum(self._counter.count(each["content"]) for each in chat)
        return Metered(verdict, Usage(prompt, self._counter.count(said), estimated=1), "judge", "")

    def _verdict(self, closed: Sequence[Closed]) -> Verdict:
        place = len(closed)
        right = expected(self._rules, closed)
        is_right = right is None or dict(closed[-1].answer).get("code") == right.code
        errs = draws("laboratory", *self._dice, "judge", place, self._asked[place]).random() < (
            self._alarms if is_right else self._misses
        )
        self._asked[place] += 1
        return Passed() if is_right != errs else Failed(_WRONG)


@final
class JudgedShop:
    """A shop in which a judge looks at each purchase, and has a wrong one given back, a few times.

    Attributes:
        capabilities: those of the shop.
        spent: tokens of the judge.
    """

    def __init__(self, world: World[Browsing], judge: TruthJudge, task: str) -> None:
        self.capabilities: Capabilities = world.capabilities
        self.spent = Usage(calls=0)
        self._world = world
        self._judge = judge
        self._task = task
        self._begun: Standing[Browsing] = world.standing
        self._steps: list[Step] = []
        self._undone = 0

    def reset(self) -> Observed:
        """Begin anew."""
        seen = self._world.reset()
        self._begin()
        return seen

    def _begin(self) -> None:
        self._begun, self._steps, self._undone = self._world.standing, [], 0

    def act(self, action: str, /) -> Observed:
        """Perform an action; one that ends a subtask is judged."""
        place, at = len(self._begun.closed), len(self._steps)
        seen = self._world.act(action)
        self._steps.append(Step(StepId(at + 1), StepId(at), action, seen.text))
        if len(self._world.standing.closed) == place:
            return seen
        verdict = self._judged(place, seen.text)
        if not isinstance(verdict, Failed) or self._undone == UNDOS:
            self._begin()
            return seen
        self._undone += 1
        self._world.standing = self._begun
        self._steps = []
        told = seen.text.partition("\nThat was the last subtask")[0]  # it is not over any more
        return Observed(f"{told}\nA judge says: {verdict.feedback} {GIVEN_BACK}, and has to be bought anew.")

    def _judged(self, place: int, text: str) -> Verdict:
        instruction = self._world.rules.instructions[place]
        hints = Hints(StepId(0), (), (), ())
        request = JudgeRequest(
            self._task, (instruction,), "subgoal", (), hints, (), tuple(self._steps), text, (), Digest("")
        )
        answer = self._judge(request)
        self.spent += answer.usage
        return answer.value
