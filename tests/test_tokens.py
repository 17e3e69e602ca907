"""Token counts: exact ones, an honest estimate, and that both add up."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mage import MageError
from mage.engine import UnknownName
from mage.tokens import (
    ENCODINGS,
    EstimateCounter,
    ExactCounter,
    MissingTokenizer,
    TokenCounter,
    default_counter,
)
from tests.render.states import hostile_texts
from tests.shared_data import SHARED, needs_shared
from tests.token_texts import TEXTS

_COUNTERS: list[TokenCounter] = [EstimateCounter(), *map(ExactCounter, ENCODINGS)]
_ROOT = Path(__file__).resolve().parents[1]
_WITHOUT_TOKTOK = """
import sys
sys.modules["toktok"] = None
from mage.tokens import EstimateCounter, ExactCounter, MissingTokenizer, default_counter
assert default_counter() == EstimateCounter()
try:
    ExactCounter()
except MissingTokenizer as error:
    print(error)
"""

pieces = st.tuples(st.sampled_from(("a", "Z", "[", "Observation: ", "[Step 3] ")), hostile_texts).map(
    lambda parts: f"{parts[0]}{parts[1]}\n"
)


def _by_name(counter: TokenCounter) -> str:
    return counter.name


@pytest.mark.parametrize("counter", _COUNTERS, ids=_by_name)
@given(texts=st.lists(pieces, max_size=6))
@example(texts=["a/\n", "[/\n", "a//\r\n", "[//\n"])
@example(texts=["a \n", "a\n\n\n", "a\r\n", "[\r\n", "a \t\n", "Z\x85\n"])
@example(texts=["a'\n", "S\n", "a 12\n", "A" * 50 + "\n", "aA\n", "Bb\n"])
def test_counts_of_blocks_add_up(counter: TokenCounter, texts: list[str]) -> None:
    """Over pieces that end in a line feed and begin with a letter or `[`, a count is additive."""
    assert sum(map(counter.count, texts)) == counter.count("".join(texts))


@pytest.mark.parametrize("counter", _COUNTERS, ids=_by_name)
@given(text=hostile_texts)
def test_a_count_depends_on_the_text_alone(counter: TokenCounter, text: str) -> None:
    """Any string has a count, 0 for the empty one only, and the same each time."""
    assert counter.count(text) == counter.count(str(text)) >= (text != "")
    assert counter.count("") == 0


@given(st.text(st.characters(categories=["Cs", "L"]), max_size=12))
def test_a_lone_surrogate_counts_as_the_replacement_character(text: str) -> None:
    """What cannot be sent is counted as what is sent in its place; pairs are one character."""
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert ExactCounter().count(text) == ExactCounter().count(joined)
    assert ExactCounter().count("x\ud800y") == ExactCounter().count("x\ufffdy")
    assert ExactCounter().count("\ud83c\udf82") == ExactCounter().count("\U0001f382")


def test_exact_counts_are_those_of_the_tokenizer() -> None:
    """A few counts that can be checked anywhere, in each encoding; text like a special token is text."""
    assert [ExactCounter(name).count("hello world") for name in ENCODINGS] == [2, 2, 2, 2]
    assert [ExactCounter(name).count("2025") for name in ENCODINGS] == [2, 2, 2, 4]
    assert ExactCounter().count("<|endoftext|>") > 1


def test_the_counters_have_names() -> None:
    """A report can say how its numbers were counted; the estimate says that it is one."""
    assert [counter.name for counter in _COUNTERS] == ["estimate", *ENCODINGS]


@pytest.mark.parametrize("encoding", ["gpt-4o", "", "jev"])
def test_an_unknown_encoding_is_refused_at_once(encoding: str) -> None:
    """The error lists what is known; an encoding that is itself an estimate is not among them."""
    with pytest.raises(UnknownName, match="is no encoding; known are o200k_base, "):
        ExactCounter(encoding)


def test_the_default_is_exact_where_it_can_be() -> None:
    """With the extra installed, counts are exact."""
    assert default_counter() == ExactCounter("o200k_base")


def test_without_the_extra_the_default_is_the_estimate() -> None:
    """Without it, counting goes on, and asking for exact counts says what to install."""
    command = [sys.executable, "-c", _WITHOUT_TOKTOK]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "exact token counts need the package toktok-rs: pip install 'mage-state[tokens]'\n"
    assert issubclass(MissingTokenizer, MageError)


@pytest.mark.parametrize("kind", TEXTS)
def test_the_estimate_is_near_for_every_kind_of_text(kind: str) -> None:
    """Never far too low, whatever the script; at worst twice too high."""
    assert 0.85 <= _ratio(TEXTS[kind]) <= 2.0


@needs_shared
def test_the_estimate_is_near_on_real_traces() -> None:
    """Each file of real agents' traces as a whole, and each of their longer lines."""
    files = [
        file for file in sorted((SHARED / "data").rglob("*.*")) if file.suffix in {".json", ".jsonl", ".traj"}
    ]
    assert len(files) > 20
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert 1.0 <= _ratio(text) <= 1.4, file
        assert all(0.85 <= _ratio(line) <= 2.0 for line in text.splitlines() if len(line) > 1_000), file


def _ratio(text: str) -> float:
    return EstimateCounter().count(text) / ExactCounter().count(text)


@pytest.mark.parametrize("make", [EstimateCounter, ExactCounter])
def test_counters_are_values(make: Callable[[], TokenCounter]) -> None:
    """Two of a kind are equal and can stand in a set."""
    assert len({make(), make()}) == 1


@pytest.mark.parametrize("unit", [" ", "\n", " \n", "a", "A", "1", "/", "a ", "\t \n", "é", "-"])
def test_the_estimate_takes_linear_time(unit: str) -> None:
    """No text makes the estimate slow: a long run of one thing is counted in parts of a bounded length."""
    short = EstimateCounter().count(unit * 10_000)
    assert EstimateCounter().count(unit * 1_000_000) == pytest.approx(short * 100, rel=0.01)
