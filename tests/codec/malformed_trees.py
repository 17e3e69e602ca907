"""Malformed trees, by name, each with what its refusal must say: what is wrong, and where."""

from __future__ import annotations

import json
from typing import Final

from tests.codec.malformed_journals import SOUND_JOURNAL

_MANY: Final = 50_000_000
_STEPS: Final = [
    {"id": 1, "parent": 0, "action": "search[desk]", "observation": "three desks"},
    {"id": 2, "parent": 1, "action": "buy[oak desk]", "observation": "210 euros"},
    {"id": 3, "parent": 1, "action": "buy[pine desk]", "observation": "120 euros"},
    {"id": 4, "parent": 3, "action": "search[chair]", "observation": "two chairs"},
]
_FAILED: Final = {
    "type": "failed",
    "feedback": "The oak desk is too wide.",
    "fault": "execution",
    "boundary": 0,
}
_SUMMARIES: Final = [
    {
        "id": 1, "parent": 0, "after": 0, "label": 0, "covers": [1], "text": "Found three desks.",
        "kind": "fallback", "verdict": {"type": "passed"},
    },
    {
        "id": 2, "parent": 0, "after": 1, "label": 0, "covers": [1, 2], "text": "Bought the oak desk.",
        "kind": "subgoal", "verdict": _FAILED,
    },
    {
        "id": 3, "parent": 0, "after": 1, "label": 0, "covers": [1, 3, 4], "text": "Bought the pine desk.",
        "kind": "subgoal", "verdict": {"type": "pending"},
    },
]  # fmt: skip
_TREE: Final = {
    "format": "mage-tree",
    "version": 1,
    "phase": "Unverified",
    "task": "Furnish the study",
    "step_head": 4,
    "summary_head": 3,
    "steps": _STEPS,
    "summaries": _SUMMARIES,
    "lessons": [{"boundary": 0, "texts": ["Ask first."]}, {"boundary": 1, "texts": ["Measure first."]}],
    "instructions": [
        {"step": 0, "placed": [{"text": "Desk first.", "standing": False}]},
        {"step": 3, "placed": [{"text": "Keep receipts.", "standing": True}]},
    ],
    "chapters": [{"last": 2, "chapters": [{"first": 1, "text": "Looked at desks.", "accepted": 0}]}],
}
SOUND_TREE: Final = json.dumps(_TREE).encode()


def _at(*path: str | int, to: object) -> bytes:
    """Return the sound tree with another value at `path`."""
    return _edited(path, to, keep=True)


def _without(*path: str | int) -> bytes:
    """Return the sound tree without what stands at `path`."""
    return _edited(path, None, keep=False)


def _edited(path: tuple[str | int, ...], value: object, *, keep: bool) -> bytes:
    tree = json.loads(SOUND_TREE)
    place = tree
    for key in path[:-1]:
        place = place[key]
    if keep:
        place[path[-1]] = value
    else:
        del place[path[-1]]
    return json.dumps(tree).encode()


def _raw(old: bytes, new: bytes) -> bytes:
    """Return the sound tree with its first `old` replaced, for what `json` would not write."""
    before, _, after = SOUND_TREE.partition(old)
    return before + new + after


MALFORMED_TREES: Final[dict[str, tuple[bytes, str]]] = {
    "empty": (b"", "$: nothing is here, expected a JSON object"),
    "blank": (b" \n", "$: nothing is here, expected a JSON object"),
    "truncated": (SOUND_TREE[:-30], "$: not JSON: "),
    "two_trees": (SOUND_TREE * 2, f"$: not JSON: extra data at character {len(SOUND_TREE) + 1}"),
    "a_journal": (SOUND_JOURNAL, "$: not JSON: extra data"),
    "an_array": (b"[" + SOUND_TREE + b"]", "$: expected an object, found an array"),
    "byte_order_mark": (b"\xef\xbb\xbf" + SOUND_TREE, "$: found a byte order mark"),
    "not_utf_8": (_raw(b"Furnish", b"Furni\xffsh"), "$: not UTF-8: found byte 0xff at byte 76"),
    "nested_too_deep": (b"[" * 100_000, "$: arrays or objects are nested deeper"),
    "no_format": (_without("format"), '$.format: missing, expected "mage-tree"'),
    "another_format": (
        _at("format", to="mage-journal"),
        '$.format: expected "mage-tree", found "mage-journal"',
    ),
    "newer_version": (
        _raw(b'"version": 1', b'"version": 2, "checksum": 0'),
        "$.version: expected 1, the version that this mage reads, found 2",
    ),
    "version_zero": (
        _at("version", to=0),
        "$.version: expected 1, the version that this mage reads, found 0",
    ),
    "unknown_key": (_at("owner", to="me"), "$: expected no key but format, version, "),
    "key_twice": (_raw(b"{", b'{"task": "",'), '$: the key "task" stands twice'),
    "key_twice_in_a_step": (_raw(b'"id": 1', b'"id": 1, "id": 1'), '$.steps[0]: the key "id" stands twice'),
    "no_steps": (_without("steps"), "$.steps: missing, expected an array"),
    "steps_are_an_object": (_at("steps", to={}), "$.steps: expected an array, found an object"),
    "step_without_action": (_without("steps", 2, "action"), "$.steps[2].action: missing, expected a string"),
    "step_is_null": (_at("steps", 1, to=None), "$.steps[1]: expected an object, found null"),
    "observation_is_a_number": (
        _at("steps", 3, "observation", to=210),
        "$.steps[3].observation: expected a string, found 210",
    ),
    "parent_is_a_string": (
        _at("steps", 1, "parent", to="1"),
        '$.steps[1].parent: expected an integer from 0 on, found "1"',
    ),
    "parent_is_false": (_at("steps", 0, "parent", to=False), "$.steps[0].parent: expected an integer"),
    "parent_is_nan": (_raw(b'"parent": 1', b'"parent": NaN'), "$.steps[1].parent: "),
    "parent_is_a_fraction": (_raw(b'"parent": 1', b'"parent": 1.0'), "$.steps[1].parent: "),
    "parent_below_the_root": (
        _at("steps", 0, "parent", to=-1),
        "$.steps[0].parent: expected an integer from 0 on",
    ),
    "thousands_of_digits": (
        _raw(b'"parent": 1', b'"parent": ' + b"1" * 5000),
        "$.steps[1].parent: expected an integer from 0 on, found an integer of 5000 digits",
    ),
    "dangling_parent": (
        _at("steps", 3, "parent", to=99),
        "$.steps[3].parent: expected an id from 0 to 3, found 99",
    ),
    "cycle_of_one": (
        _at("steps", 2, "parent", to=3),
        "$.steps[2].parent: expected an id from 0 to 2, found 3",
    ),
    "cycle_of_two": (
        _at("steps", 2, "parent", to=4),
        "$.steps[2].parent: expected an id from 0 to 2, found 4",
    ),
    "duplicate_step_id": (_at("steps", 2, "id", to=2), "$.steps[2].id: expected 3, "),
    "missing_step": (_without("steps", 1), "$.steps[1].id: expected 2, "),
    "root_is_written": (
        _at("steps", to=[{"id": 0, "parent": 0, "action": "", "observation": ""}, *_STEPS]),
        "$.steps[0].id: expected 1, ",
    ),
    "duplicate_siblings": (
        _at("steps", 2, to={**_STEPS[1], "id": 3}),
        "$: I2 siblings_differ: step 3 has the content of an older child of step 1",
    ),
    "duplicate_summary_id": (_at("summaries", 1, "id", to=1), "$.summaries[1].id: expected 2, "),
    "dangling_summary_parent": (
        _at("summaries", 2, "parent", to=7),
        "$.summaries[2].parent: expected an id from 0 to 2, found 7",
    ),
    "cycle_of_summaries": (
        _at("summaries", 0, "parent", to=3),
        "$.summaries[0].parent: expected an id from 0 to 0, found 3",
    ),
    "covers_nothing": (
        _at("summaries", 0, "covers", to=[]),
        "$.summaries[0].covers: expected an array that is not",
    ),
    "covers_an_unknown_step": (
        _at("summaries", 2, "covers", 1, to=9),
        "$.summaries[2].covers[1]: expected an id from 2 to 4, found 9",
    ),
    "covers_the_root": (
        _at("summaries", 0, "covers", 0, to=0),
        "$.summaries[0].covers[0]: expected an id from 1 to 4, found 0",
    ),
    "covers_out_of_order": (
        _at("summaries", 2, "covers", to=[1, 4, 3]),
        "$.summaries[2].covers[2]: expected no id after 4, found 3",
    ),
    "covers_a_step_twice": (
        _at("summaries", 2, "covers", to=[1, 3, 3]),
        "$.summaries[2].covers[2]: expected an id from 4 to 4, found 3",
    ),
    "covers_with_a_gap": (
        _at("summaries", 2, "covers", to=[1, 4]),
        "$: I3 covers_are_contiguous: summary 3 covers step 4, which does not follow step 1",
    ),
    "wrong_label": (_at("summaries", 2, "label", to=1), "$: I3 covers_are_contiguous: summary 3 has label 1"),
    "duplicate_covers": (
        _at("summaries", 1, "covers", to=[1, 3, 4]),
        "$: I4 sibling_covers_differ: summary 3 has the covers of an older child of summary 0",
    ),
    "dangling_way": (
        _at("summaries", 1, "after", to=4),
        "$.summaries[1].after: expected an id from 0 to 3, found 4",
    ),
    "way_in_a_circle": (
        _at("summaries", 0, "after", to=1),
        "$: I11 taken_in_are_fallbacks: the way does not",
    ),
    "way_past_what_it_took_in": (
        _at("summaries", 0, "kind", to="subgoal"),
        "$: I11 taken_in_are_fallbacks: summary 3 cannot have taken summary 1 in",
    ),
    "chapter_at_no_summary": (
        _at("chapters", 0, "last", to=4),
        "$.chapters[0].last: expected an id from 1 to 3, found 4",
    ),
    "chapter_of_one_summary": (
        _at("chapters", 0, "chapters", 0, "first", to=2),
        "$.chapters[0].chapters[0].first: expected an id from 1 to 1, found 2",
    ),
    "chapter_that_begins_beside_the_path": (
        _at("chapters", 0, "last", to=3),
        "$: I12 chapters_unfold: a chapter that ends at summary 3 begins at summary 1",
    ),
    "blank_chapter": (
        _at("chapters", 0, "chapters", 0, "text", to=" "),
        "$.chapters[0].chapters[0].text: expected a string that is not blank",
    ),
    "blank_summary": (
        _at("summaries", 0, "text", to=" \n"),
        '$.summaries[0].text: expected a string that is not blank, found " \\n"',
    ),
    "unknown_kind": (
        _at("summaries", 0, "kind", to="goal"),
        '$.summaries[0].kind: expected "subgoal" or "fallback", found "goal"',
    ),
    "unknown_verdict": (
        _at("summaries", 0, "verdict", "type", to="fine"),
        '$.summaries[0].verdict.type: expected "pending" or "passed" or "failed" or "accepted", found "fine"',
    ),
    "blank_feedback": (
        _at("summaries", 1, "verdict", "feedback", to=""),
        "$.summaries[1].verdict.feedback: expected a string that is not blank",
    ),
    "accepted_despite_a_pass": (
        _at("summaries", 1, "verdict", to={"type": "accepted", "despite": {"type": "passed"}}),
        '$.summaries[1].verdict.despite.type: expected "failed", found "passed"',
    ),
    "forged_verdict": (
        _at("summaries", 0, "verdict", to=_FAILED),
        "$: I8 way_is_trusted: summary 1 above the head is Failed",
    ),
    "forged_pass_of_the_head": (
        _at("summaries", 2, "verdict", to={"type": "passed"}),
        '$.phase: expected "Active", for summary 3 is passed, found "Unverified"',
    ),
    "forged_phase": (_at("phase", to="Rejected"), '$.phase: expected "Unverified", for summary 3 is pending'),
    "unknown_phase": (_at("phase", to="Done"), '$.phase: expected "Active" or "Unverified" or "Rejected"'),
    "unknown_step_head": (_at("step_head", to=5), "$.step_head: expected an id from 0 to 4, found 5"),
    "unknown_summary_head": (
        _at("summary_head", to=4),
        "$.summary_head: expected an id from 0 to 3, found 4",
    ),
    "heads_on_two_branches": (
        _at("step_head", to=2),
        "$: I5 heads_agree: the step head 2 is not below the current boundary 4",
    ),
    "lesson_at_no_step": (
        _at("lessons", 1, "boundary", to=5),
        "$.lessons[1].boundary: expected an id from 1 to 4, found 5",
    ),
    "lesson_at_no_boundary": (
        _at("lessons", 1, "boundary", to=3),
        "$: I9 lessons_stand_at_boundaries: a lesson at step 3 is blank, or no summary ends there",
    ),
    "lessons_at_one_boundary_twice": (
        _at("lessons", 1, "boundary", to=0),
        "$.lessons[1].boundary: expected an id from 1 to 4, found 0",
    ),
    "blank_lesson": (_at("lessons", 0, "texts", 0, to="\t"), "$.lessons[0].texts[0]: expected a string that"),
    "no_lessons_at_a_boundary": (_at("lessons", 0, "texts", to=[]), "$.lessons[0].texts: expected an array"),
    "instruction_at_no_step": (
        _at("instructions", 1, "step", to=5),
        "$.instructions[1].step: expected an id from 1 to 4, found 5",
    ),
    "instruction_twice": (
        _at("instructions", 0, "placed", to=[{"text": "Desk first.", "standing": False}] * 2),
        "$.instructions[0].placed[1]: the same instruction stands here before",
    ),
    "standing_is_a_number": (
        _at("instructions", 0, "placed", 0, "standing", to=0),
        "$.instructions[0].placed[0].standing: expected true or false, found 0",
    ),
    "50_mb_of_text_where_an_id_belongs": (
        _at("steps", 1, "parent", to="x" * _MANY),
        '$.steps[1].parent: expected an integer from 0 on, found "xxx',
    ),
}
