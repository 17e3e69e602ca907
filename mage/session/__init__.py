"""Sessions: the state of an agent, kept in a store, changed by one operation at a time.

    from mage import Session

    with Session.open("sqlite:///work.db", "monday", task="Buy a desk, then a chair.") as session:
        session.grow("buy[oak desk]", "Bought for $310.")
        session.compress("Desk purchased: oak, $310.")

A session is a journal of commands, and the state that is their fold. Beyond the engine, each command is durable before its
call returns, and is recorded only behind the head that it was made for. A verdict is recorded only for the summary and the
text that the judge was asked about, also behind new steps and instructions.
`Session` calls, `AsyncSession` awaits; both drive the same programs (`mage.session.core`).
"""

from mage.session import events
from mage.session.core import Moment
from mage.session.drivers import NotAVerdict, OtherTask, Refused, SessionClosed, WrongLoop
from mage.session.events import Event, Hook
from mage.session.loading import SNAPSHOT_EVERY, Entry, Noted
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
