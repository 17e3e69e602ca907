"""`mage rerun`: a run once more, offline and exactly; or with something changed, and what that changes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, redirect_stdout
from typing import Annotated, Final, TypeVar

import attrs
import typer

from mage.agent import (
    BadRunLog,
    Policy,
    Rerun,
    RunDiverged,
    RunStopped,
    Tally,
    WhatIf,
    outcome_document,
    rerun,
    what_if,
)
from mage.cli.answerers import Mode
from mage.cli.changing import Change, Given, given_by
from mage.cli.endings import numbered, told_outcome, told_totals
from mage.cli.environments import EnvironmentRaised, complete_environment
from mage.cli.keeping import in_store
from mage.cli.naming import InStore
from mage.cli.output import AsJson, Refused, complain, print_json, print_text
from mage.cli.policies import Changes, changed, policy_changes
from mage.cli.running import leave_interrupted
from mage.cli.sessions import Session as Named
from mage.cli.sessions import complete_session, opened
from mage.cli.show import told_difference
from mage.effects import BadEnvironment
from mage.memory.outcomes import KindOfCall
from mage.render import difference_as_json, printable
from mage.stores import JournalStore, MemoryStore
from mage.tokens import MissingTokenizer

Followed = TypeVar("Followed")
_NEXT: Final = {
    "decided": "the model is asked",
    "judged": "the judge is asked",
    "verdict": "the judge is waited for",
    "summarized": "the summarizer is asked",
    "acting": "the environment acts",
    "act_failed": "the environment has not answered yet",
}
_SHOWN: Final = 8  # versions that differ; --json has them all


def rerun_session(
    session: Named,
    judge: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Ask this model about each summary instead.")
    ] = None,
    policy: Changes = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="M", help="Decides, judges and summarizes where the record has no answer."),
    ] = None,
    environment: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:ARGS]",
            autocompletion=complete_environment,
            help="Acts where the record does not say what came of it.",
        ),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="The server; else OPENAI_BASE_URL, else OpenAI's.")
    ] = None,
    mode: Annotated[Mode, typer.Option(help="How the model says what it does.")] = Mode.TOOLS,
    is_offline: Annotated[
        bool, typer.Option("--offline", help="The demo's script and shop go on where the record ends.")
    ] = False,
    into: Annotated[
        str | None,
        typer.Option(
            metavar="STORE#NAME",
            autocompletion=complete_session,
            help="Keep the changed run as a new session; else it is gone.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a run again: exactly, without a model; or with a change.

    With a change, only what it changes is asked: whatever the run was answered before is answered again. Where
    nobody is given who could answer, the new run stops. Exit status: 0 where nothing differs, 1 where it does.
    """
    named = _in_store(session)
    change = Change(policy_changes(policy), judge, model, environment, base_url, mode, is_offline)
    change.require_sound(into)
    if change.is_none:
        _exact(named, as_json)
        return
    kept = None if into is None else in_store(into, "--into")
    with ExitStack() as stack:
        if as_json:  # whatever an environment prints, standard output is one object
            stack.enter_context(redirect_stdout(sys.stderr))
        found = _what_if(named, kept, given_by(stack, change), change.policy)
    if as_json:
        print_json(_plain_what_if(named, kept, found))
    else:
        print_text("".join(_told_what_if(named, kept, found)))
    if found.difference.differ:
        raise typer.Exit(1)


def _in_store(session: object) -> InStore:
    if not isinstance(session, InStore):
        raise Refused(f"{session}: a file holds no run; name a session in a store, such as work.db#study")
    return session


# -- exactly -------------------------------------------------------------------------------------------


def _exact(session: InStore, as_json: bool) -> None:
    with opened(session) as store:
        again = _found(store, session)
    if as_json:
        print_json({"session": str(session), **_plain_rerun(again)})
    else:
        print_text("".join([f"{line}\n" for line in _told_rerun(session, again)]))
    if not again.same:
        raise typer.Exit(1)


def _found(store: JournalStore, session: InStore) -> Rerun:
    """Return what a run comes to.

    Raises:
        Refused: it cannot be followed.
    """
    return _followed(session, lambda: rerun(store, session.name))


def _told_rerun(session: InStore, again: Rerun) -> Iterator[str]:
    place = f"version {again.version} of {printable(str(session))}"
    if again.same:
        yield f"the same state, byte for byte: {place}, from {again.notes:,} notes of its log"
    else:
        versions = ", ".join(map(str, again.differs[:_SHOWN])) + ", ..." * (len(again.differs) > _SHOWN)
        yield f"it differs from {place}: the run makes other commands of versions {versions} (was it redacted?)"
    if again.outcome is not None:
        yield told_outcome(again.outcome)
    if again.wanted and not again.unread:
        yield f"its log ends there, where {_NEXT.get(again.wanted, again.wanted)}: mage run goes on with it"
    if again.unread:
        yield f"others have written {numbered(again.unread, 'command')} after it"
    yield told_totals(again.totals)


def _plain_rerun(again: Rerun) -> dict[str, object]:
    return {
        "same": again.same,
        "version": again.version,
        "differs": [*again.differs],
        "unread": again.unread,
        "notes": again.notes,
        "outcome": None if again.outcome is None else outcome_document(again.outcome),
        "wanted": again.wanted or None,
    }


def _followed(session: InStore, follow: Callable[[], Followed]) -> Followed:
    """Follow a log.

    Raises:
        Refused: it cannot be followed, and why.
    """
    try:
        return follow()
    except (BadRunLog, RunDiverged, MissingTokenizer) as error:
        raise Refused(f"{session}: {error}") from None


# -- what if -------------------------------------------------------------------------------------------


def _what_if(session: InStore, kept: InStore | None, given: Given, changes: Mapping[str, object]) -> WhatIf:
    with ExitStack() as stack:
        store = stack.enter_context(opened(session))
        before = _found(store, session)  # before a store is made for what cannot be
        target = stack.enter_context(MemoryStore() if kept is None else opened(kept.store, make=True))
        policy = changed(before.policy, changes)
        try:
            return _followed(session, lambda: _asked(store, session, target, kept, policy, given))
        except (EnvironmentRaised, BadEnvironment) as raised:
            raise Refused(f"{session}: {raised}{_left(kept)}") from None
        except KeyboardInterrupt:
            complain(f"interrupted{_left(kept)}")
            leave_interrupted()


def _left(kept: InStore | None) -> str:
    """Return what is said of a changed run that did not come to its end."""
    return (
        ""
        if kept is None
        else f"; what was done is kept: mage run --session {shlex.quote(str(kept))} goes on"
    )


def _asked(
    store: JournalStore,
    session: InStore,
    target: JournalStore,
    kept: InStore | None,
    policy: Policy | None,
    given: Given,
) -> WhatIf:
    anew: tuple[KindOfCall, ...] = ("judge",) if given.judged_anew else ()
    return what_if(
        store,
        session.name,
        judge=given.judge,
        model=given.model,
        summarizer=given.summarizer,
        environment=given.environment,
        policy=policy,
        anew=anew,
        into=target,
        into_name=None if kept is None else kept.name,
    )


def _told_what_if(session: InStore, kept: InStore | None, found: WhatIf) -> Iterator[str]:
    yield f"- {printable(str(session))}\n"
    yield f"+ {'the changed run' if kept is None else printable(str(kept))}\n"
    yield from told_difference(found.difference) or ["nothing differs in C, R and H\n"]
    yield f"\n{told_outcome(found.outcome)}\n"
    unanswered = isinstance(found.outcome, RunStopped) and found.outcome.reason == "unanswered"
    if found.parted and not unanswered:  # else that is where it stopped
        yield f"the two part where {found.parted}\n"
    yield f"from the record: {_told_tally(found.recorded)}; asked: {_told_tally(found.asked)}\n"


def _told_tally(tally: Tally) -> str:
    asked = [f"{who} {count:,}" for who, count in attrs.asdict(tally).items() if count]
    return ", ".join(asked) or "nobody"


def _plain_what_if(session: InStore, kept: InStore | None, found: WhatIf) -> dict[str, object]:
    return {
        "session": str(session),
        "into": None if kept is None else str(kept),
        "outcome": outcome_document(found.outcome),
        "recorded": attrs.asdict(found.recorded),
        "asked": attrs.asdict(found.asked),
        "parted": found.parted or None,
        "differ": found.difference.differ,
        "parts": difference_as_json(found.difference),
    }
