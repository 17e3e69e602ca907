"""Malformed journals, by name, each with what its refusal must say: what is wrong, and where."""

from __future__ import annotations

import json
from typing import Final

_MANY: Final = 50_000_000
_HEADER: Final = '{"format":"mage-journal","version":1}'
_START: Final = '{"op":"start","task":"Furnish the study"}'
_GROW: Final = '{"op":"grow","action":"search[desk]","observation":"three desks"}'
_DIGEST: Final = "47168ac158b6382d67507da2dd878cbefb774da34d9b6287476951a906af2db4"


def _lines(*lines: str | bytes) -> bytes:
    return b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines)


def _after_two(line: str | bytes) -> bytes:
    """Return a journal whose fourth line is `line`; a start and a grow stand before it."""
    return _lines(_HEADER, _START, _GROW, line, _GROW)


def _verdict(**changes: str) -> bytes:
    verdict = {"type": "failed", "feedback": "too wide", "fault": "execution", "boundary": None, **changes}
    return _after_two(json.dumps({"op": "apply_verdict", "verdict": verdict, "digest": _DIGEST}))


def _digest(digest: object) -> bytes:
    return _after_two(json.dumps({"op": "apply_verdict", "verdict": {"type": "passed"}, "digest": digest}))


SOUND_JOURNAL: Final = _after_two('{"op":"revise","boundary":0,"lesson":"Measure first."}')

MALFORMED_JOURNALS: Final[dict[str, tuple[bytes, str]]] = {
    "empty": (b"", "line 1: $: the journal is empty"),
    "only_a_newline": (b"\n", "line 1: $: the line is blank"),
    "no_header": (_lines(_START, _GROW), 'line 1: $.format: missing, expected "mage-journal"'),
    "header_of_a_tree": (
        _lines('{"format":"mage-tree","version":1}', _START),
        'line 1: $.format: expected "mage-journal", found "mage-tree"',
    ),
    "newer_version": (
        _lines('{"format":"mage-journal","version":2,"checksum":"c0ffee"}', _START),
        "line 1: $.version: expected 1, the version that this mage reads, found 2",
    ),
    "version_is_a_string": (
        _lines('{"format":"mage-journal","version":"1"}', _START),
        'line 1: $.version: expected 1, the version that this mage reads, found "1"',
    ),
    "version_is_true": (_lines('{"format":"mage-journal","version":true}', _START), "line 1: $.version: "),
    "no_version": (_lines('{"format":"mage-journal"}', _START), "line 1: $.version: missing, expected 1"),
    "header_with_more": (
        _lines('{"format":"mage-journal","version":1,"by":"me"}', _START),
        'line 1: $: expected no key but format, version, found "by"',
    ),
    "header_is_cut": (_HEADER.encode(), "line 1: $: the line is cut: no newline ends it"),
    "header_is_an_array": (_lines("[1]", _START), "line 1: $: expected an object, found an array"),
    "byte_order_mark": (b"\xef\xbb\xbf" + SOUND_JOURNAL, "line 1: $: found a byte order mark"),
    "utf_16": (SOUND_JOURNAL.decode().encode("utf-16"), "line 1: $: not UTF-8: found byte 0xff at byte 1"),
    "last_newline_is_cut": (
        _lines(_HEADER, _START, _GROW)[:-1],
        "line 3: $: the line is cut: no newline ends it; the 1 command before it is sound",
    ),
    "last_line_is_cut": (
        _lines(_HEADER, _START, _GROW, _GROW)[:-20],
        "line 4: $: the line is cut: no newline ends it; the 2 commands before it are sound",
    ),
    "torn_line_in_the_middle": (_after_two(_GROW[:-9]), "line 4: $: not JSON: unterminated string"),
    "two_commands_in_one_line": (
        _after_two(_GROW + _GROW),
        "line 4: $: not JSON: extra data at character 66",
    ),
    "blank_line": (_after_two(""), "line 4: $: the line is blank; the 2 commands before it are sound"),
    "line_of_spaces": (_after_two(" \t\r"), "line 4: $: the line is blank"),
    "not_utf_8": (
        _after_two(b'{"op":"start","task":"caf\xe9"}'),
        "line 4: $: not UTF-8: found byte 0xe9 at byte 26",
    ),
    "surrogate_in_bytes": (
        _after_two(b'{"op":"start","task":"\xed\xa0\x80"}'),
        "line 4: $: not UTF-8: found byte 0xed at byte 23",
    ),
    "control_in_a_string": (
        _after_two('{"op":"start","task":"\x00"}'),
        "line 4: $: not JSON: invalid control",
    ),
    "command_is_null": (_after_two("null"), "line 4: $: expected an object, found null"),
    "no_op": (_after_two('{"task":"desk"}'), 'line 4: $.op: missing, expected "start" or "instruct"'),
    "unknown_op": (_after_two('{"op":"shrink"}'), 'line 4: $.op: expected "start" or "instruct" or '),
    "op_is_a_number": (_after_two('{"op":7}'), "line 4: $.op: "),
    "missing_key": (
        _after_two('{"op":"grow","action":"search[desk]"}'),
        "line 4: $.observation: missing, expected a string",
    ),
    "unknown_key": (
        _after_two('{"op":"accept","why":"hurry"}'),
        'line 4: $: expected no key but op, found "why"',
    ),
    "key_twice": (
        _after_two('{"op":"start","task":"desk","task":"chair"}'),
        'line 4: $: the key "task" stands twice',
    ),
    "key_twice_inside": (
        _after_two(
            f'{{"op":"apply_verdict","verdict":{{"type":"passed","type":"passed"}},"digest":"{_DIGEST}"}}'
        ),
        'line 4: $.verdict: the key "type" stands twice',
    ),
    "number_for_text": (_after_two('{"op":"start","task":3}'), "line 4: $.task: expected a string, found 3"),
    "string_for_integer": (
        _after_two('{"op":"revise","boundary":"3","lesson":""}'),
        'line 4: $.boundary: expected an integer from 0 on, found "3"',
    ),
    "flag_for_integer": (
        _after_two('{"op":"revise","boundary":true,"lesson":""}'),
        "line 4: $.boundary: expected an integer from 0 on, found true",
    ),
    "integer_for_flag": (
        _after_two('{"op":"instruct","text":"desk first","standing":1}'),
        "line 4: $.standing: expected true or false, found 1",
    ),
    "fraction": (_after_two('{"op":"revise","boundary":1.0,"lesson":""}'), "line 4: $.boundary: "),
    "exponent": (_after_two('{"op":"revise","boundary":1e999,"lesson":""}'), "line 4: $.boundary: "),
    "nan": (
        _after_two('{"op":"revise","boundary":NaN,"lesson":""}'),
        "line 4: $.boundary: expected an integer from 0 on, found NaN",
    ),
    "infinity": (_after_two('{"op":"revise","boundary":-Infinity,"lesson":""}'), "found -Infinity"),
    "below_zero": (
        _after_two('{"op":"revise","boundary":-1,"lesson":""}'),
        "line 4: $.boundary: expected an integer from 0 on, found -1",
    ),
    "thousands_of_digits": (
        _after_two(f'{{"op":"revise","boundary":{"9" * 5000},"lesson":""}}'),
        "line 4: $.boundary: expected an integer from 0 on, found an integer of 5000 digits",
    ),
    "unknown_kind": (
        _after_two('{"op":"compress","text":"desk bought","kind":"goal"}'),
        'line 4: $.kind: expected "subgoal" or "fallback", found "goal"',
    ),
    "kind_in_retext": (
        _after_two('{"op":"retext","text":"desk bought","kind":"subgoal"}'),
        'line 4: $: expected no key but op, text, found "kind"',
    ),
    "origin_is_a_text": (
        _verdict(boundary="0"),
        'line 4: $.verdict.boundary: expected an integer from 0 on or null, found "0"',
    ),
    "fold_without_an_end": (
        _after_two(json.dumps({"op": "fold", "first": 0, "text": "both", "digest": _DIGEST})),
        "line 4: $.last: missing, expected an integer from 0 on",
    ),
    "unknown_fault": (
        _verdict(fault="judge"),
        'line 4: $.verdict.fault: expected "execution" or "summary", found "judge"',
    ),
    "unknown_verdict": (_verdict(type="maybe"), 'line 4: $.verdict.type: expected "passed" or "failed"'),
    "pending_is_no_answer": (_verdict(type="pending"), 'found "pending"'),
    "verdict_with_more": (_verdict(by="a judge"), "line 4: $.verdict: expected no key but type, feedback"),
    "short_digest": (_digest(_DIGEST[:-1]), "line 4: $.digest: expected 64 hexadecimal digits"),
    "digest_in_upper_case": (_digest(_DIGEST.upper()), "line 4: $.digest: "),
    "digest_is_null": (
        _digest(None),
        "line 4: $.digest: expected 64 hexadecimal digits in lower case, found null",
    ),
    "nested_too_deep": (_after_two("[" * 100_000), "line 4: $: arrays or objects are nested deeper"),
    "nested_objects": (_after_two('{"op":' * 100_000), "line 4: $: arrays or objects are nested deeper"),
    "50_mb_line_that_is_no_json": (
        _after_two("x" * _MANY),
        "line 4: $: not JSON: expecting value at character 1",
    ),
    "50_mb_text_where_none_belongs": (
        _after_two(f'{{"op":"revise","boundary":"{"x" * _MANY}","lesson":""}}'),
        "(50000000 characters)",
    ),
}
