"""What a judge is asked, and the digest that ties the answer to the question."""

from __future__ import annotations

import hashlib
import json

from hypothesis import given
from hypothesis import strategies as st

from mage.engine import (
    Active,
    Earlier,
    Summary,
    Unverified,
    accept,
    compress,
    grow,
    instruct,
    judge_request,
    retext,
    revise,
    start,
)

anything = st.text(st.characters(exclude_categories=()), max_size=20)


def grown(state: Active, *actions: str) -> Active:
    """Return the state after these actions."""
    for action in actions:
        state = grow(state, action, f"saw {action}")
    return state


def fallbacks() -> Unverified:
    """Return a pending subgoal below two fallback summaries, below a finished subgoal."""
    state = accept(compress(grown(start("task"), "a"), "first").unwrap())
    state = accept(compress(grown(state, "b", "c"), "half", "fallback").unwrap())
    state = accept(compress(grown(state, "d"), "more", "fallback").unwrap())
    return compress(grown(state, "e"), "second").unwrap()


def canonical(state: Unverified) -> str:
    """Spell the question about the pending head as the words of D5 do, with the json module."""
    tree = state.tree
    head = tree.summary(tree.summary_head)
    run: list[Summary] = []
    above = tree.summary(head.parent)
    while head.kind == "subgoal" and above.kind == "fallback":
        run.insert(0, above)
        above = tree.summary(above.parent)

    def contents(covers: tuple[int, ...]) -> list[list[object]]:
        return [[step, *tree.step(step).content] for step in covers]  # type: ignore[arg-type]  # ids, as ints

    asked = {
        "covers": contents(head.covers),
        "earlier": [{"covers": contents(each.covers), "text": each.text} for each in run],
        "instructions": list(judge_request(state).instructions),
        "kind": head.kind,
        "summary": head.id,
        "task": tree.task,
        "text": head.text,
    }
    return json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


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


def test_a_digest_is_the_same_today_as_when_it_was_written_down() -> None:
    """Journals carry digests, so their spelling can never change."""
    assert fallbacks().digest == hashlib.sha256(canonical(fallbacks()).encode()).hexdigest()
    assert canonical(fallbacks()) == (
        '{"covers":[[5,"e","saw e"]],"earlier":[{"covers":[[2,"b","saw b"],[3,"c","saw c"]],"text":"half"},'
        '{"covers":[[4,"d","saw d"]],"text":"more"}],"instructions":[],"kind":"subgoal","summary":4,'
        '"task":"task","text":"second"}'
    )


def test_a_subgoal_brings_the_fallbacks_right_above_it() -> None:
    """Their texts stand in earlier, their steps before its own; what was finished before does not (D12)."""
    request = judge_request(fallbacks())
    assert [(each.label, each.text) for each in request.earlier] == [(1, "half"), (3, "more")]
    assert isinstance(request.earlier[0], Earlier)
    assert [step.action for step in request.steps] == ["b", "c", "d", "e"]
    assert (request.task, request.kind, request.text) == ("task", "subgoal", "second")


def test_a_fallback_brings_none() -> None:
    """It is judged for faithfulness to its own steps only (D12)."""
    request = judge_request(retext(fallbacks(), "third", "fallback").unwrap())
    assert request.earlier == ()
    assert [step.action for step in request.steps] == ["e"]


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
        retext(plain, "text", "fallback").unwrap(),
        compress(grown(start("other"), "a"), "text").unwrap(),
        compress(grown(start("task"), "b"), "text").unwrap(),
        compress(grown(instructed, "a"), "text").unwrap(),
    ]
    assert len({plain.digest, *(other.digest for other in others)}) == len(others) + 1


def test_an_instruction_at_the_last_step_belongs_to_what_comes_next() -> None:
    """The judge sees those placed before the summary's last step (D17)."""
    state = instruct(grown(instruct(start("task"), "first").unwrap(), "a", "b"), "second").unwrap()
    assert judge_request(compress(state, "text").unwrap()).instructions == ("first",)
