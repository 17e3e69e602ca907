"""`mage run`, an agent in an environment, resumed where it was interrupted; `mage rerun`, the same run from its log.

An exact rerun asks neither model nor environment; a rerun with a change asks only the questions that the change makes.
"""

from __future__ import annotations

import os
import shlex
import sys
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
    nullcontext,
    redirect_stdout,
    suppress,
)
from pathlib import Path
from typing import Annotated, Final, NoReturn, final

import attrs
import typer

from mage.agent import (
    Agent,
    BadRunLog,
    CallCounts,
    Outcome,
    Policy,
    Rerun,
    RunDiverged,
    RunFailed,
    RunFinished,
    RunStopped,
    Totals,
    WhatIf,
    outcome_document,
    remembered,
    rerun,
    what_if,
)
from mage.agent.agent import run_in
from mage.agent.log import RecordedRun, find_run
from mage.agent.reruns import remember, run_of
from mage.cli.answerers import Answerers, InputEnded, Played, ScriptEnded, answerers_of, judge_of
from mage.cli.live import (
    BESIDE,
    Price,
    PricesFile,
    cost_document,
    outcome_line,
    read_prices,
    totals_line,
    view_for,
)
from mage.cli.naming import InStore
from mage.cli.output import (
    AsJson,
    Refused,
    complain,
    numbered,
    print_answer,
    print_json,
    read_bytes,
    say,
    some_of,
)
from mage.cli.sessions import Session as Named
from mage.cli.sessions import complete_session, new_session, opened
from mage.cli.setup import (
    BY_HAND,
    SHOP,
    BaseUrl,
    Changes,
    EnvironmentName,
    EnvironmentRaised,
    Extra,
    IsByHand,
    IsOffline,
    JudgeName,
    Kept,
    MaxTokens,
    ModelName,
    Models,
    Options,
    PromptsFolder,
    ReplyMode,
    RunSetup,
    ScriptFile,
    Seed,
    Temperature,
    changed,
    environment_named,
    policy_changes,
    require_shop,
    sampling_of,
    traceback_of,
    where_kept,
)
from mage.cli.show import difference_lines, print_tree
from mage.demo import shop
from mage.effects import BadEnvironment, Judge
from mage.engine.text import is_blank
from mage.memory.policy import KindOfCall
from mage.render import difference_as_json, printable
from mage.session import OtherTask, Session
from mage.stores import Conflict, Head, JournalStore, MemoryStore, UnknownJournal
from mage.tokens import MissingTokenizer

_INTERRUPTED: Final = 130
_ANEW: Final = "; mage run --anew does"


def run(
    task: Annotated[
        str | None,
        typer.Argument(
            help="What is to be done; @FILE reads it from a file. A session that is there has one.",
            show_default=False,
        ),
    ] = None,
    environment: EnvironmentName = None,
    model: ModelName = None,
    judge: JudgeName = None,
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
    session: Annotated[
        str | None,
        typer.Option(
            metavar="STORE#NAME",
            autocompletion=complete_session,
            help="Where the run is kept, and goes on if it was interrupted; else in MAGE_STORE, else in a new"
            " mage-run-*.db here.",
        ),
    ] = None,
    policy: Changes = None,
    max_steps: Annotated[int | None, typer.Option(min=0, metavar="N", help="Stop after N steps.")] = None,
    prices: PricesFile = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Begin a new run in the session as it stands.")
    ] = False,
    with_traceback: Annotated[
        bool, typer.Option("--traceback", help="Show where an error of the environment comes from.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run an agent until its task is done; run its session again to go on.

    A session remembers its task, environment, models and policy: to go on, --session is enough. The key comes from
    OPENAI_API_KEY and is never kept. Without --session and MAGE_STORE, an offline run is kept nowhere.
    Exit status: 0 finished, 1 stopped, failed or refused, 130 interrupted.
    """
    changes = policy_changes(policy)
    if max_steps is not None:
        changes["max_steps"] = max_steps
    models = Models(model, judge, base_url, mode, prompts, sampling_of(temperature, seed, max_tokens, extra))
    options = Options(environment, models, script, is_offline, is_by_hand)
    options.require_sound()
    priced = read_prices(prices)
    text = None if task is None else _task_of(task)
    kept = where_kept(session, options)
    found = _found(kept, anew=anew)
    if text is None and not kept.is_there:
        text = shop.TASK if options.is_demo else _no_task(kept)
    asked = found.setup(kept, options, changes)
    with _alone_on_stdout(as_json), ExitStack() as stack:
        agent = _agent(stack, asked, found.answers)
        store = stack.enter_context(MemoryStore() if kept.place is None else opened(kept.place, make=True))
        outcome = _ran(
            agent, store, kept, text, asked, found, anew=anew, quiet=as_json, with_traceback=with_traceback
        )
        if not as_json:
            _print_end(outcome, store, kept, asked, priced)
    if as_json:
        where = None if kept.place is None else str(kept.place)
        print_json({**outcome_document(outcome), **cost_document(outcome.totals, priced), "session": where})
    if isinstance(outcome, RunStopped) and outcome.reason == "interrupted":
        _leave_interrupted()
    if not isinstance(outcome, RunFinished):
        raise typer.Exit(1)


def _alone_on_stdout(as_json: bool) -> AbstractContextManager[object]:
    """With --json, send what an environment prints to standard error: standard output is one object."""
    return redirect_stdout(sys.stderr) if as_json else nullcontext()


def _leave_interrupted() -> NoReturn:
    """End the command with the status that Ctrl-C has."""
    raise typer.Exit(_INTERRUPTED)


@contextmanager
def _following(session: object, hint: str = "") -> Iterator[None]:
    """Refuse a log that cannot be followed, and say why; `hint` says what helps."""
    try:
        yield
    except MissingTokenizer as error:
        raise Refused(f"{session}: {error}") from None
    except (BadRunLog, RunDiverged) as error:
        raise Refused(f"{session}: {error}{hint}") from None


# -- the task, and the run that is there ------------------------------------------------------------------


def _task_of(given: str) -> str:
    """Return the task, in words or, behind an @, from a file; refuse a blank one."""
    if not given.startswith("@"):
        if is_blank(given):
            raise Refused("the task is blank")
        return given
    file = Path(given[1:])
    try:
        text = read_bytes(file).removeprefix(BOM_UTF8).decode().strip()
    except UnicodeDecodeError as problem:
        raise Refused(f"{file}: a task is UTF-8, but byte {problem.start} is not") from None
    if is_blank(text):
        raise Refused(f"{file}: the task is blank")
    return text


def _no_task(kept: Kept) -> NoReturn:
    if kept.place is None:
        raise typer.BadParameter(
            "what is to be done? --offline alone plays the demo's story", param_hint="TASK"
        )
    raise typer.BadParameter(
        f"{kept} is not there to go on with; to begin it, say what is to be done", param_hint="TASK"
    )


@final
@attrs.frozen
class _Found:
    """The run that a session has.

    Attributes:
        run: the run; None where no agent has run the session, or its log cannot be read.
        seen: the head and the number of redactions at which it was read: a redaction leaves the head as it is.
        is_new: whether the session has nothing but its task.
        is_anew: whether a new run begins where there was one.
    """

    run: RecordedRun | None = None
    seen: tuple[Head, int] | None = None
    is_new: bool = True
    is_anew: bool = False

    @property
    def answers(self) -> Mapping[KindOfCall, int]:
        """How many answers of each kind the run has that goes on."""
        return {} if self.run is None or self.is_anew else self.run.answers

    def setup(self, kept: Kept, options: Options, changes: Mapping[str, object]) -> RunSetup:
        """Return the setup of the run that begins or goes on: the options, and the rest as the session remembers it.

        Where another program began the run, its whole policy is remembered, not only the choices of the user.

        Raises:
            typer.BadParameter: neither the options nor the session say where the agent acts, or what answers.
            Refused: no agent has run the session, and the options do not say where one acts.
        """
        if options.environment is None and self.run is None and not (self.is_new or self.is_anew):
            raise Refused(
                f"{kept}: no agent has run this session: a program has written it, with a Memory for example, or mage"
                f" import has. mage show {kept} and mage log {kept} show it, and its program can go on with it; for an"
                " agent to go on from here, say --environment and --model (or --by-hand, --script or --offline)"
            )
        before = None if self.run is None else RunSetup.of(self.run.remembered)
        asked = options.asked(before, is_new=self.is_new)
        if before is None or self.is_anew or asked.script != before.script:
            asked = asked.without(self.answers)  # a script that is new to the run begins at its first line
        had = {} if self.run is None else self.run.last_policy.document()
        chosen = had if before is None else before.policy
        return attrs.evolve(asked, policy={**chosen, **changes})


def _found(kept: Kept, *, anew: bool) -> _Found:
    """Return the run of a session. With `anew`, a run whose log cannot be read is passed over.

    Raises:
        Refused: the log cannot be read.
    """
    if kept.place is None or not kept.is_there:
        return _Found()
    with (
        opened(kept.place) as store,
        _following(kept, _ANEW),
        Session.open(store, kept.name, wait=False) as session,
    ):
        try:
            found = find_run(session.log())
        except (BadRunLog, MissingTokenizer):
            if not anew:
                raise
            return _Found(is_new=False, is_anew=True)
        is_anew = anew and found is not None
        seen = (session.head, session.redactions)
        return _Found(found, seen, is_new=session.version <= 1, is_anew=is_anew)


# -- running ----------------------------------------------------------------------------------------------


def _agent(stack: ExitStack, asked: RunSetup, answers: Mapping[KindOfCall, int]) -> Agent:
    """Return the agent of a run; the environment is made, and nothing is sent yet."""
    place = environment_named(asked.environment)
    who = answerers_of(stack, asked, answers)
    return Agent(
        model=who.model,
        environment=place,
        judge=who.judge,
        summarizer=who.summarizer,
        policy=changed(Policy(), asked.policy) or Policy(),
    )


def _ran(
    agent: Agent,
    store: JournalStore,
    kept: Kept,
    task: str | None,
    asked: RunSetup,
    found: _Found,
    *,
    anew: bool,
    quiet: bool,
    with_traceback: bool,
) -> Outcome:
    asks_user = asked.is_by_hand or asked.models.judge == BY_HAND
    try:
        with (
            _following(kept, _ANEW),
            view_for(store, kept.name, quiet=quiet, by_hand=asks_user) as view,
            Session.open(store, kept.name, task=task, wait=False, on_event=view) as session,
        ):
            is_same = (session.head, session.redactions) == found.seen
            known = found.run if is_same and not anew else None
            outcome = run_in(agent, session, view, known, anew=anew, remember=asked.document)
    except Conflict:  # both began it, and the other was faster
        raise Refused(f"{kept}: {BESIDE}") from None
    except OtherTask:
        raise Refused(
            f"{kept}: this session is for another task; leave the task out to go on with it, or name another session"
        ) from None
    except KeyboardInterrupt:
        return RunStopped("interrupted", "from the keyboard", _totals(store, kept.name))
    except (ScriptEnded, InputEnded) as ended:
        totals = _totals(store, kept.name)
        return RunStopped(
            "script_ended" if isinstance(ended, ScriptEnded) else "input_ended", str(ended), totals
        )
    except EnvironmentRaised as raised:
        if with_traceback:
            sys.stderr.write(traceback_of(raised))
        return RunFailed("environment", "raised", str(raised), _totals(store, kept.name))
    except BadEnvironment as bad:
        return RunFailed("environment", "bad", str(bad), _totals(store, kept.name))
    if isinstance(outcome, RunFailed) and (outcome.part, outcome.fault) == ("store", "conflict"):
        return attrs.evolve(outcome, detail=BESIDE)
    return outcome


def _totals(store: JournalStore, name: str) -> Totals:
    """Return the counts of an interrupted run, from its log."""
    try:
        return rerun(store, name).totals
    except (BadRunLog, RunDiverged, UnknownJournal):  # interrupted before it began, else the next run says so
        return Totals()


def _print_end(
    outcome: Outcome, store: JournalStore, kept: Kept, asked: RunSetup, prices: Mapping[str, Price]
) -> None:
    try:
        with Session.open(store, kept.name, wait=False) as session:
            tree = session.tree
    except UnknownJournal:  # interrupted before there was one
        return
    say("\nThe tree, with what was left:", "italic")
    print_tree(tree)
    say(f"\n{outcome_line(outcome)}", "bold")
    say(totals_line(outcome.totals, prices))
    if kept.place is None:
        say("kept nowhere; --session work.db#NAME keeps a run")
        return
    named = printable(shlex.quote(str(kept.place)))
    made = "went on with" if kept.is_there else "made"
    say(f"{made} session {printable(str(kept.place))}: mage tree {named}, mage rerun {named}")
    if not isinstance(outcome, RunFinished):
        again = printable(shlex.join(["mage", "run", "--session", str(kept.place), *asked.not_kept]))
        say(f"go on with: {again}{_with(outcome)}")


def _with(outcome: Outcome) -> str:
    """Return what to type beside the session, so that the run does not end in the same way again."""
    match outcome:
        case RunStopped("max_steps" | "max_total_tokens" as limit):
            return f" --policy {limit}=none"
        case RunStopped("script_ended"):
            return ", when the script has more lines, or with another --script"
        case RunFailed("model"):
            return ", or with another --model"
        case _:
            return ""


# -- mage rerun -------------------------------------------------------------------------------------------

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

    With a change, only the questions that it changes are asked; all others are answered from the record. Where the
    options name nothing that could answer, the new run stops. Exit status: 0 where nothing differs, else 1.
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
    with _alone_on_stdout(as_json), ExitStack() as stack:
        found = _what_if(stack, session, kept, change)
    document = {**_what_if_as_json(session, kept, found), **cost_document(found.outcome.totals, priced)}
    print_answer(as_json, document, _what_if_lines(session, kept, found, priced))
    if found.difference.differ:
        raise typer.Exit(1)


# -- mage rerun: exactly ----------------------------------------------------------------------------------


def _exact(session: InStore, prices: Mapping[str, Price], as_json: bool) -> None:
    with opened(session) as store, _following(session):
        again = rerun(store, session.name)
    document = {"session": str(session), **_as_json(again), **cost_document(again.totals, prices)}
    print_answer(as_json, document, [f"{line}\n" for line in _rerun_lines(session, again, prices)])
    if not again.same:
        raise typer.Exit(1)


def _rerun_lines(session: InStore, again: Rerun, prices: Mapping[str, Price]) -> Iterator[str]:
    place = f"version {again.version} of {printable(str(session))}"
    if again.same:
        yield f"the same state, byte for byte: {place}, from {again.notes:,} notes of its log"
    else:
        versions = some_of([*map(str, again.differs)])
        yield f"it differs from {place}: the run makes other commands of versions {versions} (was it redacted?)"
    if again.outcome is not None:
        yield outcome_line(again.outcome)
    if again.wanted and not again.unread:
        yield f"its log ends there, where {_NEXT.get(again.wanted, again.wanted)}: mage run goes on with it"
    if again.unread:
        yield f"others have written {numbered(again.unread, 'command')} after it"
    yield totals_line(again.totals, prices)


def _as_json(again: Rerun) -> dict[str, object]:
    return {
        "same": again.same,
        "version": again.version,
        "differs": [*again.differs],
        "unread": again.unread,
        "notes": again.notes,
        "outcome": None if again.outcome is None else outcome_document(again.outcome),
        "wanted": again.wanted or None,
    }


# -- mage rerun: with a change ----------------------------------------------------------------------------


@final
@attrs.frozen
class _Change:
    """The changes of a run: choices of its policy, a model as its judge, and what answers where the record ends."""

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
        else:  # the other options say how the judge is asked, too
            decides = Models(options.models.model, mode=options.models.mode)
            attrs.evolve(options, models=decides).require_sound()
        if self.judge is not None and not self.judge.strip():
            raise typer.BadParameter("it is empty", param_hint="--judge")
        for option in options.models.options:
            if self.judge is options.models.model is None and not options.is_by_hand:
                raise typer.BadParameter("no model is asked: --judge or --model names one", param_hint=option)
        if options.models.mode is not None and options.models.model is None:
            raise typer.BadParameter("no model decides: --model names one", param_hint="--mode")

    def place(self, before: RunSetup) -> str | None:
        """Return where the new run acts; None where only the record answers for the environment.

        Raises:
            typer.BadParameter: the demo's story is to be played outside of its shop.
        """
        options = self.options
        if not options.is_demo:
            return options.environment
        place = options.environment or before.environment
        if not place:
            raise typer.BadParameter(
                f"this run does not say where it acts; --environment {SHOP} says that it is the demo's shop",
                param_hint="--environment",
            )
        require_shop(place)
        return place

    def answerers(self, stack: ExitStack) -> tuple[Answerers | None, Judge | None]:
        """Return what answers where the record ends, and what judges; nothing is sent yet."""
        options, who = self.options, None
        models = attrs.evolve(options.models, judge=self.judge)
        if models.model is not None or options.asks_no_model or options.is_by_hand:
            who = answerers_of(stack, RunSetup("", models, options.is_by_hand, options.script), {})
        if self.judge is not None and (who is None or options.asks_no_model):
            return who, judge_of(stack, models)
        return who, None if who is None else who.judge

    def to_remember(self, before: RunSetup) -> RunSetup | None:
        """Return the setup that the new run remembers; None where it remembers that of the old run."""
        options = self.options
        where = self.place(before) or before.environment
        if not where:
            return None
        chosen = {**before.policy, **self.policy}
        models = attrs.evolve(options.models, judge=self.judge).kept
        if options.script is not None:
            return RunSetup(where, script=os.path.abspath(options.script), policy=chosen)
        if options.models.model is not None or options.is_by_hand:
            return RunSetup(where, models, options.is_by_hand, policy=chosen)
        if not before.environment:
            return None
        return attrs.evolve(before, models=models.over(before.models), policy=chosen)


def _what_if(stack: ExitStack, session: InStore, kept: InStore | None, change: _Change) -> WhatIf:
    store = stack.enter_context(opened(session))
    stack.enter_context(_following(session))
    before = RunSetup.of(remembered(store, session.name)) or RunSetup("")  # another program has run it
    place = change.place(before)
    environment = None if place is None else environment_named(place)
    who, judge = change.answerers(stack)
    # a change that is refused makes no store
    policy = changed(rerun(store, session.name).policy, change.policy)
    target = stack.enter_context(MemoryStore() if kept is None else opened(kept.store, make=True))
    anew: tuple[KindOfCall, ...] = () if change.judge is None else ("judge",)
    setup = change.to_remember(before)
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
        _leave_interrupted()


def _remember_script(target: JournalStore, name: str, setup: RunSetup, who: Answerers) -> None:
    """Keep with the new run its script, once the run has ended: only then it is known how many lines were played."""
    with suppress(UnknownJournal):  # it has not even begun
        found = run_of(target, name)
        if found is None:
            return
        parts = (who.model, who.judge, who.summarizer)
        played: Mapping[str, int] = {each.who: each.used for each in parts if isinstance(each, Played)}
        others: dict[KindOfCall, int] = {
            kind: count - played.get(kind, 0) for kind, count in found.answers.items()
        }
        remember(target, name, setup.without(others).document)


def _left(kept: InStore | None) -> str:
    """Return the end of a message about a changed run that did not come to its end."""
    if kept is None:
        return ""
    return f"; what was done is kept: mage run --session {shlex.quote(str(kept))} goes on"


def _what_if_lines(
    session: InStore, kept: InStore | None, found: WhatIf, prices: Mapping[str, Price]
) -> Iterator[str]:
    yield f"- {printable(str(session))}\n"
    yield f"+ {'the changed run' if kept is None else printable(str(kept))}\n"
    yield from difference_lines(found.difference)
    yield f"\n{outcome_line(found.outcome)}\n"
    unanswered = isinstance(found.outcome, RunStopped) and found.outcome.reason == "unanswered"
    if found.parted and not unanswered:  # else that is where it stopped
        yield f"the two part where {found.parted}\n"
    yield f"from the record: {_counts_line(found.recorded)}; asked: {_counts_line(found.asked)}\n"
    yield f"{totals_line(found.outcome.totals, prices)}\n"


def _counts_line(counts: CallCounts) -> str:
    asked = [f"{who} {count:,}" for who, count in attrs.asdict(counts).items() if count]
    return ", ".join(asked) or "nobody"


def _what_if_as_json(session: InStore, kept: InStore | None, found: WhatIf) -> dict[str, object]:
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
