"""Chapters in a run: when the oldest lines of C are folded, and what if that fails."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mage import Failed, Passed
from mage.agent import Policy, RunFinished
from mage.agent.log import RunNote
from mage.effects import ChapterRequest, Decision, EffectError, FoldRequest
from mage.engine import Chapter, Compress, ExecutionState, Fold, Summary
from mage.render import Meter
from mage.session import Entry
from mage.testing import ScriptedEnvironment
from mage.tokens import EstimateCounter
from tests.agent.playing import DONE, Played, acts, compress

MARK = 100
"""About three lines of what `done` says."""
WRONG = Failed("The price is missing.", "summary")
METER = Meter(EstimateCounter())


def done(number: int) -> str:
    """Return a text of about 30 tokens."""
    return f"did {number} " + "at length " * 11


def subgoals(count: int) -> list[Decision]:
    """Return the decisions that complete so many subgoals."""
    return [turn for number in range(count) for turn in (acts(f"a{number}"), compress(done(number)))]


def played(count: int, *, texts: object, verdicts: object = None, policy: Policy | None = None) -> Played:
    """Return a run of so many subgoals, whose C is folded early."""
    judging = [Passed()] * (3 * count) if verdicts is None else verdicts
    return Played(
        *subgoals(count), DONE,
        texts=texts, verdicts=judging, policy=policy or Policy(fold_at=MARK),  # type: ignore[arg-type]  # passed on
        environment=ScriptedEnvironment(*["seen"] * count),
    )  # fmt: skip


def taken(shown: ExecutionState) -> int:
    """Return the tokens that C takes."""
    return sum(map(METER.line, shown.compressed))


def lines_of(shown: ExecutionState) -> list[tuple[str, int, int]]:
    """Return kind, label and boundary of each line of C."""
    return [(type(line).__name__, line.label, line.boundary) for line in shown.compressed]


def test_the_oldest_lines_are_folded_and_the_newest_stay() -> None:
    """Where C takes more than the mark, its older summaries become one chapter, which its judge has passed (D19)."""
    run = played(4, texts=["did 0 to 3"])
    assert isinstance(run.run(), RunFinished)
    (asked,) = run.chapters
    assert [line.text for line in asked.lines] == [done(0), done(1), done(2), done(3)]
    assert asked.limit == METER.line(asked.lines[0]) * 4  # it must not be longer than what it replaces
    (judged,) = run.folded
    assert (judged.text, judged.lines) == ("did 0 to 3", asked.lines)
    fold = next(command for command in run.commands if isinstance(command, Fold))
    assert (fold.first, fold.last, fold.digest) == (0, 4, judged.digest)
    assert lines_of(run.decisions.asked[-1].shown) == [("Chapter", 0, 4)]


def test_what_is_newest_stays_whole() -> None:
    """Those of the newest lines that together take at most a quarter of the mark are not folded."""
    script = [*subgoals(4), acts("b"), compress("short"), DONE]
    whole = Played(*script, verdicts=[Passed()] * 9, policy=Policy(fold_at=None))
    whole.run()
    run = Played(
        *script, texts=["did 0 to 3"], verdicts=[Passed()] * 9,
        policy=Policy(fold_at=taken(whole.decisions.asked[-1].shown) - 1),
    )  # fmt: skip
    run.run()
    assert lines_of(run.decisions.asked[-1].shown) == [("Chapter", 0, 4), ("Summary", 4, 5)]


@pytest.mark.parametrize("count", [40])
def test_c_stays_small_for_ever(count: int) -> None:
    """However many subgoals there are, C takes at most the mark; chapters are folded into chapters."""
    run = played(count, texts=[f"chapter {number}" for number in range(count)])
    assert isinstance(run.run(), RunFinished)
    assert max(taken(asked.shown) for asked in run.decisions.asked) <= MARK
    assert any(isinstance(line, Chapter) for asked in run.chapters for line in asked.lines)
    last = run.decisions.asked[-1].shown.compressed
    assert (last[0].label, last[-1].boundary) == (0, count)
    assert run.again().run() == run.run(live=False)


def test_a_text_that_is_refused_is_written_once_more() -> None:
    """A judge's words, or that it is too long, go back to the summarizer; the second text is judged again."""
    for first, verdicts in (("did", [WRONG, Passed()]), ("word " * 999, [Passed()]), (" ", [Passed()])):
        run = played(4, texts=[first, "did 0 to 3"], verdicts=[Passed()] * 4 + verdicts)
        assert isinstance(run.run(), RunFinished)
        assert run.chapters[1].rejected == first
        assert run.chapters[1].feedback
        assert isinstance(run.decisions.asked[-1].shown.compressed[0], Chapter)


def test_a_chapter_that_fails_twice_waits_for_more_lines() -> None:
    """It is not folded, and not asked for again before there is another line; the run goes on."""
    script = [*subgoals(4), acts("b"), acts("c"), compress("more"), DONE]
    verdicts: list[Passed | Failed] = [*[Passed()] * 4, WRONG, WRONG, Passed(), Passed()]
    run = Played(*script, texts=["one", "two", "did 0 to 3"], verdicts=verdicts, policy=Policy(fold_at=MARK))
    assert isinstance(run.run(), RunFinished)
    assert [asked.rejected for asked in run.chapters] == [None, "one", None]
    assert sum(isinstance(command, Fold) for command in run.commands) == 1


@pytest.mark.parametrize("who", ["summarizer", "judge"])
def test_where_nobody_answers_it_is_said_once(who: str) -> None:
    """A run whose summarizer or judge gives no answer goes on unfolded, asks less and less often, and says so once."""
    count, down = 24, EffectError("unreachable", "there is none")
    if who == "summarizer":
        run = played(count, texts=[down] * count)
    else:
        verdicts: list[Passed | Exception] = [
            *[Passed()] * 4,
            down,
            *[Passed()] * 5,
            down,
            *[Passed()] * 10,
            down,
            *[Passed()] * 9,
        ]
        run = played(count, texts=["text"] * count, verdicts=verdicts)
    assert isinstance(run.run(), RunFinished)
    assert [len(asked.lines) for asked in run.chapters] == [4, 9, 19]
    assert [kind for kinds in run.told for kind in kinds] == ["tokens"]
    assert not any(isinstance(command, Fold) for command in run.commands)
    again = run.again()
    again.run()
    assert again.commands == run.commands


def test_without_a_judge_nothing_is_folded() -> None:
    """A chapter is recorded only once it was judged: with Maintain off C grows, and that is said once."""
    run = played(9, texts=[], policy=Policy(fold_at=MARK, maintain=False))
    assert isinstance(run.run(), RunFinished)
    assert [kind for kinds in run.told for kind in kinds] == ["tokens"]
    assert run.chapters == []


@pytest.mark.parametrize("policy", [Policy(fold_at=None), Policy(fold_at=MARK, compress=False)])
def test_some_never_fold(policy: Policy) -> None:
    """Nor without a mark, nor in the ablation without Compress, where C is not shown (D18)."""
    run = played(9, texts=[], policy=policy)
    assert isinstance(run.run(), RunFinished)
    assert run.told[-1] == []
    assert run.chapters == []


def test_an_interim_account_is_never_folded() -> None:
    """The subgoal that is going on stays as it is: only finished ones are folded (D19)."""
    world = ScriptedEnvironment(*["seen"] * 4, *["word " * 400] * 9)
    script = [*subgoals(4), acts("b"), acts("c"), compress("b and c"), DONE]
    run = Played(
        *script, environment=world, texts=["did 0 to 3", done(5), done(6)], verdicts=[Passed()] * 20,
        policy=Policy(fold_at=MARK, high_water=120),
    )  # fmt: skip
    assert isinstance(run.run(), RunFinished)
    folding: list[ChapterRequest | FoldRequest] = [*run.chapters, *run.folded]
    for asked in folding:
        assert not any(isinstance(line, Summary) and line.kind == "fallback" for line in asked.lines)
    assert Compress(done(5), "fallback") in run.commands


def test_what_was_folded_is_folded_again_from_the_log() -> None:
    """A run over its log folds where it folded then, also where it is cut off behind any of its notes."""
    whole = played(9, texts=[f"chapter {number}" for number in range(9)])
    whole.run()
    kinds = [each.kind for each in whole.log if isinstance(each, RunNote)]
    assert kinds.count("chapter") == len(whole.chapters)
    for cut in range(len(whole.log)):
        part = played(9, texts=[f"chapter {number}" for number in range(9)])
        part.log = whole.log[:cut]
        answered = whole.log[:cut]
        left = part.again(
            *subgoals(9)[_asked(answered, "decided") :], DONE,
            texts=[f"chapter {number}" for number in range(_asked(answered, "chapter"), 9)],
            verdicts=[Passed()] * 99,
        )  # fmt: skip
        assert isinstance(left.run(), RunFinished)
        assert left.commands == whole.commands


def _asked(log: Sequence[RunNote | Entry], kind: str) -> int:
    return sum(isinstance(each, RunNote) and each.kind == kind for each in log)
