"""Commands as records and back."""

from __future__ import annotations

from math import isfinite
from random import Random

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.engine import (
    Accept,
    ApplyVerdict,
    Command,
    Compress,
    Failed,
    Fold,
    Grow,
    Instruct,
    Passed,
    Retext,
    Revise,
    Start,
    State,
    StepId,
    Unverified,
    check,
    replay,
)
from mage.engine.errors import NotAnId, NotText, UnknownName
from mage.stores import (
    NOTHING,
    BadMeta,
    DamagedRecord,
    Draft,
    Note,
    Plain,
    Record,
    command_of,
    draft,
    fold,
    meta_of,
    redacted,
    seal,
    text_names,
    verify,
)
from mage.testing import canonical, journals, texts
from mage.testing.stores import chain, recorded, salts

_META = '{"at":0}'


def record(body: str, *contents: str) -> Record:
    """Return a record with this body and these texts, and its meta, behind the start."""
    return seal(chain(1)[0].head, Draft(body, (*contents, _META)), salts())


def state_after(*commands: Command) -> State:
    """Return where commands lead after a start."""
    return replay([Start("t"), *commands]).unwrap()


@given(journals())
def test_a_history_comes_back_from_its_records(commands: tuple[Command, ...]) -> None:
    """Folding the records of any history gives its state, and no verdict has stored a digest."""
    records = recorded(commands)
    assert fold(verify(NOTHING, records)) == replay(commands).unwrap()
    assert all(len(kept.body) < 80 for kept in records)


@given(journals())
def test_a_history_folds_from_anywhere(commands: tuple[Command, ...]) -> None:
    """Folding on from the state in the middle leads to the same state."""
    records = recorded(commands)
    middle = len(records) // 2 or 1
    assert fold(records[middle:], fold(records[:middle])) == fold(records)


@given(journals(), st.randoms(use_true_random=False))
def test_redacting_changes_texts_and_nothing_else(commands: tuple[Command, ...], chance: Random) -> None:
    """With any texts taken out, a history folds into the same tree: ids, heads, verdicts, phase."""
    records = recorded(commands)
    after = [
        redacted(kept, [place for place in range(len(kept.parts)) if chance.random() < 0.5])
        for kept in records
    ]
    before_state, after_state = fold(records), fold(verify(NOTHING, after))
    check(after_state)
    assert type(after_state) is type(before_state)
    old, new = before_state.tree, after_state.tree
    assert [(step.id, step.parent) for step in old.steps()] == [
        (step.id, step.parent) for step in new.steps()
    ]
    for ours, theirs in zip(old.summaries(), new.summaries(), strict=True):
        assert (ours.id, ours.parent, ours.label, ours.covers, ours.kind) == (
            theirs.id,
            theirs.parent,
            theirs.label,
            theirs.covers,
            theirs.kind,
        )
        assert type(ours.verdict) is type(theirs.verdict)
    assert (old.step_head, old.summary_head) == (new.step_head, new.summary_head)


def test_a_redacted_question_does_not_make_a_verdict_stale() -> None:
    """The verdict of a summary whose text and steps were taken out still counts."""
    pending = state_after(Grow("a", "o"), Compress("s"))
    assert isinstance(pending, Unverified)
    commands: list[Command] = [
        Start("t"),
        Grow("a", "o"),
        Compress("s"),
        ApplyVerdict(Failed("no"), pending.digest),
        Accept(),
    ]
    records = [redacted(kept, range(len(kept.parts))) for kept in recorded(commands)]
    state = fold(verify(NOTHING, records))
    assert state.tree.head_summary.text.startswith("[redacted ")
    assert canonical(state) != canonical(replay(commands).unwrap())


def test_every_command_has_its_body() -> None:
    """The table of the module is what is written, word for word."""
    grown = state_after(Grow("a", "o"))
    back = state_after(Grow("a", "o"), Revise(0))
    digest = "0" * 64
    cases: list[tuple[State | None, Command | Note, str, tuple[str, ...]]] = [
        (None, Start("t"), '{"op":"start"}', ("task",)),
        (grown, Instruct("i", standing=True), '{"op":"instruct","standing":true}', ("text",)),
        (grown, Grow("a", "o"), '{"op":"grow"}', ("action", "observation")),
        (back, Grow("a", "o"), '{"op":"walk","step":1}', ()),
        (back, Grow("a", "p"), '{"op":"grow"}', ("action", "observation")),
        (grown, Compress("s", "fallback"), '{"op":"compress","kind":"fallback"}', ("text",)),
        (grown, Retext("s"), '{"op":"retext"}', ("text",)),
        (grown, Fold(0, 9, "s", digest), '{"op":"fold","first":0,"last":9}', ("text",)),
        (grown, ApplyVerdict(Passed(), digest), '{"op":"pass"}', ()),
        (
            grown,
            ApplyVerdict(Failed("f", "summary"), digest),
            '{"op":"fail","fault":"summary","boundary":null}',
            ("feedback",),
        ),
        (
            grown,
            ApplyVerdict(Failed("f", "execution", StepId(0)), digest),
            '{"op":"fail","fault":"execution","boundary":0}',
            ("feedback",),
        ),
        (grown, Accept(), '{"op":"accept"}', ()),
        (grown, Revise(3, "l"), '{"op":"revise","boundary":3}', ("lesson",)),
        (grown, Note("decided", "{}"), '{"op":"note","kind":"decided"}', ("note",)),
    ]
    for state, command, body, names in cases:
        sealed = seal(NOTHING, draft(state, command, {}), salts())
        assert (sealed.body, text_names(sealed)) == (body, (*names, "meta"))


def test_a_merged_grow_stores_no_payload() -> None:
    """Walking back into a step names it; its texts, however long, are not stored again."""
    commands: list[Command] = [Start("t"), Grow("a", "o" * 10_000), Revise(0), Grow("a", "o" * 10_000)]
    last = recorded(commands)[-1]
    assert sum(len(part.text) for part in last.parts) < 100
    assert fold(recorded(commands)) == replay(commands).unwrap()


@pytest.mark.parametrize(
    "body",
    [
        "",
        "nonsense",
        "[]",
        "{}",
        '{"op":"grown"}',
        '{"op": "accept"}',
        '{"op":"accept","more":1}',
        '{"op":"walk"}',
        '{"op":"walk","step":-1}',
        '{"op":"walk","step":1.0}',
        '{"op":"walk","step":true}',
        '{"step":1,"op":"walk"}',
        '{"op":"instruct","standing":1}',
        '{"op":"compress","kind":"other"}',
        '{"op":"compress","kind":null}',
        '{"op":"fail","fault":"other"}',
        '{"op":"accept","op":"accept"}',
        '{"op":"revise","boundary":12345678901234567890}',
        '{"op":"note"}',
        '{"op":"note","kind":"Decided"}',
        '{"op":"note","kind":"decided","more":1}',
        '{"kind":"decided","op":"note"}',
        '{"op":"\ud800"}',
    ],
)
def test_another_body_is_no_command(body: str) -> None:
    """A body that mage does not write is a damaged record, and the version is named."""
    for work in (lambda kept: command_of(None, kept), text_names, lambda kept: fold([kept], state_after())):
        with pytest.raises(DamagedRecord) as caught:
            work(record(body))
        assert caught.value.version == 2


@pytest.mark.parametrize(
    ("body", "contents"),
    [
        ('{"op":"start"}', ("again",)),
        ('{"op":"grow"}', ("a",)),
        ('{"op":"grow"}', ("a", "o", "p")),
        ('{"op":"grow"}', ("a", "o")),
        ('{"op":"walk","step":0}', ()),
        ('{"op":"walk","step":2}', ()),
        ('{"op":"walk","step":999}', ()),
        ('{"op":"compress","kind":"subgoal"}', ("s",)),
        ('{"op":"retext","kind":null}', ("s",)),
        ('{"op":"pass"}', ()),
        ('{"op":"fail","fault":"summary"}', ("f",)),
        ('{"op":"accept"}', ()),
        ('{"op":"revise","boundary":1}', ("l",)),
        ('{"op":"instruct","standing":false}', (" ",)),
    ],
)
def test_what_its_state_refuses_is_damage(body: str, contents: tuple[str, ...]) -> None:
    """A record that its own state does not take, or with other texts, is damaged: the version is named."""
    state = state_after(Grow("a", "o"), Grow("b", "o"), Revise(0))
    with pytest.raises(DamagedRecord) as caught:
        fold([record(body, *contents)], state)
    assert caught.value.version == 2


def test_nothing_folds_before_a_start() -> None:
    """Without a start there is no state: not of no records, and not of any other first one."""
    others = ('{"op":"grow"}', "a", "o"), ('{"op":"walk","step":1}',), ('{"op":"note","kind":"n"}', "x")
    for records in ([], *([record(*each)] for each in others)):
        with pytest.raises(DamagedRecord):
            fold(records)
    assert fold([record('{"op":"start"}', "t")]) == state_after()


@given(st.data(), journals())
def test_notes_fold_to_no_change(data: st.DataObject, commands: tuple[Command, ...]) -> None:
    """Whatever notes stand between the commands of a history, the state is the very one that it would be without them."""
    state: State | None = None
    head = NOTHING
    records: list[Record] = []
    for command in commands:
        notes = [
            Note(f"kind_{each}", text) for each, text in enumerate(data.draw(st.lists(texts, max_size=2)))
        ]
        for said in (command, *notes):
            records.append(seal(head, draft(state, said, {}), salts()))
            assert isinstance(command_of(state, records[-1]), Note) == isinstance(said, Note)
            before, state, head = state, fold(records[-1:], state), records[-1].head
            assert state is before or not isinstance(said, Note)
    assert fold(verify(NOTHING, records)) == replay(commands).unwrap()


@given(st.dictionaries(texts, st.one_of(st.none(), st.booleans(), st.integers(), texts, st.floats())))
def test_meta_comes_back(meta: dict[str, object]) -> None:
    """What goes with a record comes back as it was; what JSON cannot say is refused."""
    try:
        sealed = seal(NOTHING, draft(None, Start("t"), meta), salts())
    except BadMeta:
        assert any(isinstance(value, float) and not isfinite(value) for value in meta.values())
        return
    again = seal(NOTHING, draft(None, Start("t"), meta_of(sealed)), salts())
    assert again == sealed


def test_bad_meta_is_refused_or_named() -> None:
    """Meta that is no JSON object is refused on the way in, and named on the way out."""
    endless: dict[str, object] = {}
    endless["again"] = endless
    for meta in ({"a": object()}, {"a": float("nan")}, endless, [("a", 1)], "text", 7, None):
        with pytest.raises(BadMeta):
            draft(None, Start("t"), meta)  # type: ignore[arg-type]
    sound = chain(1)[0]
    for text in ("", "[]", "nonsense"):
        with pytest.raises(DamagedRecord):
            meta_of(attrs.evolve(sound, parts=(sound.parts[0], Plain(text, "0" * 16))))
    with pytest.raises(DamagedRecord):
        meta_of(attrs.evolve(sound, parts=()))
    assert meta_of(redacted(sound, [1])) == {}


def nested(depth: int) -> dict[str, object]:
    """Return meta that is so many containers deep, of every kind that JSON takes."""
    inner: object = 7
    for number in range(depth - 1):
        inner = ([inner], (1, inner), {"a": inner})[number % 3]
    return {"a": inner}


def test_meta_is_nested_no_deeper_than_anybody_can_read() -> None:
    """A hundred deep comes back; deeper is refused on the way in, however deep it is."""
    sealed = seal(NOTHING, draft(None, Start("t"), nested(100)), salts())
    assert seal(NOTHING, draft(None, Start("t"), meta_of(sealed)), salts()) == sealed
    for depth in (101, 500, 100_000):
        with pytest.raises(BadMeta):
            draft(None, Start("t"), nested(depth))


def test_meta_that_the_stack_cannot_read_is_no_damage() -> None:
    """Meta that another program has nested too deep is not called damage: the record may be sound."""
    deep = Plain('{"a":' * 100_000 + "7" + "}" * 100_000, "0" * 16)
    sound = chain(1)[0]
    with pytest.raises(RecursionError):
        meta_of(attrs.evolve(sound, parts=(sound.parts[0], deep)))


def test_what_no_command_can_hold_is_raised() -> None:
    """A mistake of the program shows before anything is written."""
    state = state_after()
    for command, error in (
        (Grow(1, "o"), NotText),  # type: ignore[arg-type]
        (Compress("s", "other"), UnknownName),  # type: ignore[arg-type]
        (ApplyVerdict(Failed("f", "other"), ""), UnknownName),  # type: ignore[arg-type]
        (Revise("1"), NotAnId),  # type: ignore[arg-type]
    ):
        with pytest.raises(error):
            draft(state, command, {})
