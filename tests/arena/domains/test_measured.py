"""Judges are measured on purchases of which it is known whether they are right."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.arena.__main__ import main
from benchmarks.arena.domains.measured import cases, coin, measured, passes_all, wilson
from mage.effects import EffectError, FoldRequest, JudgeRequest, Metered, Usage, Verdict
from mage.engine import Failed, Passed
from tests.llm.server import Answer, Request, ScriptedServer, Status, says

ASKED = cases(1, 3, "small")
TRUTH = {id(case.request): case.is_right for case in ASKED}


def knowing(request: JudgeRequest | FoldRequest, /) -> Verdict:
    """Judge by the label."""
    return Passed() if TRUTH[id(request)] else Failed("Wrong.")


def test_there_are_cases_of_both_kinds_and_the_same_ones_each_time() -> None:
    """From one seed; of another seed others."""
    assert {case.is_right for case in ASKED} == {True, False}
    again = cases(1, 3, "small")
    assert [(case.request, case.is_right) for case in again] == [
        (case.request, case.is_right) for case in ASKED
    ]
    assert cases(2, 3, "small") != again


def test_the_controls_are_where_they_must_be() -> None:
    """Who knows finds all and alarms at nothing; who passes everything finds nothing; a coin finds about half."""
    best, none = measured("knows", knowing, ASKED), measured("none", passes_all, ASKED)
    assert (best.recall, best.precision, best.alarms) == (1.0, 1.0, 0)
    assert (none.recall, none.precision, none.found, none.alarms) == (0.0, 0.0, 0, 0)
    assert best.wrong + best.right == len(ASKED)
    tossed = measured("coin", coin(3), cases(1, 40, "small"))
    assert 0.3 < tossed.recall < 0.7
    assert tossed == measured("coin", coin(3), cases(1, 40, "small"))


def test_a_judge_without_a_verdict_has_passed_and_is_counted() -> None:
    """What it took counts too, and which fails blame the text alone."""

    def down(_request: JudgeRequest | FoldRequest, /) -> Verdict:
        raise EffectError("server", "down", usage=Usage(7))

    found = measured("down", down, ASKED)
    assert (found.unanswered, found.found, found.usage.prompt) == (len(ASKED), 0, 7 * len(ASKED))

    def blaming(_request: JudgeRequest | FoldRequest, /) -> Metered[Verdict]:
        return Metered(Failed("No.", "summary"), Usage(1))

    found = measured("blames", blaming, ASKED)
    assert found.blamed_text == found.found == found.wrong
    assert found.alarms == found.right


@given(st.integers(0, 50), st.integers(0, 50))
def test_an_interval_is_wider_with_fewer_cases(hits: int, more: int) -> None:
    """Half a width is between 0 and a half, and shrinks as there are more cases of the same share."""
    count = hits + more
    assert 0 < wilson(hits, count) <= 0.5
    if count:
        assert wilson(4 * hits, 4 * count) < wilson(hits, count)


def test_models_are_asked_as_an_agent_asks_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over HTTP, with the project's own prompt and criteria of one's own; a row for each."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-1b7e55d0")
    bodies: list[str] = []

    def answering(request: Request) -> Answer:
        bodies.append(request.body["messages"][0]["content"])
        if request.body["model"] == "gone":
            return Status(404)
        said = {"reasoning": "", "passed": False, "fault": "execution", "boundary": None, "feedback": "No."}
        return says(json.dumps(said))

    with ScriptedServer(answering=answering) as server:
        asked = [
            "judges",
            "--tasks",
            "1",
            "--size",
            "small",
            "--seed",
            "1",
            "--json",
            "--criteria",
            "Be strict.",
        ]
        assert main([*asked, "--model", "m", "--model", "gone", "--base-url", server.url]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["name"] for row in rows] == ["passes everything", "coin", "m", "gone"]
    assert (rows[2]["recall"], rows[2]["alarms"]) == (1.0, rows[2]["right"])
    assert rows[3]["unanswered"] == rows[3]["wrong"] + rows[3]["right"]
    assert all("Be strict." in body for body in bodies)


def test_a_case_says_where_it_comes_from() -> None:
    """Its task and its purchase, by which it can be looked at."""
    places = {(case.task, case.subtask) for case in ASKED}
    assert all(task.startswith("shopping") and place >= 0 for task, place in places)
    assert len({task for task, _ in places}) == 3
