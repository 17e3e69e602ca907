"""What a judge is asked, and the digest that ties the answer to the question."""

from __future__ import annotations

import hashlib
import json

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.engine import (
    Accepted,
    Active,
    Earlier,
    Failed,
    Kind,
    Lesson,
    Passed,
    Rejected,
    StepId,
    Summary,
    Unverified,
    accept,
    apply_verdict,
    compress,
    grow,
    instruct,
    judge_request,
    retext,
    revise,
    start,
)
from mage.testing.machine import plain_verdict

anything = st.text(st.characters(exclude_categories=()), max_size=20)


def grown(state: Active, *actions: str) -> Active:
    """Return the state after these actions."""
    for action in actions:
        state = grow(state, action, f"saw {action}")
    return state


def fallbacks() -> Unverified:
    """Return a pending subgoal that took two fallbacks in, below a finished subgoal."""
    state = accept(compress(grown(start("task"), "a"), "first").unwrap())
    state = accept(compress(grown(state, "b", "c"), "half", "fallback").unwrap())
    state = accept(compress(grown(state, "d"), "more", "fallback").unwrap())
    return compress(grown(state, "e"), "second").unwrap()


def canonical(state: Unverified) -> str:
    """Spell the question about the pending head as the words of D5 do, with the json module."""
    tree = state.tree
    head = tree.head_summary
    taken_in: list[Summary] = []
    while (head if not taken_in else taken_in[0]).after != head.parent:
        taken_in.insert(0, tree.summary((taken_in or [head])[0].after))
    before = ""
    for summary in map(tree.summary, tree.summary_path()[1:-1]):
        line = {"above": before, "label": summary.label, "text": summary.text}
        before = _sha256({**line, "verdict": plain_verdict(summary.verdict)})
    asked = {
        "before": before,
        "covers": [[step, *tree.step(step).content] for step in head.covers],
        "earlier": [[each.label, each.boundary, each.text, plain_verdict(each.verdict)] for each in taken_in],
        "instructions": list(judge_request(state).instructions),
        "kind": head.kind,
        "summary": head.id,
        "task": tree.task,
        "text": head.text,
    }
    return _spelled(asked)


def _spelled(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _sha256(value: object) -> str:
    return hashlib.sha256(_spelled(value).encode(errors="backslashreplace")).hexdigest()


@given(st.lists(st.tuples(anything, anything), min_size=1, max_size=5), anything, anything)
def test_the_digest_is_sha256_of_canonical_json(
    contents: list[tuple[str, str]], task: str, text: str
) -> None:
    """Whatever the strings, the digest is that of JSON with sorted keys, no spaces, surrogates escaped (D5)."""
    state = instruct(start(task), f"x{task}").unwrap()
    for action, observation in contents:
        state = grow(state, action, observation)
    pending = compress(state, f"x{text}").unwrap()
    spelled = canonical(pending).encode(errors="backslashreplace")
    assert pending.digest == hashlib.sha256(spelled).hexdigest()
    assert judge_request(pending).digest == pending.digest


def test_the_engine_knows_no_environment() -> None:
    """A question of the engine has no manual, not even None: an agent adds its environment's, and the digest stays."""
    request = judge_request(compress(grown(start("t"), "a"), "did a").unwrap())
    assert request.later == ()
    assert request.manual == ""  # None would be falsy, too
    assert attrs.evolve(request, manual="Doors are locked.").digest == request.digest


def test_a_digest_is_the_same_today_as_when_it_was_written_down() -> None:
    """Journals carry digests, so their spelling can never change."""
    assert fallbacks().digest == hashlib.sha256(canonical(fallbacks()).encode()).hexdigest()
    above = '{"above":"","label":0,"text":"first","verdict":["accepted","","",null]}'
    assert canonical(fallbacks()).replace(hashlib.sha256(above.encode()).hexdigest(), "ee") == (
        '{"before":"ee","covers":[[2,"b","saw b"],[3,"c","saw c"],[4,"d","saw d"],[5,"e","saw e"]],'
        '"earlier":[[1,3,"half",["accepted","","",null]],[3,4,"more",["accepted","","",null]]],'
        '"instructions":[],"kind":"subgoal","summary":4,"task":"task","text":"second"}'
    )


@pytest.mark.parametrize(
    "failed", [Failed("no"), Failed("no", "summary"), Failed("no", "execution", StepId(1))]
)
@pytest.mark.parametrize("kind", ["subgoal", "fallback"])
def test_what_was_accepted_despite_a_verdict_is_spelled_with_all_of_it(failed: Failed, kind: Kind) -> None:
    """Feedback, fault and boundary, or null for none, of what stands above and of what was taken in (D5)."""
    state = accept(compress(grown(start("task"), "a"), "first").unwrap())
    pending = compress(grown(state, "b"), "part", kind).unwrap()
    rejected = apply_verdict(pending, failed, pending.digest).unwrap()
    assert isinstance(rejected, Rejected)
    judged = compress(grown(accept(rejected), "c"), "second").unwrap()
    assert judged.digest == hashlib.sha256(canonical(judged).encode()).hexdigest()


def test_a_subgoal_brings_the_fallbacks_that_it_took_in() -> None:
    """Their texts stand in earlier, their steps in its own; what was finished before stands in before (D5)."""
    request = judge_request(fallbacks())
    assert request.earlier == (
        Earlier(StepId(1), StepId(3), "half", Accepted()),
        Earlier(StepId(3), StepId(4), "more", Accepted()),
    )
    assert [line.text for line in request.before] == ["first"]
    assert request.boundaries == (0, 1, 3, 4)
    assert [step.action for step in request.steps] == ["b", "c", "d", "e"]
    assert (request.task, request.kind, request.text) == ("task", "subgoal", "second")


def test_a_fallback_brings_none() -> None:
    """It is judged for faithfulness to its own steps only; those before it are lines above it (D12)."""
    back = revise(fallbacks(), 4, "").unwrap().state
    assert isinstance(back, Active)
    request = judge_request(compress(grown(back, "e"), "third", "fallback").unwrap())
    assert request.earlier == ()
    assert [step.action for step in request.steps] == ["e"]
    assert [line.text for line in request.before] == ["first", "half", "more"]


def test_a_judge_hears_what_else_was_tried_on_the_way() -> None:
    """Continuations, subgoals and lessons from the label and the fallbacks taken in; nothing of its own (D5)."""
    base = accept(compress(grown(start("task"), "a"), "first").unwrap())
    wrong = revise(compress(grown(base, "x"), "wrong").unwrap(), 1, "not x").unwrap().state
    assert isinstance(wrong, Active)
    half = accept(compress(grown(wrong, "b"), "half", "fallback").unwrap())
    left = revise(grown(half, "y"), 3, "not y").unwrap().state
    assert isinstance(left, Active)
    pending = compress(grown(left, "c"), "second").unwrap()
    hints = judge_request(pending).hints
    assert hints.boundary == 1
    assert [step.action for step in hints.continuations] == ["x", "y"]
    assert [summary.text for summary in hints.subgoals] == ["wrong"]
    assert hints.lessons == (Lesson(StepId(1), "not x"), Lesson(StepId(3), "not y"))
    later = revise(grow(pending, "z", "o"), pending.tree.boundary, "not z").unwrap().state
    assert isinstance(later, Unverified)
    assert judge_request(later).hints == hints


def test_what_stands_above_is_part_of_what_is_answered() -> None:
    """Another text or another verdict above the summary is another question, also where C is folded (D5)."""
    digests = set()
    origin = Failed("no", boundary=StepId(0))
    for text, verdict in (("one", Passed()), ("two", Passed()), ("one", Failed("no")), ("one", origin)):
        first = compress(grown(start("task"), "a"), text).unwrap()
        judged = apply_verdict(first, verdict, first.digest).unwrap()
        above = accept(judged) if isinstance(judged, Rejected) else judged
        digests.add(compress(grown(above, "b"), "second").unwrap().digest)
    assert len(digests) == 4


def test_since_root_brings_every_step_under_the_same_digest() -> None:
    """The ablation without Compress shows the judge everything (D18)."""
    state = fallbacks()
    request = judge_request(state, since_root=True)
    assert [step.action for step in request.steps] == ["a", "b", "c", "d", "e"]
    assert request.digest == judge_request(state).digest
    assert request.earlier == judge_request(state).earlier


def test_the_question_stays_while_the_agent_goes_on() -> None:
    """Grow, instruct and dropping the open segment do not change what is asked (D5)."""
    state = fallbacks()
    further = instruct(grow(instruct(state, "late", standing=True).unwrap(), "f", "o"), "later").unwrap()
    dropped = revise(further, further.tree.boundary, "lesson").unwrap().state
    assert isinstance(dropped, Unverified)
    assert judge_request(further) == judge_request(dropped) == judge_request(state)


def test_the_question_is_another_one_after_any_other_change() -> None:
    """Another text, kind, task or instruction gives another digest."""
    plain = compress(grown(start("task"), "a"), "text").unwrap()
    instructed = instruct(start("task"), "do").unwrap()
    others = [
        retext(plain, "other").unwrap(),
        compress(grown(start("task"), "a"), "text", "fallback").unwrap(),
        compress(grown(start("other"), "a"), "text").unwrap(),
        compress(grown(start("task"), "b"), "text").unwrap(),
        compress(grown(instructed, "a"), "text").unwrap(),
    ]
    assert len({plain.digest, *(other.digest for other in others)}) == len(others) + 1


def test_an_instruction_at_the_last_step_belongs_to_what_comes_next() -> None:
    """The judge sees those placed before the summary's last step (D17)."""
    state = instruct(grown(instruct(start("task"), "first").unwrap(), "a", "b"), "second").unwrap()
    assert judge_request(compress(state, "text").unwrap()).instructions == ("first",)
