"""Algorithm 1 of the paper with the decisions D1 to D19, written down naively.

This is the definition that the engine is compared with, so it shares nothing with it: it imports nothing of
mage, and it is all that the engine is not. Nodes are objects with pointers to their parents and lists of
their children, operations change them in place, and every question is answered by walking. Nothing here is
fast, and nothing is meant to be.

Names are the paper's where it has any: `p_b` and `p_t` point into the two layers, `l` is the next step id, R
is the list that Algorithm 1 keeps up to date as it goes. (The engine derives R from the tree; that both come
to the same is one of the things that a comparison shows.) C is read upwards from the head, as D19 says.

A refusal is a plain string: the name of the engine's refusal, such as `"EmptySegment"`, or `"IllegalPhase"`
where the engine raises. A refused operation has changed nothing (L7).
"""

from __future__ import annotations

from collections.abc import Sequence

from specs.reference_nodes import (
    Chapter,
    FoldRequest,
    Hints,
    Instruction,
    Kind,
    Left,
    Lesson,
    Line,
    Refused,
    Request,
    Step,
    Summary,
    Verdict,
    above,
    base,
    blank,
    boundary_of,
    canonical_hash,
    contents,
    joined,
    lines_down_to,
    lines_inside,
    path,
    trace,
    way,
)


class Mage:
    """The two-layer tree, its two pointers, and what can be done with them."""

    def __init__(self, task: str) -> None:
        """Begin with the two root sentinels and nothing else (D2)."""
        self.task = joined(task)
        self.p_b = Step(0, None, ("", ""))
        self.p_t = Summary(0, None, 0, [self.p_b])
        self.p_t.note = Verdict("passed")
        self.l = 1
        self.R: list[Step] = []
        self.steps = [self.p_b]  # every node ever made, in order of ids
        self.summaries = [self.p_t]
        self.lessons: list[Lesson] = []  # oldest first
        self.instructions: list[Instruction] = []  # in the order given

    @property
    def phase(self) -> str:
        """The phase, which the note of the summary head decides (D6)."""
        return {"pending": "Unverified", "failed": "Rejected"}.get(self.p_t.note.word, "Active")

    @property
    def C(self) -> list[Line]:  # noqa: N802  # the paper's name
        """What the agent is shown in place of steps: chapters and summaries (D19)."""
        return lines_down_to(self.p_t)

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
        """Algorithm 1, Compress; a subgoal's summary takes the fallbacks since its base in (D12)."""
        if self.phase != "Active":  # D6
            return "IllegalPhase"
        parent = self.p_t if kind == "fallback" else base(self.p_t)
        b = parent.cover_nodes[-1]
        covers = trace(b, self.p_b)
        if not covers:
            return "EmptySegment"  # D3
        if blank(text):
            return "BlankSummary"  # D3: the target comes before the blank
        for c in parent.children:
            if c.cover_nodes == covers:  # merge node
                break
        else:
            c = Summary(len(self.summaries), parent, b.id, covers)  # D1
            self.summaries.append(c)
            parent.children.append(c)
        if c is not self.p_t:
            c.after = self.p_t  # D12
        c.kind = kind
        self.replace_text(c, text)
        self.p_t = c
        self.R = []
        return None

    def replace_text(self, summary: Summary, text: str) -> None:
        """Leave what an old failure taught of the steps, set the text, to be judged anew (D4), drop its chapters (D19)."""
        if summary.note.fault == "execution":
            self.lessons.append(Lesson(summary.label, summary.note.feedback))
        summary.text = joined(text)
        summary.note = Verdict("pending")
        summary.chapters = []

    def retext(self, text: str) -> Refused | None:
        """Give the summary head a new text (D16)."""
        if self.phase == "Active":
            return "IllegalPhase"
        if blank(text):
            return "BlankSummary"
        self.replace_text(self.p_t, text)
        return None

    def apply_verdict(self, verdict: Verdict, digest: str) -> Refused | None:
        """Algorithm 1, Maintain, after the judge has answered (D5)."""
        if self.phase != "Unverified" or digest != self.digest():
            return "StaleVerdict"
        if verdict.boundary is not None and verdict.boundary not in self.blamable(verdict.fault):
            return "UnknownBoundary"
        if verdict.word == "failed" and blank(verdict.feedback):
            return "BlankFeedback"
        self.p_t.note = verdict._replace(feedback=joined(verdict.feedback))
        return None

    def blamable(self, fault: str) -> list[int]:
        """Return where a failed verdict may say that the mistake began: for a wrong text nowhere (D5)."""
        return self.boundaries() if fault == "execution" else []

    def accept(self) -> Refused | None:
        """Go on without a verdict or despite one, and say so (D6)."""
        if self.phase == "Active":
            return "IllegalPhase"
        self.p_t.note = self.p_t.note._replace(word="accepted")
        return None

    def boundaries(self) -> list[int]:
        """Return the boundaries of the way that lie below the head's own, in path order (D5)."""
        own = boundary_of(self.p_t)
        return sorted({boundary_of(summary) for summary in way(self.p_t)} - {own})

    def legal_boundaries(self) -> list[int]:
        """Return what revise takes, in path order; a failed summary's own boundary is not in it (D7)."""
        return self.boundaries() + ([] if self.phase == "Rejected" else [boundary_of(self.p_t)])

    def revise(self, b: int, lesson: str) -> Refused | Left:
        """Algorithm 1, Revise, along the way, and the one target more of D7: the current boundary."""
        if b not in self.legal_boundaries():
            return "UnknownBoundary"
        old = self.p_b
        while boundary_of(self.p_t) != b:
            self.p_t = way(self.p_t)[-2]
        self.p_b = self.p_t.cover_nodes[-1]
        self.R = []
        if not blank(lesson):
            self.lessons.append(Lesson(b, joined(lesson)))  # D8
        return Left(trace(self.p_b, old)[::-1], self.placed_at(trace(self.p_b, old)))

    def foldable(self) -> list[Line]:
        """Return the lines of C that may become part of a chapter: those of finished subgoals (D19)."""
        return [line for line in self.C if isinstance(line, Chapter) or line.kind == "subgoal"]

    def lines_between(self, first: int, last: int) -> list[Line]:
        """Return the run of C from label `first` to boundary `last`, and nothing where it cannot be folded (D19)."""
        run = [line for line in self.foldable() if first <= line.label and boundary_of(line) <= last]
        if len(run) < 2 or run[0].label != first or boundary_of(run[-1]) != last:
            return []
        return run

    def fold_request(self, first: int, last: int, text: str) -> Refused | FoldRequest:
        """Return what is to be judged before lines are folded into a chapter (D19)."""
        if self.phase != "Active":
            return "IllegalPhase"
        lines = self.lines_between(first, last)
        if not lines:
            return "UnfoldableRange"
        if blank(text):
            return "BlankSummary"
        given, text = self.instructions_shown(), joined(text)
        replaced = [
            [
                line.label,
                boundary_of(line),
                line.text,
                line.accepted if isinstance(line, Chapter) else line.note,
            ]
            for line in lines
        ]
        question = {"instructions": given, "lines": replaced, "task": self.task, "text": text}
        return FoldRequest(self.task, given, lines, text, canonical_hash(question))

    def fold(self, first: int, last: int, text: str, digest: str) -> Refused | None:
        """Show one text in place of a run of lines, once it was judged (D19)."""
        request = self.fold_request(first, last, text)
        if isinstance(request, Refused):
            return request
        if digest != request.digest:
            return "StaleVerdict"
        top, bottom = request.lines[0], request.lines[-1]
        begins = top.first if isinstance(top, Chapter) else top
        ends = bottom.last if isinstance(bottom, Chapter) else bottom
        ends.chapters.append(Chapter(request.text, begins, ends))
        return None

    def inside(self, label: int, boundary: int | None = None) -> Refused | list[Line] | list[Step]:
        """Return what a line stands for: the lines of a chapter, the steps of a summary (D19)."""
        shown = self.C
        for line in shown:  # which grows by what is found inside, where a boundary is named
            if line.label == label and boundary in (None, boundary_of(line)):
                return lines_inside(line) if isinstance(line, Chapter) else line.cover_nodes
            if boundary is not None and isinstance(line, Chapter):
                shown.extend(lines_inside(line))
        return "UnknownLine"

    def lessons_at(self, boundary: int) -> list[Lesson]:
        """Return the lessons that were left at a boundary, oldest first (D8)."""
        return [lesson for lesson in self.lessons if lesson.boundary == boundary]

    def hints(self) -> Hints:
        """Return H: what was tried from the step head and since the base, and what was learned there (D9)."""
        since = path(self.p_t)[len(path(base(self.p_t))) - 1 :]
        subgoals = [c for summary in since for c in summary.children if c.kind == "subgoal"]
        fallbacks = [c for c in self.p_t.children if c.kind == "fallback" and not covered(c, subgoals)]
        lessons = [lesson for summary in since for lesson in self.lessons_at(boundary_of(summary))]
        tried = sorted(subgoals + fallbacks, key=lambda summary: summary.id)
        return Hints(boundary_of(self.p_t), self.p_b.children, tried, lessons)

    def placed_at(self, steps: Sequence[Step]) -> list[Instruction]:
        """Return the instructions at these steps, step by step, at one step in the order given (D17)."""
        return [
            instruction for step in steps for instruction in self.instructions if instruction.step == step.id
        ]

    def in_force(self, summary: Summary, below: Step, *, judged: bool) -> list[str]:
        """Return the texts in force at `below`, counted from the base (D17)."""
        b = base(summary).cover_nodes[-1]
        steps = [b, *trace(b, below)]
        here = self.placed_at(steps[:-1] if judged else steps)
        before = self.placed_at(path(b)[:-1])
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
        """Return the fallbacks that the summary head took in, oldest first; a fallback has none (D12)."""
        heads = way(self.p_t)
        return heads[heads.index(above(self.p_t)) + 1 : -1]

    def tried_beside(self) -> Hints:
        """Return what else was tried on the way of the summary head, without itself and what it took in (D5)."""
        s, parent = self.p_t, above(self.p_t)
        inner = [each for each in self.earlier() if boundary_of(each) != boundary_of(s)]
        from_here = [parent, *inner]
        steps = [c for summary in from_here for c in summary.cover_nodes[-1].children]
        summaries = [c for summary in from_here for c in summary.children]
        subgoals = [c for c in summaries if c.kind == "subgoal" and c is not s]
        fallbacks = [c for c in summaries if c.kind == "fallback" and c not in [s, *self.earlier()]]
        left = [c for c in fallbacks if not covered(c, [*subgoals, s])]
        since = path(parent)[len(path(base(parent))) - 1 :] + inner
        return Hints(
            s.label,
            sorted([c for c in steps if c not in s.cover_nodes], key=lambda step: step.id),
            sorted(subgoals + left, key=lambda summary: summary.id),
            [lesson for summary in since for lesson in self.lessons_at(boundary_of(summary))],
        )

    def steps_judged(self, since_root: bool = False) -> list[Step]:
        """Return the steps that the judge is given: the covers, or all since the root (D18)."""
        return path(self.p_t.cover_nodes[-1])[1:] if since_root else self.p_t.cover_nodes

    def judge_request(self, since_root: bool = False) -> Refused | Request:
        """Algorithm 1, Maintain, up to the call of the judge (D5)."""
        if self.phase != "Unverified":
            return "IllegalPhase"
        return Request(
            self.task,
            self.instructions_judged(),
            self.p_t.kind,
            lines_down_to(above(self.p_t)),
            self.earlier(),
            self.steps_judged(since_root),
            self.p_t.text,
            self.digest(),
            self.tried_beside(),
            self.boundaries(),
        )

    def digest(self) -> str:
        """Return the SHA-256 of all that the judge's answer depends on, as canonical JSON (D5)."""
        return canonical_hash(
            {
                "before": self.hash_above(),
                "covers": contents(self.p_t),
                "earlier": [[each.label, boundary_of(each), each.text, each.note] for each in self.earlier()],
                "instructions": self.instructions_judged(),
                "kind": self.p_t.kind,
                "summary": self.p_t.id,
                "task": self.task,
                "text": self.p_t.text,
            }
        )

    def hash_above(self) -> str:
        """Return the running hash of the summaries above the head, however they are folded (D5)."""
        running = ""
        for p in path(self.p_t)[1:-1]:
            running = canonical_hash({"above": running, "label": p.label, "text": p.text, "verdict": p.note})
        return running


def covered(summary: Summary, by: Sequence[Summary]) -> bool:
    """Say whether one of these covers the summary's steps: its boundary is among their covers (D9)."""
    return any(summary.cover_nodes[-1] in each.cover_nodes for each in by)
