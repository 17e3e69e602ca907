"""Commands that change sessions in a store: `fork`, `revise`, `rename`, `rm`, `redact`.

`redact` replaces a text in which the pattern matches, as a whole, by a marker that says nothing of it. The digest of a
record is over the digests of its texts, which stay, so the chain still verifies; markers differ, so ids and branches
stay as they are. (One rule compares two texts: an instruction that is given twice at one step counts once. No session
records the second; a journal that is imported keeps both, with one salt and so with one marker.)
"""

from __future__ import annotations

import os
import re
import sys
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Final, final

import attrs
import typer

from mage.cli.naming import AtVersion, InStore, StoreName, new_name, spelled
from mage.cli.output import AsJson, Refused, print_answer, some_of
from mage.cli.sessions import (
    Opened,
    Stored,
    StoredTarget,
    in_store,
    listed_names,
    named_by,
    opened,
    parse_version,
    records_of,
    sound_sessions,
    store_of,
)
from mage.engine import Revised
from mage.engine.text import as_text, is_blank
from mage.memory.journal import MEMORY_NOTES
from mage.render import one_line, printable, step_as_json
from mage.session import Refused as NotRevised
from mage.session import Session
from mage.stores import (
    NOTHING,
    DamagedRecord,
    DamagedStore,
    Head,
    JournalInfo,
    JournalStore,
    Plain,
    Record,
    StoreError,
    UnknownJournal,
    fold,
    operation_of,
    redacted,
    text_names,
    verify,
)

_ROUNDS: Final = 8  # of searching and replacing, where others write the secret at the same time
_ESCAPE: Final = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9A-Fa-f]{4}))')
_QUOTED: Final = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
"""The characters up to the next quote that is not escaped: a string of JSON, or the text between two strings."""
_SHORT: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_DEEPEST: Final = 64
"""How many stages of unescaping are searched one by one. A text in which each stage doubles the backslashes has fewer."""
_ELSEWHERE: Final = (
    "the server's write-ahead log, its archives, replicas and backups keep the bytes until they are recycled"
)
_WITHHELD: Final = "[...]"


def fork(
    session: Annotated[
        AtVersion,
        named_by(
            parse_version,
            "SESSION[@VERSION]",
            "STORE#NAME, or STORE alone where it holds one session. @9 behind it begins at version 9.",
            envvar=None,
        ),
    ],
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="The name of the new session, in the same store.", show_default=False
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Make a new session that begins at a version of another one.

    Nothing is copied. The fork has the run of the session, too, and mage run on the fork goes on with it from there.
    """
    source = in_store(session.session)
    new = InStore(source.store, new_name(name))
    with opened(source) as store:
        version = Opened(store, source.name).require(session.version)
        _require_sound(store, source, version, name)
        head = store.fork(source.name, new.name, version)
    document = {"session": str(new), "from": str(source), "version": version, "head": head.digest}
    line = f"made {printable(str(new))}: it begins at version {version} of {printable(str(source))}\n"
    print_answer(as_json, document, [line])


def _require_sound(store: JournalStore, source: InStore, version: int, name: str) -> None:
    """Refuse a fork that would read a damaged record, and say where a fork can begin. Cost: O(records)."""
    try:
        fold(records_of(Opened(store, source.name), version))
    except DamagedRecord as damage:
        before = damage.version - 1
        hint = (
            f"mage fork {source}@{before} {name} begins before it" if before else "there is nothing before it"
        )
        raise Refused(f"{source}: {damage}; a fork behind that could not be shown: {hint}") from None


def revise(
    session: Stored,
    boundary: Annotated[
        int, typer.Argument(metavar="BOUNDARY", help="The step to go back to.", show_default=False)
    ],
    lesson: Annotated[
        str, typer.Option("--lesson", help="What the agent should know when it is there again.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Go back to a boundary, leave a lesson there, list the abandoned steps.

    A boundary is a step behind which a summary stands, or 0, the beginning: mage show names those on the path.
    """
    try:
        with opened(session) as store, Session.open(store, session.name) as live:
            revised, version = live.revise(boundary, lesson), live.version
    except NotRevised as refused:
        raise Refused(f"{session}: {refused}") from None
    document = {
        "session": str(session),
        "version": version,
        "boundary": boundary,
        "phase": type(revised.state).__name__.lower(),
        "abandoned": [step_as_json(step) for step in revised.abandoned],
        "instructions": [{"text": left.text, "standing": left.standing} for left in revised.instructions],
    }
    place = f"{printable(str(session))} is at [Step {boundary}] again, version {version}\n"
    print_answer(as_json, document, [place, *_revision_lines(revised)])


def _revision_lines(revised: Revised) -> Iterator[str]:
    for step in revised.abandoned:
        yield f"abandoned {step.id} {one_line(step.action, 56)} → {one_line(step.observation, 48)}\n"
    for left in revised.instructions:
        yield f"left behind: {'standing ' * left.standing}instruction: {one_line(left.text, 80)}\n"
    if not revised.abandoned:
        yield "no step was abandoned\n"


def rename(
    session: Stored,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Its new name, in the same store.", show_default=False)
    ],
    as_json: AsJson = False,
) -> None:
    """Give a session another name.

    A session that forks read through keeps its name.
    """
    new = InStore(session.store, new_name(name))
    with opened(session) as store:
        _require_unforked(store, session, "renamed")
        store.rename(session.name, new.name)
    line = f"renamed {printable(str(session))} to {printable(str(new))}\n"
    print_answer(as_json, {"session": str(new), "was": str(session)}, [line])


def remove(
    session: Stored,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove a session and its run for good.

    A session that forks read through is kept. The command asks first, unless --yes is given. mage gc removes many sessions
    at once, and gives their room back.
    """
    with opened(session) as store:
        head = store.head(session.name)
        _require_unforked(store, session, "removed")
        if not yes:
            _ask(session, head.version, as_json)
        store.delete(session.name, expected=head)
    line = f"removed {printable(str(session))} with its {head.version:,} versions\n"
    print_answer(as_json, {"removed": str(session), "versions": head.version}, [line])


def _ask(session: InStore, versions: int, as_json: bool) -> None:
    """Ask the user at a terminal whether to remove a session, and end the command where the answer is no."""
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refused(
            f"{session}: mage rm asks first, and nobody is there to answer: add --yes to remove it for good"
        )
    typer.confirm(f"Remove {printable(str(session))} with its {versions:,} versions for good?", abort=True)


def _require_unforked(store: JournalStore, session: InStore, done: str) -> None:
    """Refuse a session that forks read through, and name them; the store checks again when it changes the session."""
    forks = [each.name for each in sound_sessions(store)[0] if each.parent == session.name]
    if forks:
        raise Refused(
            f"{session} cannot be {done}, for its forks read through it: {listed_names(forks)}; remove these first"
        )


# -- redact: the command ---------------------------------------------------------------------------------


def redact(
    target: StoredTarget,
    pattern: Annotated[
        str,
        typer.Argument(
            metavar="PATTERN",
            help="A regular expression; - reads it from standard input.",
            show_default=False,
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say where, and change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take every text that matches out of a session and its forks.

    The session that it was forked from, all forks of that and their runs are redacted too, and no text can be brought
    back. A run whose log was redacted cannot go on; mage run --anew begins a new one in its session. Where a store is
    named alone, every session in it is redacted.
    """
    compiled = _compiled(pattern)
    with opened(target) as store:
        name = target.name if isinstance(target, InStore) else None
        places = redact_store(store, name, compiled, dry_run=dry_run)
        names = [journal.name for journal in store.journals() if matches(compiled, journal.name)]
        if places and not dry_run:
            _reclaim(store_of(target), store)
    done = Redaction(target, compiled, places, names, dry_run)
    print_answer(as_json, done.document, done.lines())
    done.require_gone()


def _reclaim(place: StoreName, store: JournalStore) -> None:
    try:
        store.reclaim()
    except StoreError as error:
        raise Refused(
            f"{place}: what matches was taken out of every record, but the room where it stood was not given"
            f" back, so its bytes may still be there: {error}; then run mage gc {place}"
        ) from None


def _compiled(given: str) -> re.Pattern[str]:
    text = sys.stdin.readline().rstrip("\n") if given == "-" else given
    try:
        compiled = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise Refused(f"this is no regular expression: {error}") from None
    if compiled.search(""):
        raise Refused("the pattern matches the empty text, so it would take out everything")
    return compiled


@final
@attrs.frozen
class Redaction:
    """A redaction that was carried out, or with --dry-run was not.

    Attributes:
        places: the places of the texts that match.
        names: the names of sessions that match, which stay.
    """

    target: InStore | StoreName
    pattern: re.Pattern[str]
    places: Sequence[Place]
    names: Sequence[str]
    dry_run: bool

    @property
    def document(self) -> dict[str, object]:
        """The redaction as JSON."""
        target = str(self.target)
        if isinstance(self.target, InStore) and matches(self.pattern, self.target.name):
            target = f"{self.target.store}#{self._without(self.target.name)}"
        return {
            "target": target,
            "dry_run": self.dry_run,
            "redacted": [
                {"session": self._without(each.journal), "version": each.version, "text": each.text}
                for each in self.places
            ],
            "names_that_match": len(self.names),
            "kept_elsewhere": self._elsewhere,
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines that say where the secret was, or is, and which runs cannot go on now."""
        if not self.places:
            yield "nothing matches\n"
            return
        for place in self.places:
            where = f"{self._withheld(place.journal)} version {place.version} {place.text}"
            yield f"{'would be redacted' if self.dry_run else 'redacted'}: {where}\n"
        if self._elsewhere is not None:
            yield f"{self._elsewhere}\n"
        cannot, was = ("could not", "would be") if self.dry_run else ("cannot", "was")
        for name in sorted({place.journal for place in self.places if place.of_a_run}):
            run = f"the run of {self._withheld(name)} {cannot} be gone on with: its log {was} redacted"
            yield f"{run}; mage run --anew begins a new one there\n"

    def require_gone(self) -> None:
        """Refuse, rather than say that the secret is gone, where a name or the store's log still holds it."""
        if self.names:
            shown = some_of([self._withheld(name) for name in self.names])
            raise Refused(
                f"names of sessions match too, and are not changed: {shown};"
                " export such a session, import it under another name, and drop it"
            )
        if self.dry_run or not self.places:
            return
        store = store_of(self.target)
        log = None if store.file is None else Path(f"{os.path.realpath(store.file)}-wal")
        if log is not None and log.exists() and log.stat().st_size:
            raise Refused(
                f"{log}: somebody has the store open, so this log still holds what was taken out;"
                f" run mage gc {store} when nobody has"
            )

    @property
    def _elsewhere(self) -> str | None:
        """Where the bytes stay that no command can remove; None where there is no such place."""
        return _ELSEWHERE if store_of(self.target).url.startswith("postgresql:") else None

    def _withheld(self, name: str) -> str:
        """Return a name as every command takes it; of a name that matches only the rest, which no command takes."""
        return printable(self._without(name)) if matches(self.pattern, name) else spelled(name)

    def _without(self, name: str) -> str:
        """Return a name without its matches, and nothing of a name that still matches then, as JSON reads it."""
        left = self.pattern.sub("", name)
        return _WITHHELD if matches(self.pattern, left) else self.pattern.sub(_WITHHELD, name)


# -- redact: in every record of a family ------------------------------------------------------------------


@final
@attrs.frozen
class Place:
    """Where a text matches: the session whose record it is, the version, and the name of the text.

    `of_a_run` says whether the text is a note of an agent's run, which is needed to resume the run.
    """

    journal: str
    version: int
    text: str
    of_a_run: bool = False


def redact_store(
    store: JournalStore, name: str | None, pattern: re.Pattern[str], *, dry_run: bool = False
) -> list[Place]:
    """Redact every text that matches, in the family of a session or in every session, and return where they were.

    A session and all its forks are searched before any of them is changed. Cost: O(their records), and a few calls
    of the store for each session.

    Raises:
        UnknownJournal: there is no such session.
        DamagedRecord: a record is not sound; neither its session nor a fork of the same origin was changed.
        Refused: other processes write the secret as fast as it is taken out.
    """
    if name is not None:
        store.head(name)  # raises where there is none
    found: list[Place] = []
    for _ in range(_ROUNDS):
        new: list[Place] = []
        journals = store.journals()
        for tree in families(journals, *([each.name for each in journals] if name is None else [name])):
            changed, places = _searched(store, tree, pattern)
            new += places
            if not dry_run:
                _replace(store, tree, changed)
        found += new
        if dry_run or not new:
            return found
    raise Refused(
        f"{len(found):,} texts were taken out, and others write what matches again and again: stop them, and redact again"
    )


def families(journals: Iterable[JournalInfo], *names: str) -> list[list[JournalInfo]]:
    """Return the families of sessions: an origin and all its forks, each session before its forks.

    Cost: O(number of journals).

    Raises:
        UnknownJournal: a session is not among them.
        DamagedStore: parents lead in a circle.
    """
    known = {journal.name: journal for journal in journals}
    forks: dict[str | None, list[JournalInfo]] = {}
    for journal in known.values():
        forks.setdefault(journal.parent, []).append(journal)
    found: list[list[JournalInfo]] = []
    done: set[str] = set()
    for name in names:
        if name not in done:
            found.append([_root_of(known, name)])
            for each in found[-1]:  # it grows meanwhile
                found[-1] += forks.get(each.name, ())
            done.update(each.name for each in found[-1])
    return found


def _root_of(known: Mapping[str, JournalInfo], name: str) -> JournalInfo:
    root = name
    for _ in range(len(known) + 1):
        if root not in known:
            raise UnknownJournal(root)
        parent = known[root].parent
        if parent is None:
            return known[root]
        root = parent
    raise DamagedStore(f"{name!r} reads through itself, by its parents")


def _searched(
    store: JournalStore, tree: Sequence[JournalInfo], pattern: re.Pattern[str]
) -> tuple[dict[str, list[Record]], list[Place]]:
    """Return the records that match, redacted, by journal, and where they match. Each record is verified once."""
    changed: dict[str, list[Record]] = {}
    places: list[Place] = []
    forked_at = {(journal.parent, journal.forked_at) for journal in tree}
    heads: dict[tuple[str | None, int], Head] = {(None, 0): NOTHING}
    for journal in tree:
        with suppress(UnknownJournal):  # another process has dropped the session meanwhile
            before = heads.get((journal.parent, journal.forked_at))
            if before is None:
                before = next(store.read(journal.name, journal.forked_at - 1, journal.forked_at)).head
            own = store.read(journal.name, journal.forked_at, journal.head.version)
            sound = _noting(verify(before, own, journal.head), journal.name, forked_at, heads)
            try:
                records, found = redacted_records(journal.name, sound, pattern)
            except DamagedRecord as damage:
                damage.add_note(journal.name)
                raise
            changed[journal.name] = [*records.values()]
            places += found
    return changed, places


def _noting(
    records: Iterable[Record],
    name: str,
    wanted: Container[tuple[str | None, int]],
    heads: dict[tuple[str | None, int], Head],
) -> Iterator[Record]:
    """Yield records; the heads at which forks begin are put into `heads`."""
    for record in records:
        if (name, record.version) in wanted:
            heads[name, record.version] = record.head
        yield record


def _replace(store: JournalStore, tree: Sequence[JournalInfo], changed: Mapping[str, list[Record]]) -> None:
    """Replace the records that have changed, all that one session reads in one call: a chain of forks takes one call."""
    known = {journal.name: journal for journal in tree}
    done: dict[str, int] = {}
    for journal in reversed(tree):
        taken = _taken(known, journal, changed, done)
        if not taken:
            continue
        try:
            store.replace_parts(journal.name, [record for _, record in taken])
        except UnknownJournal:  # the session was dropped meanwhile; its origins may still be there
            for name, record in taken:
                with suppress(UnknownJournal):
                    store.replace_parts(name, [record])


def _taken(
    known: Mapping[str, JournalInfo],
    journal: JournalInfo,
    changed: Mapping[str, list[Record]],
    done: dict[str, int],
) -> list[tuple[str, Record]]:
    """Return the changed records of all that a session reads, each with its journal, without those returned before.

    `done` has for each journal the version up to which its records were returned, and is updated.
    """
    taken: list[tuple[str, Record]] = []
    upto: int = journal.head.version
    above: JournalInfo | None = journal
    while above is not None and upto > done.get(above.name, 0):
        begun = above.name in done
        after = done.get(above.name, 0)
        own, version = changed.get(above.name, []), attrgetter("version")
        some = own[bisect_right(own, after, key=version) : bisect_right(own, upto, key=version)]
        taken += [(above.name, record) for record in some]
        done[above.name] = upto
        upto = above.forked_at
        above = None if begun or above.parent is None else known.get(above.parent)
    return taken


# -- redact: where a pattern matches, however a text is escaped -------------------------------------------


# The meta of a record, a note of a run, the arguments of a call and many observations hold JSON: a whole document,
# lines of one, or a piece that stands in prose or is cut off. There a secret may be spelled with escapes, and JSON in a
# string of JSON has escapes of these. So no document is parsed: escapes are undone wherever they stand, again and again
# until none is left, and each stage is searched.


def redacted_records(
    name: str, records: Iterable[Record], pattern: re.Pattern[str]
) -> tuple[dict[int, Record], list[Place]]:
    """Return the records that match, redacted, by version; and where they match."""
    changed: dict[int, Record] = {}
    places: list[Place] = []
    for record in records:
        if matching := places_in(record, pattern):
            changed[record.version] = redacted(record, matching)
            names = text_names(record)
            operation, kind = operation_of(record)
            is_run = operation == "note" and kind not in MEMORY_NOTES
            places.extend(Place(name, record.version, names[place], is_run) for place in matching)
    return changed, places


def places_in(record: Record, pattern: re.Pattern[str]) -> list[int]:
    """Return which parts of a record match, as `matches` says.

    A blank text never matches: it holds no secret, and cannot be redacted.
    """
    return [
        place
        for place, part in enumerate(record.parts)
        if isinstance(part, Plain) and not is_blank(part.text) and matches(pattern, part.text)
    ]


def matches(pattern: re.Pattern[str], text: str) -> bool:
    """Tell whether a pattern matches a text as it stands, or with the escapes of JSON in it undone, at any depth.

    Each text between two quotes is searched alone too, so that `^` and `$` fit a string of JSON.
    Cost: that of searching the text, times the depth of its escapes, at most 66.
    """
    return any(pattern.search(reading) for reading in _readings(text))


def _readings(text: str) -> Iterator[str]:
    """Yield a text, the text at each stage of unescaping, and its strings at each stage."""
    yield text
    strings = _strings([text])
    yield from strings
    for _ in range(_DEEPEST):
        after = _unescaped(text)
        if after == text:
            return
        text = after
        yield text
        strings = _strings(strings)
        yield from strings
    yield _unescaped_at_once(text)


def _strings(texts: list[str]) -> list[str]:
    """Return the unescaped strings between the quotes of texts, in sum not longer than these."""
    return [
        _unescaped(found)
        for text in texts
        if '"' in text or "\\" in text
        for found in _QUOTED.findall(text)
        if found
    ]


def _unescaped(text: str) -> str:
    """Return a text with every escape of JSON in it undone once, from left to right. Cost: O(length)."""
    return as_text(_ESCAPE.sub(_meant, text)) if "\\" in text else text


def _meant(found: re.Match[str]) -> str:
    short, code = found.groups()
    return chr(int(code, 16)) if short is None else _SHORT.get(short, short)


def _unescaped_at_once(text: str) -> str:
    """Return a text in which no escape is left, each undone as soon as its last character is there.

    Cost: O(length): the character of an escape may end another escape, and each time the text gets shorter.
    """
    done: list[str] = []
    for char in text:
        done.append(char)
        while (length := _length_of_last_escape(done)) and (found := _ESCAPE.match("".join(done[-length:]))):
            done[-length:] = _meant(found)
    return as_text("".join(done))


def _length_of_last_escape(chars: list[str]) -> int:
    """Return how many characters at the end may be one escape, 0 where none is."""
    if len(chars) > 1 and chars[-2] == "\\" and chars[-1] in '"\\/bfnrt':
        return 2
    return 6 if chars[-6:-4] == ["\\", "u"] else 0
