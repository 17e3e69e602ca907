"""The run state: what the programs of a memory and of an agent remember beside the state of the session.

Nothing here is stored. A memory that is opened again reads its run state from the journal (`mage.memory.journal`);
an agent's program runs again over the recorded answers, and so reaches the same run state.

A notice stands beside S in the prompt, and no summary shortens it, so its length is limited: notices that grew with
the run would fill the window. A notice quotes an environment's error like an observation: it may imitate our words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_
from typing import Final, TypeVar, final

import attrs

from mage.effects import (
    ActionEffect,
    EffectError,
    Looked,
    Metered,
    Notice,
    NoticeKind,
    Observed,
    Verdict,
)
from mage.effects.questions import Program
from mage.engine import (
    Active,
    Compress,
    Digest,
    ExecutionState,
    Grow,
    Instruction,
    Refusal,
    Rejected,
    Retext,
    Revise,
    State,
    Step,
    StepId,
    Summary,
    SummaryId,
    Unverified,
    boundaries,
    view,
)
from mage.engine.ids import ROOT_STEP
from mage.engine.journal import Operation
from mage.engine.tree import trace
from mage.memory.policy import SHARE, KindOfCall, Policy, RunStopped, Totals, cut_step
from mage.memory.requests import Asked, AskFailed, Counts, Noticed, Operate, Seen, Tell
from mage.render import Meter
from mage.render.blocks import step_of
from mage.tokens import SMALL, cut

# -- notices ------------------------------------------------------------------------------------------------


LINES: Final = 20
"""The most lines of one list."""
QUOTED: Final = 400
"""The most characters of one quoted action or reason."""
LONGEST: Final = 1_000
"""The most characters of our own words: they contain numbers, and a number may be long."""

_BLANK: Final = "\t\xa0\u3000"
"""White space inside a line that `str.isprintable` rejects although it is harmless."""


def told_once(kind: NoticeKind, text: str, *said: str) -> Notice:
    """Return a notice in our words, with quoted foreign texts below them. Cost: O(length of the notice)."""
    return Notice(kind, cut(text, LONGEST), few([quoted(each) for each in said], "\n"))


def quoted(text: str) -> str:
    """Return a foreign text as a notice quotes it: at most 400 characters, the middle left out openly.

    Characters that control a terminal or are invisible, such as one that reverses the direction of a line, are
    spelled out. Line breaks stay, because the block that shows them indents each line.
    """
    brief = cut(text.replace("\r\n", "\n"), QUOTED)
    if brief.isprintable():
        return brief
    return "".join(char if char == "\n" or char.isprintable() else _spelled(char) for char in brief)


def _spelled(char: str) -> str:
    return " " if char in _BLANK else f"<U+{ord(char):04X}>"


def few(lines: Sequence[str], separator: str) -> str:
    """Return the first 20 lines of a list as one text, with the number of lines left out."""
    shown = separator.join(lines[:LINES])
    more = len(lines) - LINES
    return shown if more <= 0 else f"{shown}{separator}and {more} more"


# -- the run state ------------------------------------------------------------------------------------------


Answer = TypeVar("Answer")
ENDS: Final = "The whole task ends here. Answer: "
"""The beginning of the text of a task's last subgoal: it tells the judge that the whole task is claimed to be done."""


@final
@attrs.frozen
class Owed:
    """An instruction that is not placed yet, because another writer's command came between.

    Attributes:
        step: the step that it belongs to; once that step is left, the instruction is dropped.
        instruction: the instruction.
        by_world: whether the environment gave it, and gives it again when it reaches this step after a reset.
    """

    step: StepId
    instruction: Instruction
    by_world: bool


@final
class Run:
    """The run state of one agent.

    Attributes:
        state: the state of the session.
        policy: the policy in force.
        counts: how many revises and rewritten texts the journal has.
        meter: counts the tokens of S.
        overhead: tokens that go with every call beside S: system prompt, tool schemas.
        totals: steps, summaries, revisions and tokens so far.
        notices: the notices that the model's next prompt shows.
        looked: the result of a `look`, shown with the model's next prompt.
        fold_behind: C is not folded before it has more lines than this, because folding failed at fewer.
        told_of_folding: whether the model was told that C grows and cannot be folded.
        effects: by step, the declared effect of its action on the environment.
        beside: by step, the provider's data beside its call (`mage.chat.messages`).
        thoughts: by step, the model's thought before it.
        began: whether the environment was reset; if that failed, a resumed run resets it again.
        over: whether the environment takes no more actions.
        judging: the digest of the request that a judge answers in the background.
        verdict: a verdict that is not recorded yet, and the digest of the request that it answers.
        unjudged: the digest of the request that the judge could not answer; it is not asked again at every turn.
        pointed_out: pairs of step head and action of which the model was told that the action was tried there.
        unusable: unusable replies in a row.
        idle: turns in a row in which nothing was done; of a memory, failed answers that were given again.
        cool_until: the number of steps from which on a fallback may be tried again.
        opening: the first observation of the environment.
        seen: the step head of the last prompt: the model has read the steps up to it raw.
        overflowed_at: the step head of the last prompt that did not fit.
        longest: the boundary at which a prompt did not fit, and the most tokens of one open step in later prompts
            at this boundary; None where every prompt has fitted.
        too_long_at: the step head at which the model was told that its text is too long.
        shortened: whether the notices were left out because a prompt did not fit.
        told_of_mark: whether the model was told that the mark cannot hold.
        doubtful: whether it is unknown if the last action was performed.
        owed: instructions that are not placed yet.
        given: by step, the instructions that the environment gave there.
        awaiting: the failed summary for which the model was asked to write a better text.
        insisted: the failed summary for which the model was asked once more.
        interrupted: the actions of calls that an earlier process has begun and not settled; empty once the model was told.
        resumed_from: the state before the revise with which the journal ended when it was opened: it is unknown which
            steps were undone in the environment, and whether the model was told.
        found: the id of the first step of this run: earlier steps were made by other runs.
    """

    def __init__(self, meter: Meter, overhead: int) -> None:
        self.state: State
        self.policy = Policy()
        self.counts = Counts({}, {})
        self.meter = meter
        self.overhead = overhead
        self.totals = Totals()
        self.notices: list[Notice] = []
        self.looked: Looked | None = None
        self.fold_behind = 0
        self.told_of_folding = False
        self.effects: Mapping[StepId, ActionEffect] = {}
        self.beside: Mapping[StepId, str] = {}
        self.thoughts: Mapping[StepId, str] = {}
        self.began = False
        self.over = False
        self.judging: Digest | None = None
        self.verdict: tuple[Digest, Metered[Verdict]] | None = None
        self.unjudged: Digest | None = None
        self.pointed_out: set[tuple[StepId, str]] = set()
        self.unusable = 0
        self.idle = 0
        self.cool_until = 0
        self.opening: Observed | None = None
        self.seen: StepId | None = None
        self.overflowed_at: StepId | None = None
        self.longest: tuple[StepId, int] | None = None
        self.too_long_at: StepId | None = None
        self.shortened = False
        self.told_of_mark = False
        self.doubtful = False
        self.owed: list[Owed] = []
        self.given: dict[StepId, frozenset[Instruction]] = {}
        self.awaiting: SummaryId | None = None
        self.insisted: SummaryId | None = None
        self.resumed_from: State | None = None
        self.interrupted: tuple[str, ...] = ()
        self.found = ROOT_STEP
        self._counts_of: tuple[ExecutionState, int, int] | None = None
        # two caches: S as shown for a state and a setting; the legal boundaries for a head that has failed or not
        self._shown: tuple[State, tuple[bool, int | None], ExecutionState] | None = None
        self._cut: dict[tuple[StepId, int], tuple[str, str]] = {}  # shortened steps, by id and limit
        self._legal: tuple[Summary, bool, tuple[StepId, ...]] | None = None

    def see(self, seen: Seen) -> None:
        """Take over what the journal says (the answer to `Look`)."""
        self.state, self.policy, self.counts = seen.state, seen.policy, seen.counts
        self.effects, self.beside, self.thoughts = seen.effects, seen.beside, seen.thoughts
        if seen.counting is not None:
            self.count_by(*seen.counting)

    def count_by(self, meter: Meter, overhead: int) -> None:
        """Count tokens with this meter and this overhead (tokens) from now on."""
        if meter is not self.meter:
            self._counts_of = self._shown = None
        self.meter, self.overhead = meter, overhead

    @property
    def is_answer(self) -> bool:
        """Whether the head summary, pending or failed, is the answer of the task: only the model can rewrite it."""
        is_open = isinstance(self.state, Unverified | Rejected)
        return is_open and self.state.tree.head_summary.text.startswith(ENDS)

    @property
    def is_awaiting(self) -> bool:
        """Whether the head summary has failed and the model was asked for a better text."""
        return isinstance(self.state, Rejected) and self.awaiting == self.state.tree.summary_head

    def head_changed(self) -> None:
        """Forget what the judge was asked and has answered about a summary that is no longer pending (D5)."""
        pending = self.state.digest if isinstance(self.state, Unverified) else None
        self.judging = self.judging if self.judging == pending else None
        self.unjudged = self.unjudged if self.unjudged == pending else None
        self.verdict = self.verdict if self.verdict is not None and self.verdict[0] == pending else None

    def shown(self) -> ExecutionState:
        """Return S as the model reads it: with Compress switched off, steps in place of their summaries (D18).

        A step that cannot fit is cut in its middle, openly; `look` has the rest.
        Cost: O(size of S), once for each state.
        """
        setting = (self.policy.compress, self.longest_step())
        if self._shown is None or self._shown[0] is not self.state or self._shown[1] != setting:
            self._shown = (self.state, setting, self._derived())
        return self._shown[2]

    def longest_step(self) -> int | None:
        """Return the tokens that one step may take in a prompt before it is cut; None where there is no limit."""
        mark = self.policy.high_water if self.policy.compress else None  # no summaries, no `look`
        known = [limit for limit in (mark, self.policy.window) if limit is not None]
        if self.longest is not None and self.longest[0] == self.state.tree.boundary:
            known.append(self.longest[1])
        return max(1, min(known)) if known else None

    def shorten(self) -> bool:
        """Halve the tokens of the longest open step from now on; return False where all steps are short already."""
        steps = view(self.state).raw
        tokens = max([self.meter.step(*step.content) for step in steps], default=0)
        tokens = min(tokens, self.longest_step() or tokens)
        if tokens <= SMALL:
            return False
        self.longest = (self.state.tree.boundary, tokens // 2)
        return True

    def _derived(self) -> ExecutionState:
        shown = view(self.state)
        if not self.policy.compress and shown.compressed:
            steps = tuple(trace(self.state.tree, ROOT_STEP, self.state.tree.step_head))
            shown = attrs.evolve(shown, compressed=(), raw=steps)
        longest = self.longest_step()
        if longest is None:
            return shown
        fitting = self._cut_at(shown, longest)
        while longest > SMALL and self.outgrows(fitting):
            longest = max(SMALL, longest // 2)
            fitting = self._cut_at(shown, longest)
        beside = self._with_newest(fitting)
        return fitting if self.outgrows(beside) else beside

    def _with_newest(self, shown: ExecutionState) -> ExecutionState:
        """Return S with the newest steps of a fallback beside its text, as many as `keep_raw` says and fit."""
        head, room = (
            self.state.tree.head_summary,
            (self.policy.high_water or self.policy.window or 0) // SHARE,
        )
        if not self.policy.keep_raw or not shown.compressed or head.kind != "fallback":
            return shown
        kept = list[str]()
        for label in reversed(head.covers[-self.policy.keep_raw :]):
            step = self.state.tree.step(label)
            room -= self.meter.step(*step.content)
            if room < 0:
                break
            kept.insert(0, "".join([block.text for block in step_of(*step.content)]))
        if not kept:
            return shown
        told = f"{head.text}\nIts newest steps, word for word:\n{''.join(kept).rstrip()}"
        return attrs.evolve(shown, compressed=(*shown.compressed[:-1], attrs.evolve(head, text=told)))

    def outgrows(self, shown: ExecutionState) -> bool:
        """Tell whether S and the overhead take more tokens than the model's window. Notices do not count."""
        return self.policy.window is not None and self.whole(shown) > self.policy.window

    def _cut_at(self, shown: ExecutionState, longest: int) -> ExecutionState:
        """Return S with the longer steps of R cut in their middles; the same object where no step is longer."""
        raw = tuple([self._fitting(step, longest) for step in shown.raw])
        same = all(map(is_, raw, shown.raw))
        return shown if same else attrs.evolve(shown, raw=raw)

    def _fitting(self, step: Step, longest: int) -> Step:
        if self.meter.step(step.action, step.observation) <= longest:
            return step
        if (step.id, longest) not in self._cut:
            self._cut[step.id, longest] = cut_step(step, longest, self.meter).content
        action, observation = self._cut[step.id, longest]
        return attrs.evolve(step, action=action, observation=observation)

    def thoughts_of(self, shown: ExecutionState) -> dict[StepId, str]:
        """Return by step the thoughts that the policy shows: of open steps only, even where S has more steps."""
        if self.policy.thoughts == "none":
            return {}
        opened = [step.id for step in shown.raw if step.id > shown.boundary and step.id in self.thoughts]
        kept = opened if self.policy.thoughts == "open" else opened[-1:]
        return {step: self.thoughts[step] for step in kept}

    def plan_of(self, steps: Sequence[Step]) -> str:
        """Return the newest thought before one of these steps; empty where none is, or the policy shows none."""
        if self.policy.thoughts == "none":
            return ""
        return next((self.thoughts[step.id] for step in reversed(steps) if step.id in self.thoughts), "")

    def legal_boundaries(self) -> tuple[StepId, ...]:
        """Return the boundaries that a revise may go back to (D7). Cost: O(active path), once for each summary head."""
        head, has_failed = self.state.tree.head_summary, isinstance(self.state, Rejected)
        if self._legal is None or self._legal[0] is not head or self._legal[1] is not has_failed:
            self._legal = (head, has_failed, boundaries(self.state))
        return self._legal[2]

    def told(self, notices: int | None = None) -> None:
        """Remove the first `notices` notices, or all, and the result of a `look`: the model has read them."""
        del self.notices[:notices]
        self.looked = None

    def whole(self, shown: ExecutionState) -> int:
        """Return the tokens of S and of the overhead. Notices do not count."""
        return self.marked(shown) + sum(map(self.meter.line, shown.compressed))

    def marked(self, shown: ExecutionState) -> int:
        """Return the tokens that count against the high-water mark: all but C, which has its own limit (D12, D19)."""
        return self.fixed(shown) + self.opened(shown)

    def fixed(self, shown: ExecutionState) -> int:
        """Return the tokens that no summary saves: system prompt, tool schemas, task, instructions, hints."""
        return self._counted(shown)[0]

    def opened(self, shown: ExecutionState) -> int:
        """Return the tokens of the open segment."""
        return self._counted(shown)[1]

    def _counted(self, shown: ExecutionState) -> tuple[int, int]:
        """Return `fixed` and `opened`. Cost: O(open segment), once for each state."""
        if self._counts_of is None or self._counts_of[0] is not shown:
            frame = self.meter.frame(shown.task, shown.instructions, shown.boundary) + self.meter.hints(
                shown.hints
            )
            steps = sum(self.meter.step(step.action, step.observation) for step in shown.raw)
            steps += sum(map(self.meter.thought, self.thoughts_of(shown).values()))
            self._counts_of = (shown, frame, steps)
        return self.overhead + self._counts_of[1], self._counts_of[2]

    async def notice(self, kind: NoticeKind, text: str, *said: str) -> None:
        """Add a notice for the model's next prompt: our words, with quoted foreign texts below them."""
        self.notices.append(told_once(kind, text, *said))
        await Tell(Noticed(kind))

    async def operate(
        self, command: Operation, meta: Mapping[str, object] | None = None, *, despite: bool = False
    ) -> State | Refusal:
        """Carry out a command durably, and add it to `totals`; see `Operate`."""
        result = await Operate(command, {} if meta is None else meta, despite)
        if not isinstance(result, Active | Unverified | Rejected):
            return result
        self.state, before = result, self.state
        self._count(command, changed=result is not before)
        return result

    def _count(self, command: Operation, *, changed: bool) -> None:
        totals = self.totals
        if isinstance(command, Grow):
            self.totals = attrs.evolve(totals, steps=totals.steps + 1)
        elif isinstance(command, Compress):
            self.totals = attrs.evolve(totals, summaries=totals.summaries + 1)
        elif isinstance(command, Revise) and changed:
            self.totals = attrs.evolve(totals, revisions=totals.revisions + 1)
        if isinstance(command, Grow | Compress | Retext | Revise) and changed:
            self.idle = 0

    async def asked(
        self, who: KindOfCall, question: Program[Metered[Answer]], shown: int = 0
    ) -> Metered[Answer]:
        """Ask the model, the judge or the summarizer, and count the tokens, also of a call that failed.

        Raises:
            EffectError: there is no usable answer.
        """
        try:
            answer = await question
        except EffectError as error:
            await self.spent_in_vain(who, error)
            raise
        await self.spent(who, answer, shown)
        return answer

    async def spent(self, who: KindOfCall, answer: Metered[object], shown: int = 0) -> None:
        """Count the tokens of an answer."""
        usage = answer.usage
        self.totals = self.totals.spent(who, usage, answer.model)
        await Tell(Asked(who, usage.prompt, usage.completion, shown))

    async def spent_in_vain(self, who: KindOfCall, error: EffectError) -> None:
        """Count the tokens of a call that gave no usable answer."""
        self.totals = self.totals.spent(who, error.usage, error.model)
        await Tell(AskFailed(who, error.fault))


def operated(result: State | Refusal) -> State:
    """Return the new state of a command that is always legal here."""
    if isinstance(result, Active | Unverified | Rejected):
        return result
    raise AssertionError(f"a command that is always legal was refused: {result}")


def reached(run: Run) -> RunStopped | None:
    """Return how the run is stopped if it has reached a limit of the policy; None where it may go on."""
    policy, totals = run.policy, run.totals
    if policy.max_steps is not None and totals.steps >= policy.max_steps:
        return RunStopped("max_steps", f"steps taken: {totals.steps}", totals)
    if policy.max_total_tokens is not None and totals.usage.total >= policy.max_total_tokens:
        taken = totals.usage
        ours = f", counted here for calls: {taken.estimated}" if taken.estimated else ""
        return RunStopped("max_total_tokens", f"tokens taken: {taken.total}{ours}", totals)
    if run.idle > policy.max_idle:  # this turn has been counted
        return RunStopped("idle", f"nothing was done in {run.idle - 1} turns", totals)
    return None
