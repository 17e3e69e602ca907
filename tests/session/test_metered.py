"""What a verdict has cost stands beside it; a command may be given as a value; a session knows of redactions."""

from __future__ import annotations

import re

import pytest

from mage import Failed, JudgeRequest, Passed, Refused, Verdict
from mage.cli.change import redact_store
from mage.effects import Metered, Usage
from mage.engine import Accept, Active, Compress, Grow, Unverified
from mage.stores import JournalStore
from tests.session.twins import Twin, both

USAGE = {"prompt": 90, "completion": 7, "cached": 0, "calls": 1}


def dear(request: JudgeRequest, /) -> Metered[Verdict]:
    return Metered(Passed(), Usage(90, 7), "a-model", "a-hash")


@both
def test_what_a_judge_has_cost_stands_beside_its_verdict(twin: Twin, store: JournalStore) -> None:
    """Usage, model and the hash of the prompt are meta of the verdict's record, whoever asked the judge."""
    with twin.open(store, "s", task="t", judge=dear) as session:
        session.grow("a", "o")
        session.compress("one")
        session.grow("b", "o")
        session.compress("two", wait=False)
        session.judge(dear(session.judge_request()), meta={"call": "c1"})
        first, second = [entry.meta for entry in session.history() if "usage" in entry.meta]
        assert first == {"model": "a-model", "prompt": "a-hash", "usage": USAGE}
        assert second == {**first, "call": "c1"}


@both
def test_a_plain_verdict_has_no_meta(twin: Twin, store: JournalStore) -> None:
    """Where nobody counted, nothing is kept; what the host gives is."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a", "o")
        session.compress("one")
        session.judge(Metered(Failed("no"), Usage()), meta={"call": "c1"})
        assert session.history()[-1].meta == {"call": "c1"}


@both
def test_a_command_is_given_as_a_value(twin: Twin, store: JournalStore) -> None:
    """`apply` is what the operation of that name is, but for the judge, who is not asked."""
    with twin.open(store, "s", task="t", judge=dear) as session:
        assert isinstance(session.apply(Grow("a", "o"), meta={"call": "c1"}), Active)
        assert isinstance(session.apply(Compress("one")), Unverified)
        assert isinstance(session.apply(Accept()), Active)
        assert session.history()[1].meta == {"call": "c1"}
        with pytest.raises(Refused):
            session.apply(Compress("nothing is open"))


@both
def test_a_session_knows_how_often_texts_were_taken_out(twin: Twin, store: JournalStore) -> None:
    """It learns it when it looks."""
    with twin.open(store, "s", task="t") as session:
        session.grow("a secret", "o")
        before = session.redactions
        redact_store(store, "s", re.compile("secret"))
        assert session.redactions == before
        session.refresh()
        assert session.redactions > before
