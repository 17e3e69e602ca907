"""Judges of every kind on labelled runs, on the shop with its revisions, and by hand."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.arena.__main__ import main
from benchmarks.arena.domains.by_hand import ByHand, InputEnded, verdict_of
from benchmarks.arena.domains.measured import Case, ask, cases, coin, measured, passes_all, worth_of
from benchmarks.arena.domains.registry import domain
from benchmarks.arena.domains.revisions import knowing, mended, undone_in
from benchmarks.arena.domains.shopping.rules import ShopRules
from benchmarks.arena.domains.who_and_when import Firsts, firsts, labelled, segments
from benchmarks.arena.traces import Act, Run
from mage import Session
from mage.effects import FoldRequest, Judge, JudgeRequest, Verdict
from mage.engine import Failed, Passed, StepId
from mage.stores import MemoryStore
from mage.tokens import default_counter
from mage.trajectories import Need
from tests.llm.server import ScriptedServer, says
from tests.shared_data import SHARED, needs_shared

ASKED = cases(1, 3, "small")


def going_back_to(boundary: StepId | None) -> Judge:
    """Return a judge that fails everything, from a boundary on."""

    def judge(_request: JudgeRequest | FoldRequest, /) -> Verdict:
        return Failed("No.", boundary=boundary)

    return judge


def by_label(asked: list[Case]) -> Judge:
    """Return a judge that knows the labels."""
    wrong = {id(case.request): case for case in asked if not case.is_right}

    def judge(request: JudgeRequest | FoldRequest, /) -> Verdict:
        case = wrong.get(id(request))
        return Passed() if case is None else Failed("Wrong.", boundary=case.boundary)

    return judge


# -- boundaries -----------------------------------------------------------------------------------------


def test_the_right_boundary_is_the_last_one_before_the_mistake() -> None:
    """Who names it, or none, goes back to before the purchase; who names the beginning goes too far."""
    wrong = [case for case in ASKED if not case.is_right]
    for case in wrong:
        assert case.boundary in (*case.request.boundaries, case.begin)
        assert case.mistake is not None
        assert case.boundary is not None
        assert case.boundary < case.mistake == case.request.steps[-1].id
        assert case.request.steps[-1].action.startswith("buy")
    for judge in (going_back_to(None), by_label(ASKED)):
        worth = measured("x", judge, ASKED)
        assert (worth.placed, worth.too_far) == (worth.found, 0)
    late = [case for case in wrong if case.begin > 0]
    assert late
    worth = measured("x", going_back_to(StepId(0)), late)
    assert (worth.placed, worth.too_far) == (0, len(late))
    assert measured("x", lambda _request: Failed("No.", "summary"), wrong).placed == 0


# -- labelled runs ------------------------------------------------------------------------------------------


def run_of(texts: list[str]) -> Run:
    """Return a run that somebody recorded."""
    acts = tuple([Act(f"agent {place}", text, Need(frozenset())) for place, text in enumerate(texts)])
    return Run("r", "r", "Find it.", acts)


def test_segments_are_those_of_the_products_memory() -> None:
    """Together they hold each step once, in order; each has the texts of those before it, and a claim."""
    run = run_of([f"{place} {'word ' * 120}" for place in range(30)])
    found = list(segments(run, 600, default_counter()))
    assert len(found) > 3
    assert [step.observation for each in found for step in each.steps] == [
        act.observation for act in run.acts
    ]
    assert [len(each.before) for each in found] == list(range(len(found)))
    assert all(each.text and each.kind == "subgoal" and each.task == "Find it." for each in found)
    (whole,) = segments(run, 100_000, default_counter())
    assert len(whole.steps) == 30


def written(folder: Path, mistake: str = "4") -> Path:
    """Write a labelled run as Who&When has it."""
    history = [
        {"role": "assistant", "name": "Web", "content": f"{place} {'page ' * 300}"} for place in range(8)
    ]
    said = {"question": "Find it.", "history": history, "ground_truth": "x", "mistake_step": mistake}
    folder.mkdir(exist_ok=True)
    (folder / "1.json").write_text(json.dumps({**said, "mistake_agent": "Web", "mistake_reason": "because"}))
    return folder


def test_a_labelled_run_is_asked_of_up_to_its_mistake(tmp_path: Path) -> None:
    """The last case holds the step that people have named, and is wrong; those before it are right; no label is shown."""
    asked = labelled(written(tmp_path / "w"), room=700)
    assert [case.is_right for case in asked] == [True] * (len(asked) - 1) + [False]
    assert len(asked) > 1
    last = asked[-1]
    assert [step.observation[0] for step in last.request.steps if step.id == last.mistake] == ["4"]
    assert "because" not in str(last.request)


def test_the_first_segment_that_fails_is_right_early_or_none(tmp_path: Path) -> None:
    """Who knows fails the mistake first; who fails everything is early; who passes everything never fails."""
    asked = labelled(written(tmp_path / "w"), room=700)
    assert firsts(ask(by_label(asked), asked)) == Firsts(1, 1, 0, 0)
    assert firsts(ask(going_back_to(None), asked)) == Firsts(1, 0, 1, 0)
    assert firsts(ask(passes_all, asked)) == Firsts(1, 0, 0, 1)
    assert worth_of("knows", ask(by_label(asked), asked)).recall == 1


def test_what_is_no_labelled_run_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty folder, a file that is none, a run without a label, options that do not go together."""
    asked = ["judges", "--who-and-when", str(tmp_path / "w")]
    assert main(asked) == 2
    assert "there is no *.json in" in capsys.readouterr().err
    written(tmp_path / "w", mistake="99")
    assert main(asked) == 2
    assert "says of no step that it is the mistake" in capsys.readouterr().err
    (tmp_path / "w" / "1.json").write_text("nonsense")
    assert main(asked) == 2
    assert "is no run that can be read" in capsys.readouterr().err
    for more, why in (
        (["--revisions"], "--revisions plays the shop"),
        (["--answers", "x"], "--answers is for --by-hand"),
        (["--rule", "x"], "'x' is no MODULE:NAME"),
        (["--rule", "json:nothing"], "json has no 'nothing'"),
        (["--rule", "sys:path"], "sys:path cannot be called"),
        (["--rule", "no_such_module:x"], "No module named"),
        (["--runs", "x"], "go together"),
    ):
        assert main([*asked, *more]) == 2
        assert why in capsys.readouterr().err


def test_a_model_is_asked_about_labelled_runs_and_plays_the_shop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over HTTP: one that fails everything is early on a labelled run, and undoes right purchases in the shop."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-1b7e55d0")
    said = {"reasoning": "", "passed": False, "fault": "execution", "boundary": None, "feedback": "No."}
    with ScriptedServer(answering=lambda _request: says(json.dumps(said))) as server:
        model = ["--model", "m", "--base-url", server.url, "--json"]
        folder = str(written(tmp_path / "w"))
        assert main(["judges", "--who-and-when", folder, "--room", "700", *model]) == 0
        row = json.loads(capsys.readouterr().out)["rows"][2]
        assert main(["judges", "--size", "small", "--tasks", "1", "--revisions", *model]) == 0
        mending = json.loads(capsys.readouterr().out)["revisions"][3]
    assert (row["name"], row["recall"], row["first"]["early"]) == ("m", 1, 1)
    assert row["tokens"] == 110 * (row["wrong"] + row["right"])
    assert (mending["name"], mending["undone_right"] > 0, mending["tokens_more"] > 0) == ("m", True, True)


@needs_shared
def test_the_17_runs_of_who_and_when_are_cut_and_judged(capsys: pytest.CaptureFixture[str]) -> None:
    """Each has one wrong segment; a judge of one's own stands beside the two that know nothing."""
    folder = str(SHARED / "data" / "who_and_when")
    rule = "benchmarks.arena.domains.measured:passes_all"
    assert main(["judges", "--who-and-when", folder, "--room", "2000", "--rule", rule, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["name"] for row in rows] == ["passes everything", "coin", rule]
    assert all(row["wrong"] == row["first"]["runs"] == 17 for row in rows)
    assert rows[2]["first"] == {"runs": 17, "right": 0, "early": 0, "never": 17}


# -- what revisions cost and mend ---------------------------------------------------------------------------


def test_a_judge_that_knows_mends_what_one_that_passes_everything_does_not() -> None:
    """Who passes everything is no judge, to the digit; who knows undoes wrong purchases alone, for more steps."""
    knows, none = mended(
        {"knows": knowing(1), "none": lambda _world, _rules, _number: passes_all}, 1, 6, "small", mistakes=0.4
    )
    best: dict[str, Any] = knows.document()
    same: dict[str, Any] = none.document()
    assert (same["sr_more"], same["ps_more"], same["steps_more"], same["revisions"]) == (0, 0, 0, 0)
    assert best["ps_more"] > 0
    assert best["steps_more"] > 0
    assert best["revisions"] > 0
    assert best["undone_wrong"] > 0
    assert best["undone_right"] == 0
    low, high = best["ps_more_interval"]
    assert low <= best["ps_more"] <= high
    assert best["same_again"] <= best["bought_anew"] <= best["undone_wrong"]


def test_lessons_are_heeded_where_something_else_is_bought() -> None:
    """Of a purchase that was undone: whether it was wrong, and whether the next one is the same."""
    task = domain("shopping", "small").task(0, 0)
    rules, buying = task.rules, task.plan[0].actions
    assert isinstance(rules, ShopRules)
    right = next(action for action in reversed(buying) if action.startswith("open"))
    codes = [f'open {{"code":"{product.code}"}}' for product in rules.shop.errands[0].options]
    wrong, other = [code for code in codes if code != right][:2]

    def undone(*opened: str) -> list[tuple[bool, bool | None]]:
        with Session.open(MemoryStore(), "a", task="t", judge=lambda _request: Passed()) as session:
            for place, action in enumerate(opened):
                if place:
                    session.revise(0, "not that")
                for each in [*buying[:-2], action, "buy {}"]:
                    session.grow(each, "x")
            return [(one.wrong, one.again) for one in undone_in(rules, session.log())]

    assert undone(right) == []
    assert undone(right, right) == [(False, True)]
    assert undone(wrong, right) == [(True, False)]
    assert undone(wrong, wrong, other) == [(True, True), (True, False)]


def test_runs_that_were_kept_say_whether_lessons_were_heeded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the sessions of `run`, by memory and who acted; without them it is refused."""
    out, kept = tmp_path / "rows.jsonl", tmp_path / "kept"
    run = ["run", "--domain", "shopping", "--size", "small", "--tasks", "1", "--out", str(out)]
    assert main([*run, "--sessions", str(kept)]) == 0
    capsys.readouterr()
    assert main(["judges", "--runs", str(out), "--sessions", str(kept), "--json"]) == 0
    (said,) = json.loads(capsys.readouterr().out)["rows"]
    assert said == {
        "name": "mage, plan",
        "undone_wrong": 0,
        "undone_right": 0,
        "bought_anew": 0,
        "same_again": 0,
    }
    assert main(["judges", "--runs", str(out), "--sessions", str(tmp_path / "no")]) == 2
    assert "was not kept in this folder" in capsys.readouterr().err


def test_the_command_plays_the_shop_with_each_judge(capsys: pytest.CaptureFixture[str]) -> None:
    """With `--revisions` a second table, in which the judge that knows is the measure of the others."""
    asked = ["judges", "--size", "small", "--tasks", "2", "--seed", "1", "--revisions"]
    assert main([*asked, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in said["revisions"]] == ["knows", "passes everything", "coin"]
    assert main(asked) == 0
    assert "same again" in capsys.readouterr().out


# -- by hand ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("passed", Passed()),
        ("Passed", Passed()),
        ("failed: no receipt", Failed("no receipt")),
        ("failed at 12: too dear", Failed("too dear", boundary=StepId(12))),
        ("text: says nothing", Failed("says nothing", "summary")),
    ],
)
def test_a_line_is_a_verdict(line: str, verdict: Verdict) -> None:
    """What is written by hand is what a model would have answered."""
    assert verdict_of(line) == verdict


@pytest.mark.parametrize(
    "line", ["", "yes", "failed", "failed:", "failed at: x", "failed at x: y", "text", ":"]
)
def test_any_other_line_is_asked_again(line: str) -> None:
    """It says what is missing, and is no verdict."""
    assert isinstance(verdict_of(line), str)
    hand = ByHand(io.StringIO(), io.StringIO(f"{line}\npassed\n"), None)
    assert hand(ASKED[0].request) == Passed()


def test_answers_by_hand_are_kept_and_gone_on_with(tmp_path: Path) -> None:
    """Each prompt is shown whole and asked once; after an interruption the kept answers come without a question."""
    kept, asks = tmp_path / "answers.jsonl", io.StringIO()
    first = ByHand(asks, io.StringIO("failed at 999: x\nfailed: x\n"), kept)
    assert first(ASKED[0].request) == Failed("x")
    assert "step 999 is no boundary" in asks.getvalue()
    assert ASKED[0].request.text in asks.getvalue()
    with pytest.raises(InputEnded):
        first(ASKED[1].request)
    silent = io.StringIO()
    again = ByHand(silent, io.StringIO("passed\n"), kept)
    assert again(ASKED[0].request) == Failed("x")
    assert silent.getvalue() == ""
    assert again(ASKED[1].request) == Passed()
    assert len(kept.read_text().splitlines()) == 2


def test_a_round_by_hand_that_ends_early_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command, twice: refused in a line when the answers end, and a row when they suffice."""
    asked = ["judges", "--size", "small", "--tasks", "1", "--seed", "1", "--by-hand", "--json"]
    asked += ["--answers", str(tmp_path / "answers.jsonl")]
    monkeypatch.setattr("sys.stdin", io.StringIO("passed\n"))
    assert main(asked) == 2
    assert "the same command goes on, with what" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO("passed\n" * 50))
    assert main(asked) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["name"] for row in rows] == ["passes everything", "coin", "by hand"]
    assert rows[2]["found"] == 0
    (tmp_path / "answers.jsonl").write_text('{"prompt": "x", "answer": "maybe"}\n')
    assert main(asked) == 2
    assert "line 1: that is neither" in capsys.readouterr().err


def test_a_coin_is_thrown_anew_for_each_measure() -> None:
    """So a table does not hang on what was measured before it."""
    assert measured("coin", coin(3), ASKED) == measured("coin", coin(3), ASKED)
