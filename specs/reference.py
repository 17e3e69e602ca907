"""Algorithm 1 of the paper with the decisions D1 to D18, written down naively.

This is the definition that the engine is compared with, so it shares nothing with it: it imports nothing of
mage, and it is all that the engine is not. Nodes are objects with pointers to their parents and lists of
their children, operations change them in place, and every question is answered by walking. Nothing here is
fast, and nothing is meant to be.

Names are the paper's where it has any: `p_b` and `p_t` point into the two layers, `l` is the next step id, C
and R are the lists that Algorithm 1 keeps up to date as it goes. (The engine derives C and R from the tree;
that both come to the same is one of the things that a comparison shows.)

A refusal is a plain string: the name of the engine's refusal, such as `"EmptySegment"`, or `"IllegalPhase"`
where the engine raises. A refused operation has changed nothing (L7).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from specs.reference_nodes import (
    Instruction,
    Kind,
    Left,
    Lesson,
    Refused,
    Request,
    Step,
    Summary,
    Verdict,
    above,
    blank,
    contents,
    joined,
    path,
    trace,
)

__all__ = ["Mage"]


class Mage:
    """The two-layer tree, its two pointers, and what can be done with them."""

    def __init__(self, task: str) -> None:
        """Begin with the two root sentinels and nothing else (D2)."""
        self.task = joined(task)
        self.p_b = Step(0, None, ("", ""))
        self.p_t = Summary(0, None, 0, [self.p_b])
        self.p_t.note = Verdict("passed")
        self.l = 1
        self.C: list[Summary] = []
        self.R: list[Step] = []
        self.steps = [self.p_b]  # every node ever made, in order of ids
        self.summaries = [self.p_t]
        self.lessons: list[Lesson] = []  # oldest first
        self.instructions: list[Instruction] = []  # in the order given

    @property
    def phase(self) -> str:
        """The phase, which the note of the summary head decides (D6)."""
        return {"pending": "Unverified", "failed": "Rejected"}.get(self.p_t.note.word, "Active")

    def instruct(self, text: str, standing: bool = False) -> Refused | None:
        """Place an instruction at the step head; the same one there again changes nothing (D17)."""
        if self.phase == "Rejected":  # D17
            return "IllegalPhase"
        if blank(text):
            return "BlankInstruction"
        instruction = Instruction(self.p_b.id, joined(text), standing)
        if instruction not in self.instructions:
            self.instructions.append(instruction)
        return None

    def grow(self, action: str, observation: str) -> Refused | None:
        """Algorithm 1, Grow."""
        if self.phase == "Rejected":  # D6
            return "IllegalPhase"
        content = (joined(action), joined(observation))  # D15
        for c in self.p_b.children:
            if c.content == content:  # merge node, also into a branch that was left (D10)
                self.p_b = c
                self.R.append(c)
                return None
        v = Step(self.l, self.p_b, content)
        self.l += 1
        self.steps.append(v)
        self.p_b.children.append(v)
        self.p_b = v
        self.R.append(v)
        return None

    def compress(self, text: str, kind: Kind = "subgoal") -> Refused | None:
        """Algorithm 1, Compress."""
        if self.phase != "Active":  # D6
            return "IllegalPhase"
        b = self.p_t.cover_nodes[-1]
        segment = trace(b, self.p_b)
        completes = self.p_t.kind == "fallback" and kind == "subgoal"  # D12
        if not segment and not completes:
            return "EmptySegment"  # D3
        if blank(text):
            return "BlankSummary"  # D3: the target comes before the blank
        if not segment:
            self.replace_text(self.p_t, text, kind)  # D12
            return None
        for c in self.p_t.children:
            if c.cover_nodes == segment:  # merge node
                self.p_t = c
                break
        else:
            v = Summary(len(self.summaries), self.p_t, b.id, segment)  # D1
            self.summaries.append(v)
            self.p_t.children.append(v)
            self.p_t = v
        self.replace_text(self.p_t, text, kind)
        self.R = []
        self.C.append(self.p_t)
        return None

    def replace_text(self, summary: Summary, text: str, kind: Kind) -> None:
        """Leave what an old failure taught of the steps, then set text and kind, to be judged anew (D4)."""
        if summary.note.fault == "execution":
            self.lessons.append(Lesson(summary.label, summary.note.feedback))
        summary.text = joined(text)
        summary.kind = kind
        summary.note = Verdict("pending")

    def retext(self, text: str, kind: Kind | None = None) -> Refused | None:
        """Give the summary head a new text, and another kind if one is named (D16)."""
        if self.phase == "Active":
            return "IllegalPhase"
        if blank(text):
            return "BlankSummary"
        self.replace_text(self.p_t, text, kind or self.p_t.kind)
        return None

    def apply_verdict(self, verdict: Verdict, digest: str) -> Refused | None:
        """Algorithm 1, Maintain, after the judge has answered (D5)."""
        if self.phase != "Unverified" or digest != self.digest():
            return "StaleVerdict"
        if verdict.word == "failed" and blank(verdict.feedback):
            return "BlankFeedback"
        self.p_t.note = Verdict(verdict.word, joined(verdict.feedback), verdict.fault)
        return None

    def accept(self) -> Refused | None:
        """Go on without a verdict or despite one, and say so (D6)."""
        if self.phase == "Active":
            return "IllegalPhase"
        self.p_t.note = self.p_t.note._replace(word="accepted")
        return None

    def legal_boundaries(self) -> list[int]:
        """Return what revise takes, in path order; a failed summary's own boundary is not in it (D7)."""
        boundaries = [summary.cover_nodes[-1].id for summary in path(self.p_t)]
        return boundaries[:-1] if self.phase == "Rejected" else boundaries

    def revise(self, b: int, lesson: str) -> Refused | Left:
        """Algorithm 1, Revise, and the one target more of D7: the current boundary."""
        if b not in self.legal_boundaries():
            return "UnknownBoundary"
        old = self.p_b
        if b != self.p_t.cover_nodes[-1].id:
            while self.p_t.label != b:
                self.C.remove(self.p_t)
                self.p_t = above(self.p_t)
            self.C.remove(self.p_t)
            self.p_t = above(self.p_t)
        self.p_b = self.p_t.cover_nodes[-1]
        self.R = []
        if not blank(lesson):
            self.lessons.append(Lesson(b, joined(lesson)))  # D8
        return Left(trace(self.p_b, old)[::-1], self.placed_at(trace(self.p_b, old)))

    def hints(self) -> tuple[list[Step], list[Summary], list[str]]:
        """Return H: continuations tried, subgoals tried, lessons at the current boundary (D9)."""
        b = self.p_t.cover_nodes[-1].id
        return self.p_b.children, self.p_t.children, [text for at, text in self.lessons if at == b]

    def placed_at(self, steps: Sequence[Step]) -> list[Instruction]:
        """Return the instructions at these steps, step by step, at one step in the order given (D17)."""
        return [
            instruction for step in steps for instruction in self.instructions if instruction.step == step.id
        ]

    def in_force(self, summary: Summary, below: Step, *, judged: bool) -> list[str]:
        """Return the texts in force at `below`, counted from the nearest summary that is no fallback (D17)."""
        while summary.kind == "fallback":
            summary = above(summary)
        base = summary.cover_nodes[-1]
        steps = [base, *trace(base, below)]
        here = self.placed_at(steps[:-1] if judged else steps)
        before = self.placed_at(path(base)[:-1])
        nearest = None
        if all(instruction.standing for instruction in here):
            nearest = max((each.step for each in before if not each.standing), default=None)
        kept = [instruction for instruction in before if instruction.standing or instruction.step == nearest]
        return [instruction.text for instruction in kept + here]

    def instructions_shown(self) -> list[str]:
        """Return the instructions that S pins (D17)."""
        return self.in_force(self.p_t, self.p_b, judged=False)

    def instructions_judged(self) -> list[str]:
        """Return the instructions that the summary head is judged by: those before its last step (D17)."""
        return self.in_force(above(self.p_t), self.p_t.cover_nodes[-1], judged=True)

    def earlier(self) -> list[Summary]:
        """Return the run of fallbacks right above a subgoal, oldest first; a fallback has none (D12)."""
        run: list[Summary] = []
        here = above(self.p_t)
        while self.p_t.kind == "subgoal" and here.kind == "fallback":
            run.insert(0, here)
            here = above(here)
        return run

    def steps_judged(self, since_root: bool = False) -> list[Step]:
        """Return the steps that the judge is given: covers, those of `earlier` first (D12), or all (D18)."""
        if since_root:
            return path(self.p_t.cover_nodes[-1])[1:]
        return [step for summary in [*self.earlier(), self.p_t] for step in summary.cover_nodes]

    def judge_request(self, since_root: bool = False) -> Refused | Request:
        """Algorithm 1, Maintain, up to the call of the judge (D5)."""
        if self.phase != "Unverified":
            return "IllegalPhase"
        earlier = [(summary.label, summary.text) for summary in self.earlier()]
        given = self.instructions_judged()
        steps = self.steps_judged(since_root)
        return Request(self.task, given, self.p_t.kind, earlier, steps, self.p_t.text, self.digest())

    def digest(self) -> str:
        """Return the SHA-256 of all that the judge's answer depends on, as canonical JSON (D5)."""
        earlier = [{"covers": contents(summary), "text": summary.text} for summary in self.earlier()]
        question = {
            "covers": contents(self.p_t),
            "earlier": earlier,
            "instructions": self.instructions_judged(),
            "kind": self.p_t.kind,
            "summary": self.p_t.id,
            "task": self.task,
            "text": self.p_t.text,
        }
        written = json.dumps(question, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(written.encode(errors="backslashreplace")).hexdigest()
