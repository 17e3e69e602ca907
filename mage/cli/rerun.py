"""`mage rerun`: a run once more, offline and exactly; or with something changed, and what that changes."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from typing import Annotated, Final, final

import attrs
import typer

from mage.agent import (
    BadRunLog,
    CallCounts,
    Rerun,
    RunDiverged,
    RunStopped,
    WhatIf,
    outcome_document,
    remembered,
    rerun,
    what_if,
)
from mage.agent.reruns import remember, run_of
from mage.cli.answerers import Answerers, InputEnded, Played, ScriptEnded, answerers_of, judge_of
from mage.cli.live import Price, PricesFile, cost_document, read_prices, told_outcome, told_totals
from mage.cli.naming import InStore
from mage.cli.output import AsJson, Refused, complain, numbered, print_json, print_text, some_of
from mage.cli.run import Changes, changed, leave_interrupted, new_session, policy_changes
from mage.cli.sessions import Session as Named
from mage.cli.sessions import complete_session, opened
from mage.cli.setup import (
    SHOP,
    BaseUrl,
    EnvironmentName,
    EnvironmentRaised,
    Extra,
    IsByHand,
    IsOffline,
    MaxTokens,
    Models,
    Options,
    PromptsFolder,
    ReplyMode,
    RunSetup,
    ScriptFile,
    Seed,
    Temperature,
    environment_named,
    require_shop,
    sampling_of,
)
from mage.cli.show import told_difference
from mage.effects import BadEnvironment, Judge
from mage.memory.policy import KindOfCall
from mage.render import difference_as_json, printable
from mage.stores import JournalStore, MemoryStore, UnknownJournal
from mage.tokens import MissingTokenizer

_NEXT: Final = {
    "decided": "the model is asked",
    "judged": "the judge is asked",
    "verdict": "the judge is waited for",
    "summarized": "the summarizer is asked",
    "chapter": "the summarizer is asked for a chapter",
    "acting": "the environment acts",
    "act_failed": "the environment has not answered yet",
}


def rerun_session(
    session: Named,
    judge: Annotated[
        str | None, typer.Option(metavar="M", help="Ask this model about each summary instead, - for you.")
    ] = None,
    policy: Changes = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="M", help="Decides, judges and summarizes where the record has no answer."),
    ] = None,
    environment: EnvironmentName = None,
    base_url: BaseUrl = None,
    mode: ReplyMode = None,
    prompts: PromptsFolder = None,
    temperature: Temperature = None,
    seed: Seed = None,
    max_tokens: MaxTokens = None,
    extra: Extra = None,
    is_by_hand: IsByHand = False,
    script: ScriptFile = None,
    is_offline: IsOffline = False,
    prices: PricesFile = None,
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
    if not isinstance(session, InStore):
        raise Refused(f"{session}: a file holds no run; name a session in a store, such as work.db#study")
    models = Models(model, None, base_url, mode, prompts, sampling_of(temperature, seed, max_tokens, extra))
    options = Options(environment, models, script, is_offline, is_by_hand)
    change = _Change(policy_changes(policy), judge, options)
    change.require_sound(into)
    priced = read_prices(prices)
    if change.is_none:
        _exact(session, priced, as_json)
        return
    kept = None if into is None else new_session(into, "--into")
    with ExitStack() as stack:
        if as_json:  # whatever an environment prints, standard output is one object
            stack.enter_context(redirect_stdout(sys.stderr))
        found = _what_if(stack, session, kept, change)
    if as_json:
        print_json({**_plain_what_if(session, kept, found), **cost_document(found.outcome.totals, priced)})
    else:
        print_text("".join(_told_what_if(session, kept, found, priced)))
    if found.difference.differ:
        raise typer.Exit(1)


# -- exactly -------------------------------------------------------------------------------------------


def _exact(session: InStore, prices: Mapping[str, Price], as_json: bool) -> None:
    with opened(session) as store, _following(session):
        again = rerun(store, session.name)
    if as_json:
        print_json({"session": str(session), **_plain_rerun(again), **cost_document(again.totals, prices)})
    else:
        print_text("".join([f"{line}\n" for line in _told_rerun(session, again, prices)]))
    if not again.same:
        raise typer.Exit(1)


@contextmanager
def _following(session: InStore) -> Iterator[None]:
    """Refuse a log that cannot be followed, and say why."""
    try:
        yield
    except (BadRunLog, RunDiverged, MissingTokenizer) as error:
        raise Refused(f"{session}: {error}") from None


def _told_rerun(session: InStore, again: Rerun, prices: Mapping[str, Price]) -> Iterator[str]:
    place = f"version {again.version} of {printable(str(session))}"
    if again.same:
        yield f"the same state, byte for byte: {place}, from {again.notes:,} notes of its log"
    else:
        versions = some_of([*map(str, again.differs)])
        yield f"it differs from {place}: the run makes other commands of versions {versions} (was it redacted?)"
    if again.outcome is not None:
        yield told_outcome(again.outcome)
    if again.wanted and not again.unread:
        yield f"its log ends there, where {_NEXT.get(again.wanted, again.wanted)}: mage run goes on with it"
    if again.unread:
        yield f"others have written {numbered(again.unread, 'command')} after it"
    yield told_totals(again.totals, prices)


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


# -- what if -------------------------------------------------------------------------------------------


@final
@attrs.frozen
class _Change:
    """What a run is changed in: choices of its policy, a model as its judge, and what answers where the record ends."""

    policy: Mapping[str, object]
    judge: str | None
    options: Options

    @property
    def is_none(self) -> bool:
        """Whether nothing is changed: the run is to be the same."""
        options = self.options
        named = (self.judge, options.models.model, options.environment, options.script)
        return not (self.policy or options.is_offline or options.is_by_hand) and named == (None,) * 4

    def require_sound(self, into: str | None) -> None:
        """Refuse an option that does nothing, or names nothing, as a usage error."""
        options = self.options
        for option in [*["--into"] * (into is not None), *options.models.options]:
            if self.is_none:
                raise typer.BadParameter(
                    "the run would be the same: change something by --judge or --policy", param_hint=option
                )
        options.require_said()
        if self.judge is None:
            options.require_sound()
        else:  # how it is asked is said of the judge, too
            decides = Models(options.models.model, mode=options.models.mode)
            attrs.evolve(options, models=decides).require_sound()
        if self.judge is not None and not self.judge.strip():
            raise typer.BadParameter("it is empty", param_hint="--judge")
        for option in options.models.options:
            if self.judge is options.models.model is None and not options.is_by_hand:
                raise typer.BadParameter("no model is asked: --judge or --model names one", param_hint=option)
        if options.models.mode is not None and options.models.model is None:
            raise typer.BadParameter("no model decides: --model names one", param_hint="--mode")


def _what_if(stack: ExitStack, session: InStore, kept: InStore | None, change: _Change) -> WhatIf:
    store = stack.enter_context(opened(session))
    stack.enter_context(_following(session))
    before = RunSetup.of(remembered(store, session.name))
    place = _place(change.options, before)
    environment = None if place is None else environment_named(place)
    who, judge = _who(stack, change)
    # before a store is made for what cannot be
    policy = changed(rerun(store, session.name).policy, change.policy)
    target = stack.enter_context(MemoryStore() if kept is None else opened(kept.store, make=True))
    anew: tuple[KindOfCall, ...] = () if change.judge is None else ("judge",)
    setup = _to_remember(change, place, before)
    if kept is not None and setup is not None and who is not None and setup.script is not None:
        stack.callback(_remember_script, target, kept.name, setup, who)
    try:
        return what_if(
            store,
            session.name,
            judge=judge,
            model=None if who is None else who.model,
            summarizer=None if who is None else who.summarizer,
            environment=environment,
            policy=policy,
            anew=anew,
            into=target,
            into_name=None if kept is None else kept.name,
            remember=None if setup is None or setup.script is not None else setup.document,
        )
    except (EnvironmentRaised, BadEnvironment, ScriptEnded, InputEnded) as raised:
        raise Refused(f"{session}: {raised}{_left(kept)}") from None
    except KeyboardInterrupt:
        complain(f"interrupted{_left(kept)}")
        leave_interrupted()


def _remember_script(target: JournalStore, name: str, setup: RunSetup, who: Answerers) -> None:
    """Keep with the new run which script answers in it: how many lines were played is known only when it has ended."""
    with suppress(UnknownJournal):  # it has not even begun
        found = run_of(target, name)
        if found is not None:
            script = [each for each in attrs.astuple(who, recurse=False) if isinstance(each, Played)]
            played: Mapping[str, int] = {each.who: each.used for each in script}
            others: dict[KindOfCall, int] = {
                kind: count - played.get(kind, 0) for kind, count in found.answers.items()
            }
            remember(target, name, setup.without(others).document)


def _place(options: Options, before: RunSetup | None) -> str | None:
    """Return where the new run acts, None for nowhere but in the record; refuse the demo's story outside of its shop."""
    if not options.is_demo:
        return options.environment
    place = options.environment or (None if before is None else before.environment)
    if place is None:
        raise typer.BadParameter(
            f"this run does not say where it acts; --environment {SHOP} says that it is the demo's shop",
            param_hint="--environment",
        )
    require_shop(place)
    return place


def _who(stack: ExitStack, change: _Change) -> tuple[Answerers | None, Judge | None]:
    """Return what answers where the record ends, and what judges; nothing is sent yet."""
    options, who = change.options, None
    models = attrs.evolve(options.models, judge=change.judge)
    if models.model is not None or options.asks_no_model or options.is_by_hand:
        who = answerers_of(stack, RunSetup("", models, options.is_by_hand, options.script), {})
    if change.judge is not None and (who is None or options.asks_no_model):
        return who, judge_of(stack, models)
    return who, None if who is None else who.judge


def _to_remember(change: _Change, place: str | None, before: RunSetup | None) -> RunSetup | None:
    """Return what the new run remembers; None for what the old one does."""
    options, where = change.options, place or (None if before is None else before.environment)
    if where is None:
        return None
    chosen = {**(before.policy if before is not None else {}), **change.policy}
    models = attrs.evolve(options.models, judge=change.judge).kept
    if options.script is not None:
        return RunSetup(where, script=os.path.abspath(options.script), policy=chosen)
    if options.models.model is not None or options.is_by_hand:
        return RunSetup(where, models, options.is_by_hand, policy=chosen)
    return None if before is None else attrs.evolve(before, models=models.over(before.models), policy=chosen)


def _left(kept: InStore | None) -> str:
    """Return what to say of a changed run that did not come to its end."""
    again = "" if kept is None else shlex.quote(str(kept))
    return f"; what was done is kept: mage run --session {again} goes on" * bool(again)


def _told_what_if(
    session: InStore, kept: InStore | None, found: WhatIf, prices: Mapping[str, Price]
) -> Iterator[str]:
    yield f"- {printable(str(session))}\n"
    yield f"+ {'the changed run' if kept is None else printable(str(kept))}\n"
    yield from told_difference(found.difference) or ["nothing differs in C, R and H\n"]
    yield f"\n{told_outcome(found.outcome)}\n"
    unanswered = isinstance(found.outcome, RunStopped) and found.outcome.reason == "unanswered"
    if found.parted and not unanswered:  # else that is where it stopped
        yield f"the two part where {found.parted}\n"
    yield f"from the record: {_told_counts(found.recorded)}; asked: {_told_counts(found.asked)}\n"
    yield f"{told_totals(found.outcome.totals, prices)}\n"


def _told_counts(counts: CallCounts) -> str:
    asked = [f"{who} {count:,}" for who, count in attrs.asdict(counts).items() if count]
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
