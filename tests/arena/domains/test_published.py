"""Rows in MemoryArena's public schema, of our own making: what is read, refused, played and marked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.arena.__main__ import main
from benchmarks.arena.domains.published import (
    CAPS,
    BadPublished,
    MissingData,
    is_same_result,
    published,
    read_published,
    slots_of,
)
from benchmarks.arena.domains.scoring import Score
from benchmarks.arena.domains.task import Task
from benchmarks.arena.domains.world import Closed, World
from tests.arena.domains.cases import actions_of

CODES: Final = [f"B0TEST{place:04d}" for place in range(6)]
_DAY: Final = {
    "days": 1,
    "current_city": "Ulmo",
    "transportation": "-",
    "breakfast": "Bluebell Bakery, Ulmo",
    "attraction": "Old Mill, Ulmo",
    "lunch": "",
    "dinner": "Harbour Kitchen, Ulmo",
    "accommodation": "Loft by the Canal, Ulmo",
}
ROWS: Final[dict[str, dict[str, Any]]] = {
    "shopping": {
        "id": 7,
        "category": "garden",
        "questions": [f"Buy the {word} tool." for word in ("red", "blue", "long", "short", "new", "old")],
        "answers": [{"target_asin": code, "attributes": ["steel"]} for code in CODES],
    },
    "travel": {
        "id": 1,
        "base_person": {"name": "Ada", "query": "A day in Ulmo.", "daily_plans": [_DAY]},
        "questions": ["Ben joins, and wants dinner elsewhere.", "Cleo joins, and wants what Ben has."],
        "answers": [[{**_DAY, "dinner": "Lantern House, Ulmo"}]] * 2,
    },
    "search": {
        "id": "s",
        "questions": ["Who built it?", "Where was that one born?"],
        "answers": ["Odo", "Ulmo"],
    },
    "math": {
        "id": 3,
        "paper_name": "On a small sum",
        "backgrounds": ["Let n be a number.", "Sums are finite."],
        "questions": ["Sum 1 to n.", "Take n = 3."],
        "answers": ["n*(n+1)/2", 6],
    },
}
ROWS["physics"] = {**ROWS["math"], "backgrounds": "Springs follow Hooke."}
DATA: Final[dict[str, list[dict[str, Any]]]] = {
    "shopping": [{"asin": code, "title": f"Tool {code}", "price": "$1,012.50"} for code in CODES],
    "search": [{"title": "Odo", "text": "Odo of Ulmo built the bridge."}],
    "travel": [
        {
            "Flight from Ulmo to Brem on 2022-03-01": [],
            "Flight from Brem to Ulmo on 2022-03-02": [],
            "Restaurants in Brem": [
                {"Name": "Lantern House", "Cuisines": "Tea", "Average Cost": 12, "Aggregate Rating": 4.1}
            ],
        }
    ],
}


def written(path: Path, *rows: object) -> Path:
    """Write rows as JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def files(name: str, folder: Path) -> tuple[Path, Path | None]:
    """Write a row of a domain, and what its answers are found in."""
    rows = written(folder / f"{name}.jsonl", ROWS[name])
    return rows, written(folder / f"{name}-data.jsonl", *DATA[name]) if name in DATA else None


def task_of(name: str, folder: Path) -> Task:
    """Return the task of a row."""
    return published(name, *files(name, folder)).task(0, 0)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_is_played_to_its_end_by_its_answers(name: str, tmp_path: Path) -> None:
    """Each instruction comes with its subtask, the answers of the row are all right, and no answer is shown before."""
    task = task_of(name, tmp_path)
    world = World(task.rules)
    told = [*world.reset().instructions]
    for each in actions_of(task):
        seen = world.act(each)
        told += seen.instructions
    assert len(told) == len(ROWS[name]["questions"])
    assert all(question in text for question, text in zip(ROWS[name]["questions"], told, strict=True))
    marked = task.mark(world.standing.closed)
    assert (marked.score.sr, marked.score.ps, marked.score.answered) == (1, 1, 1)
    assert task.rules.cap == CAPS[name]
    answers = [code for code in CODES if any(code in text for text in (task.text, *told))]
    assert answers == []


@pytest.mark.parametrize("name", ["shopping", "travel", "search"])
def test_rows_alone_can_be_read_and_marked_and_not_played(name: str, tmp_path: Path) -> None:
    """Instructions, caps and scores are there; what is missing for an environment is refused in words."""
    rows, _ = files(name, tmp_path)
    (row,) = read_published(name, rows)
    assert (len(row.questions), row.cap) == (len(ROWS[name]["questions"]), CAPS[name])
    closed = [Closed("answered", right, 1) for right in row.right]
    assert row(closed).score.sr == 1
    assert row([]).score == Score(0, 0, 0, 0.0 if name == "travel" else None)
    with pytest.raises(MissingData, match="--data FILE with"):
        published(name, rows)


def test_scores_are_the_published_ones(tmp_path: Path) -> None:
    """A bundle needs all of it, a chain its last answer, a group every plan; a missing answer counts as wrong."""
    rows = {name: read_published(name, files(name, tmp_path)[0])[0] for name in ROWS}
    for name, row in rows.items():
        first = [Closed("answered", row.right[0], 1)]
        only_first, count = row(first).score, len(row.right)
        assert only_first.sr == 0
        assert only_first.ps == pytest.approx(1 / count)
        last = [Closed("cap", (), 1)] * (count - 1) + [Closed("answered", row.right[-1], 1)]
        assert row(last).score.sr == (name in ("search", "math", "physics"))
        assert row(last).right == (None,) * (count - 1) + (True,)


def test_of_a_plan_names_may_differ_and_wishes_count_alone(tmp_path: Path) -> None:
    """A name counts from a ratio of .7; the soft score looks at slots that differ from the first traveller's."""
    (row,) = read_published("travel", files("travel", tmp_path)[0])
    near = tuple((slot, text.replace("Lantern", "Lanterne")) for slot, text in row.right[0])
    assert row([Closed("answered", near, 1)]).right == (True, None)
    base = tuple((slot, dict(row.base).get(slot, text)) for slot, text in row.right[0])
    marked = row([Closed("answered", base, 1), Closed("answered", row.right[1], 1)])
    assert marked.right == (False, True)
    assert marked.score.soft_ps == 0.5


@pytest.mark.parametrize(
    ("name", "change", "field"),
    [
        ("shopping", {"answers": [{"target_asin": ""}] * 6}, r"answers\[0\].target_asin"),
        ("shopping", {"answers": ["B0"] * 6}, r"answers\[0\]"),
        ("shopping", {"category": None}, "category"),
        ("shopping", {"answers": [{"target_asin": "B0"}]}, "answers"),
        ("search", {"questions": []}, "questions"),
        ("search", {"questions": "who?"}, "questions"),
        ("search", {"answers": ["Odo", True]}, r"answers\[1\]"),
        ("search", {"id": None}, "id"),
        ("math", {"paper_name": {}}, "paper_name"),
        ("math", {"backgrounds": ["x", 1, []]}, r"backgrounds\[2\]"),
        ("travel", {"base_person": "Ada"}, "base_person"),
        ("travel", {"base_person": {"name": "Ada", "query": "q"}}, "base_person.daily_plans"),
        ("travel", {"answers": [[{"lunch": "-"}]] * 2}, r"answers\[0\]"),
        ("travel", {"answers": [["noon"]] * 2}, r"answers\[0\]\[0\]"),
    ],
)
def test_what_is_malformed_is_refused_with_line_and_field(
    name: str, change: dict[str, object], field: str, tmp_path: Path
) -> None:
    """The second line is wrong: the refusal names the file, the line and the field."""
    path = written(tmp_path / "rows.jsonl", ROWS[name], {**ROWS[name], **change})
    with pytest.raises(BadPublished, match=rf"rows.jsonl, line 2, {field}: ") as refused:
        read_published(name, path)
    assert refused.value.line == 2


@given(
    st.sampled_from(sorted(ROWS)),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    ),
    st.data(),
)
@settings(deadline=None)
def test_any_json_in_a_field_is_read_or_refused(
    somewhere: Path, name: str, value: object, data: st.DataObject
) -> None:
    """Whatever stands in a field: a row, which can be marked, or a refusal that is typed."""
    field = data.draw(st.sampled_from(sorted(ROWS[name])))
    path = written(somewhere / "rows.jsonl", {**ROWS[name], field: value})
    try:
        (row,) = read_published(name, path)
    except BadPublished:
        return
    assert row([]).score.sr == 0


@pytest.fixture(scope="module")
def somewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that examples may share, one after the other."""
    return tmp_path_factory.mktemp("rows")


def test_what_is_no_json_or_empty_is_refused(tmp_path: Path) -> None:
    """Each is one line that says where."""
    path = tmp_path / "rows.jsonl"
    for text, said in (
        ("{", "line 1, the line: it is no JSON"),
        ("[]", "a JSON object"),
        ("", "has no rows"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(BadPublished, match=said):
            read_published("search", path)
    path.write_bytes(b"\xff")
    with pytest.raises(BadPublished, match="no UTF-8"):
        read_published("search", path)


def test_a_catalogue_that_lacks_a_product_is_refused(tmp_path: Path) -> None:
    """A purchase that could not be made is found before anything is run; so is a price that is none."""
    rows, _ = files("shopping", tmp_path)
    lacking = written(tmp_path / "lacking.jsonl", *DATA["shopping"][:-1])
    with pytest.raises(MissingData, match=f"no product {CODES[-1]}, which line 1 of"):
        published("shopping", rows, lacking)
    odd = written(tmp_path / "odd.jsonl", {**DATA["shopping"][0], "price": "cheap"})
    with pytest.raises(BadPublished, match=r"odd\.jsonl, line 1, price"):
        published("shopping", rows, odd)


@pytest.mark.parametrize(
    ("given", "right", "is_same"),
    [
        ("n*n/2 + n/2", "n*(n+1)/2", True),
        ("0.5", "1/2", True),
        ("n", "m", False),
        (r"\frac{1}{2}", r" \frac{1}{2}. ", True),
        (r"\frac{1}{2}", "1/2", False),
        ("", "0", False),
    ],
)
def test_results_are_compared_as_functions_where_they_are_some(given: str, right: str, is_same: bool) -> None:
    """Equal rational functions are equal however written; other texts where they read the same."""
    assert is_same_result(given, right) == is_same


@given(
    st.lists(
        st.dictionaries(st.text(max_size=8), st.none() | st.integers() | st.text(max_size=8)), max_size=3
    )
)
def test_any_plan_has_slots(days: list[dict[str, object]]) -> None:
    """Nothing that an agent hands in as days is an error; a slot with nothing in it is none."""
    assert all(text.strip() not in ("", "-") for _, text in slots_of(days))


# -- the command ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROWS)
def test_the_runner_takes_rows(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A plan that hands in the answers has them all right, and the row says that nobody here has seen such rows."""
    rows, data = files(name, tmp_path)
    out = tmp_path / "out.jsonl"
    asked = ["run", "--domain", name, "--rows", str(rows), "--tasks", "1", "--out", str(out)]
    assert main([*asked, *(["--data", str(data)] if data else [])]) == 0
    row = json.loads(out.read_text(encoding="utf-8"))
    assert (row["sr"], row["outcome"]) == (1, "finished")
    assert "nobody here has seen" in row["origin"]["tasks"]
    assert len(row["settings"]["rows"]) == 12
    capsys.readouterr()


def test_what_cannot_be_run_of_rows_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Several domains, too many tasks, no data, no file, the context reader: each is a line and status 2."""
    rows, data = files("shopping", tmp_path)
    out = ["--tasks", "1", "--out", str(tmp_path / "out.jsonl")]
    shopping = ["run", "--domain", "shopping", "--rows", str(rows)]
    for asked, said in (
        (["run", "--domain", "formal", "--rows", str(rows), *out], "of math, physics name one"),
        ([*shopping, *out], "--data FILE with the products behind its codes"),
        ([*shopping, "--data", str(data), *out, "--tasks", "2"], "has 1 rows: --tasks 1 at most"),
        ([*shopping, "--data", str(data), "--agent", "reader", *out], "our own tasks alone"),
        (["run", "--domain", "math", "--rows", str(tmp_path / "no"), *out], "No such file"),
        (["run", "--domain", "search", "--rows", str(data), *out], "line 1, questions: "),
    ):
        assert main(asked) == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()
