"""Our own journals as traces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.codec import encode_journal
from mage.engine import Accept, Command, Grow, Start
from mage.trajectories import load
from mage.trajectories.formats import is_journal
from tests.trajectories.samples import COMMANDS, JOURNAL, TEXT, refused


def _journal(*commands: Command) -> bytes:
    return b"".join(encode_journal(commands))


def test_journal_comes_back_as_it_was_written() -> None:
    """The commands of a journal are the trajectory's, and a compress among them makes it summarized."""
    (found,) = load(JOURNAL, file="pond.jsonl").unwrap()
    assert (found.name, found.commands, found.summarized) == ("pond", COMMANDS, True)


@given(TEXT, st.lists(st.tuples(TEXT, TEXT), max_size=4))
def test_any_history_comes_back(task: str, steps: list[tuple[str, str]]) -> None:
    """Whatever the contents, a journal of steps loads as it was written, and is not summarized."""
    commands: tuple[Command, ...] = (
        Start(task),
        *[Grow(action, observation) for action, observation in steps],
    )
    (found,) = load(_journal(*commands), file="pond.jsonl").unwrap()
    assert (found.commands, found.summarized) == (commands, False)


@pytest.mark.parametrize(
    ("data", "record", "problem", "good"),
    [
        (_journal(), "$", "the journal is empty", 0),
        (_journal(Grow("a", "o")), "line 2", "grow is not legal", 0),
        (_journal(Start("t"), Accept()), "line 3", "accept is not legal in Active", 1),
        (JOURNAL[:-1], "line 7", "the line is cut", 5),
        (JOURNAL.replace(b'"version":1', b'"version":99'), "line 1, version", "99", 0),
        (JOURNAL.partition(b"\n")[2], "line 1, format", "mage-journal", 0),
    ],
)
def test_journal_that_is_broken_or_does_not_replay_is_told_where(
    data: bytes, record: str, problem: str, good: int
) -> None:
    """What the codec or the engine refuses is told by its line in the file and the commands before it."""
    error = refused(data)
    assert (record, good) == (error.record, error.good)
    assert problem in error.problem


def test_named_format_needs_no_looks() -> None:
    """Told that a file is a journal, the codec says what is wrong with its first line."""
    assert refused(b"[]", format_name="journal").record == "line 1"


def test_looks_alone_decide() -> None:
    """A journal begins with its header, or at least with a command."""
    assert is_journal({"format": "mage-journal", "version": 99})
    assert is_journal({"op": "start"})
    assert not is_journal({"format": "mage-tree"})
    assert not is_journal(["op"])
