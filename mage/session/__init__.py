"""Sessions: the state of an agent, kept in a store, changed by one operation at a time.

    from mage import Session

    with Session.open("sqlite:///work.db", "monday", task="Buy a desk, then a chair.") as session:
        session.grow("buy[oak desk]", "Bought for $310.")
        session.compress("Desk purchased: oak, $310.")

A session is a journal of commands and the state that is their fold. What it does beyond the engine: each
command is durable before it returns, and is recorded behind exactly the head that it was made for; a verdict
on exactly the summary and the text that it was asked about, behind what was grown or instructed since.
`Session` calls, `AsyncSession` awaits; both drive the same programs (`mage.session.core`).
"""

from mage.session import events
from mage.session.drivers import NotAVerdict, OtherTask, Refused, SessionClosed, WrongLoop
from mage.session.events import Event, Hook
from mage.session.loading import SNAPSHOT_EVERY, Entry, Noted
from mage.session.reading import Moment
from mage.session.session import AsyncSession, Session
from mage.stores import Conflict

__all__ = [
    "SNAPSHOT_EVERY",
    "AsyncSession",
    "Conflict",
    "Entry",
    "Event",
    "Hook",
    "Moment",
    "NotAVerdict",
    "Noted",
    "OtherTask",
    "Refused",
    "Session",
    "SessionClosed",
    "WrongLoop",
    "events",
]
