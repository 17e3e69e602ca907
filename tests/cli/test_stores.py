"""Commands over a store: a session is named URL#name in each, and what is wrong is one line."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage import view
from mage.cli.naming import InStore, StoreName, as_name, spelled
from mage.cli.output import Refused
from mage.cli.sessions import parse_session, parse_target
from mage.codec import encode_journal
from mage.engine import Grow, Revise, Start, StepId, replay
from mage.render import Meter, render
from mage.session import Session
from mage.stores import NOTHING, fold, open_store, redacted, verify
from mage.tokens import default_counter
from tests.cli.runner import Ran, mage
from tests.cli.test_sessions import story
from tests.stores.corrupted import sql


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Return the URL of a store that holds the story as "main"."""
    path = tmp_path / "story.jsonl"
    path.write_bytes(b"".join(encode_journal(story())))
    url = f"sqlite:///{tmp_path / 'work.db'}"
    assert mage("import", path, f"{url}#main").status == 0
    return url


def one_line(ran: Ran) -> str:
    """Return the one line of complaint of a command that was refused, and printed nothing else."""
    assert (ran.status, ran.out) == (1, "")
    assert len(ran.err.splitlines()) == 1
    return ran.err


@given(st.text(min_size=1).filter(lambda name: not any("\ud800" <= char <= "\udfff" for char in name)))
def test_every_name_can_be_spelled(name: str) -> None:
    """Behind `#`, as it is shown, any name is read back; also with a version behind it."""
    assert as_name(spelled(name)) == name
    assert parse_session(f"sqlite:///a#b.db#{spelled(name)}") == InStore(StoreName("sqlite:///a#b.db"), name)
    assert "@" not in spelled(name)


def test_a_name_is_found_behind_the_last_mark() -> None:
    """The path of a store may hold `#` itself."""
    store = StoreName("sqlite:///we#ird.db")
    assert parse_session("sqlite:///we#ird.db#a%23b%40c") == InStore(store, "a#b@c")
    assert parse_target("sqlite:///we#ird.db#") == store
    with pytest.raises(Refused, match="not UTF-8"):
        parse_session("sqlite:///work.db#%ff")


def test_sessions_lists_what_is_in_a_store(url: str) -> None:
    """Name, versions, tokens, time and task, the last changed first; for machines the digests and times too."""
    mage("fork", f"{url}#main@8", "try")
    listed = json.loads(mage("sessions", url, "--json").out)["sessions"]
    assert [(each["name"], each["versions"], each["own_steps"]) for each in listed] == [
        ("try", 8, 0),
        ("main", 13, 4),
    ]
    assert (listed[0]["parent"], listed[0]["forked_at"], listed[0]["own_bytes"]) == ("main", 8, 0)
    assert (listed[0]["outcome"], listed[1]["outcome"]) == ("rejected", "")
    meter = Meter(default_counter())
    for each, commands in zip(listed, (story()[:8], story()), strict=True):
        assert each["tokens"] == meter.count(view(replay(commands).unwrap()))
        assert (each["task"], each["damage"]) == ("furnish a study", None)
    lines = mage("sessions", url).out.splitlines()
    assert lines[0].split() == ["session", "outcome", "versions", "tokens", "last", "change", "task"]
    assert [line.split()[0] for line in lines[1:]] == ["try", "main"]
    assert lines[1].endswith("(from main@8) furnish a study")


def test_an_empty_store_holds_none(tmp_path: Path) -> None:
    """Reference, not shown as an empty table."""
    with open_store(f"sqlite:///{tmp_path / 'empty.db'}"):
        pass
    assert mage("sessions", f"sqlite:///{tmp_path / 'empty.db'}").out.endswith("holds no session\n")


def test_log_says_what_each_record_did(url: str) -> None:
    """Versions, operations and ids; texts only where they are asked for."""
    lines = mage("log", f"{url}#main").out.splitlines()
    assert [line.split()[2] for line in lines][:5] == ["start", "instruct", "grow", "compress", "accept"]
    assert lines[6].endswith("summary 2 covers 2 kind subgoal")
    assert lines[8].endswith("boundary 1 abandoned 1")
    assert not any("chair" in line for line in lines)
    shown = mage("log", f"{url}#main", "--texts").out
    assert "        observation: bought⏎for $129\n" in shown
    assert "\x1b" not in shown
    assert mage("log", f"{url}#main", "--last", 2).out.splitlines() == lines[-2:]


@pytest.mark.parametrize("last", [1, 2, 5, 12, 13, 14, 99])
def test_the_last_of_a_log_is_its_end(url: str, tmp_path: Path, last: int) -> None:
    """However many are asked for, of a store and of a file, with their texts and without."""
    for session in (f"{url}#main", str(tmp_path / "story.jsonl")):
        whole = mage("log", session).out.splitlines()
        assert mage("log", session, "--last", last).out.splitlines() == whole[-last:]
        told, some = (
            [
                {
                    key: value for key, value in each.items() if key != "digest"
                }  # a file gets new salts each time
                for each in json.loads(mage("log", session, "--json", *options).out)["records"]
            ]
            for options in ([], ["--last", last])
        )
        assert some == told[-last:]


def test_log_for_machines(url: str) -> None:
    """One object with every value: actions, observations, texts, and what goes with a record."""
    with Session.open(url, "live", task="t", clock=lambda: 1_700_000_000_000_000) as session:
        session.grow("a", "o", meta={"call": "x1"})
    told = json.loads(mage("log", f"{url}#live", "--json").out)["records"]
    assert told[1]["texts"] == {"action": "a", "observation": "o"}
    assert (told[1]["meta"]["call"], told[1]["time"]) == ("x1", "2023-11-14T22:13:20Z")
    assert told[0]["texts"] == {"task": "t"}
    line = mage("log", f"{url}#live").out.splitlines()[1]
    assert line.split() == ["2", "2023-11-14T22:13:20Z", "grow", "step", "1", "{call}"]


def test_log_names_what_was_redacted(url: str) -> None:
    """A marker stands where a text was, and the line says which."""
    with open_store(url) as store:
        store.replace_parts("main", [redacted(next(store.read("main", 2, 3)), [0])])
    shown = mage("log", f"{url}#main", "--texts").out
    assert "(redacted: action)" in shown
    assert "action: [redacted " in shown
    assert "buy[desk]" not in shown


@pytest.mark.parametrize("version", [None, 1, 8, 13])
def test_tree_show_and_check_read_from_a_store(url: str, tmp_path: Path, version: int | None) -> None:
    """They print what they print of the same session in a file."""
    at = "" if version is None else f"@{version}"
    assert mage("show", f"{url}#main{at}").out == render(view(replay(story()[:version]).unwrap()))
    for command in (["tree"], ["tree", "--json"], ["show", "--json"]):
        stored = mage(*command, f"{url}#main{at}")
        assert (stored.status, stored.out) == (0, mage(*command, f"{tmp_path}/story.jsonl{at}").out)
    assert mage("check", f"{url}#main").out.endswith("13 commands, sound after each: I1 to I12 hold\n")


def test_fork_and_revise_go_on_from_an_earlier_version(url: str) -> None:
    """A fork copies nothing, a revise says what was abandoned, and the parent does not notice."""
    before = mage("log", f"{url}#main", "--json").out
    assert mage("fork", f"{url}#main@8", "try%20again").status == 0
    ran = mage("revise", f"{url}#try again", 1, "--lesson", "look at glass")
    assert ran.out.splitlines()[1] == "abandoned 2 buy[chrome chair] → bought⏎for $129"
    commands = [*story()[:8], Revise(StepId(1), "look at glass")]
    assert mage("show", f"{url}#try%20again").out == render(view(replay(commands).unwrap()))
    assert mage("log", f"{url}#main", "--json").out == before
    forked = json.loads(mage("fork", f"{url}#main", "new", "--json").out)
    assert (forked["version"], forked["session"]) == (13, f"{url}#new")


def test_a_revise_that_changes_nothing_is_not_recorded(url: str) -> None:
    """At the current boundary, with nothing open and no lesson."""
    mage("revise", f"{url}#main", 3)
    ran = json.loads(mage("revise", f"{url}#main", 3, "--json").out)
    assert (ran["version"], ran["abandoned"], ran["phase"]) == (14, [], "active")


def test_diff_tells_what_differs(url: str, tmp_path: Path) -> None:
    """Two versions, two branches, a store and a file: status 1 where an agent is shown another S."""
    mage("fork", f"{url}#main@8", "try")
    mage("revise", f"{url}#try", 1, "--lesson", "look at glass")
    same = mage("diff", f"{url}#main@8", tmp_path / "story.jsonl@8")
    assert (same.status, same.out.splitlines()[-1]) == (0, "nothing differs in C, R and H")
    ran = mage("diff", f"{url}#try", f"{url}#main@9")
    assert ran.status == 1
    assert ran.out.splitlines()[2:] == [
        "H lessons",
        "  - [Step 1] look at glass",
        "  + [Step 1] look at linen",
    ]
    told = json.loads(mage("diff", f"{url}#try@9", f"{url}#main", "--json").out)
    assert told["differ"]
    assert [each["text"] for each in told["parts"]["compressed"]["right"]] == ["linen chair bought"]
    assert told["parts"]["compressed"]["same"] == 1
    assert "\x1b" not in mage("diff", f"{url}#main@12", f"{url}#main@13").out
    assert "versions 1 to 13" in one_line(mage("diff", f"{url}#main@14", f"{url}#main"))


REFUSED = {
    "no such session": (["show", "{url}#none"], "mage sessions sqlite:///"),
    "no such file": (["sessions", "{url}x"], "there is no such file"),
    "a store that is not there": (["sessions", "work.db"], "work.db: there is no such file"),
    "a session file as a store": (["sessions", "{story}"], "mage import it into a store"),
    "a session in a session file": (["show", "{story}#main"], "a session file holds one session"),
    "an unknown kind": (["log", "ftp://x#y"], "unknown kind"),
    "a name taken": (["fork", "{url}#main", "main"], "is there already"),
    "a name that is none": (["fork", "{url}#main", "%00"], "NUL"),
    "a version too late": (["fork", "{url}#main@14", "x"], "versions 1 to 13"),
    "a boundary that is none": (["revise", "{url}#main", "2"], "not a boundary"),
    "no bundle": (["import", "{path}", "{url}#x"], "this is a store; mage export"),
    "no file, but a session": (["import", "{path}#a", "{url}#x"], "first written into one by mage export"),
    "an import into a file": (["import", "{story}", "x.jsonl"], "such as work.db#story"),
    "an import over a session": (["import", "{story}", "{url}#main"], "is there already"),
    "memory": (["show", "memory:#x"], "no such session"),
    "an import into memory": (["import", "{story}", "memory:#x"], "gone when the command ends"),
    "a repair into memory": (["doctor", "{url}", "--repair", "memory:"], "gone when the command ends"),
    "a version of a new session": (["import", "{story}", "{url}#x@9"], "leave out @9"),
    "a version where the whole is changed": (["revise", "{url}#main@9", "0"], "or fork the version first"),
    "a path too long": (["show", "x" * 300], "x" * 300 + ": File name too long"),
    "a path too long at a version": (["diff", "x" * 300 + "@1", "y"], "x" * 300 + "@1: File name too long"),
    "a store's path too long": (["sessions", "sqlite:///" + "x" * 300], "x" * 300 + ": File name too long"),
    "a doctor's path too long": (["doctor", "sqlite:///" + "x" * 300], "x" * 300 + ": File name too long"),
    "a new store's path too long": (
        ["import", "{story}", "sqlite:///" + "x" * 300 + "#x"],
        "is no store: its file cannot be looked at: file name too long",
    ),
    "no directory": (["import", "{story}", "sqlite:////no/where/x.db#x"], "there is no directory"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_one_line_that_helps(url: str, tmp_path: Path, case: str) -> None:
    """No traceback, status 1, and the store stays byte for byte what it was."""
    arguments, said = REFUSED[case]
    path = url.removeprefix("sqlite:///")
    before = Path(path).read_bytes()
    ran = mage(*[each.format(url=url, path=path, story=tmp_path / "story.jsonl") for each in arguments])
    assert said in one_line(ran)
    assert Path(path).read_bytes() == before


def test_a_password_is_never_shown() -> None:
    """Neither in a complaint nor in what it quotes."""
    for command in (
        ["sessions", "postgresql://me:secret@localhost:1/x"],
        ["show", "postgresql://me:secret@localhost:1/x#y"],
    ):
        assert "secret" not in one_line(mage(*command))


def test_a_damaged_record_is_named_and_those_before_it_are_told(url: str) -> None:
    """`log` prints what is sound, then says which record is not; `show` of an earlier version works."""
    with open_store(url) as store:
        assert fold(verify(NOTHING, store.read("main"))) is not None
    path = Path(url.removeprefix("sqlite:///"))
    path.write_bytes(path.read_bytes().replace(b"buy[linen chair]", b"buy[linen shirt]"))
    ran = mage("log", f"{url}#main")
    assert (ran.status, len(ran.out.splitlines())) == (1, 9)
    assert "record 10 is damaged" in ran.err
    assert mage("show", f"{url}#main@9").status == 0
    assert "mage doctor" in one_line(mage("show", f"{url}#main"))


def test_a_store_that_somebody_else_writes_is_revised_behind_them(url: str) -> None:
    """Two sessions on one journal: the command goes on from what is there when it is run."""
    with Session.open(url, "main") as live:
        live.grow("walk", "on")
        assert json.loads(mage("revise", f"{url}#main", 3, "--json").out)["version"] == 15
        live.refresh()
        assert live.version == 15


def test_without_its_extra_a_store_says_what_to_install(url: str) -> None:
    """Where PostgreSQL's driver is missing, one line names the extra; a SQLite store needs none."""
    code = "import sys; sys.modules['psycopg'] = None\nfrom mage.__main__ import main\nsys.argv[0] = 'mage'\nmain()"
    for command, where, status, said in (
        ("sessions", "postgresql://h/d", 1, "pip install 'mage-state[postgres]'"),
        ("doctor", "postgresql://h/d", 1, "pip install 'mage-state[postgres]'"),
        ("sessions", url, 0, ""),
        ("doctor", url, 0, ""),
    ):
        ran = subprocess.run([sys.executable, "-c", code, command, where], check=False, capture_output=True)
        assert (ran.returncode, said in ran.stderr.decode()) == (status, True)
        assert len(ran.stderr.decode().splitlines()) == status


@pytest.mark.parametrize("command", [["sessions", "{url}"], ["log", "{url}#main"], ["doctor", "{url}"]])
def test_a_full_disk_and_a_reader_that_leaves_are_no_fault(url: str, command: list[str]) -> None:
    """What cannot be printed ends in one line, or in none where nobody reads."""
    line = [sys.executable, "-m", "mage", *[each.format(url=url) for each in command]]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(line, check=False, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"mage: standard output: No space left on device\n")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(line, check=False, stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_snapshot_shows_what_the_records_show(url: str) -> None:
    """At any version `show`, `tree`, `diff` and `log --last` say the same with snapshots and without."""
    with Session.open(url, "kept", task="t", snapshot_every=3) as session:
        for number in range(20):
            session.grow(f"a{number}", "o")
    mage("fork", f"{url}#kept@11", "fork")
    with open_store(url) as store:
        assert store.snapshot("kept") is not None
    asked = [["show", f"{url}#kept@{at}", "--json"] for at in (1, 11, 15, 21)]
    asked += [["tree", f"{url}#fork", "--json"], ["diff", f"{url}#fork", f"{url}#kept", "--json"]]
    asked += [
        ["log", f"{url}#{name}", "--last", f"{last}"] for name in ("kept", "fork") for last in (1, 7, 11)
    ]
    before = [mage(*each) for each in asked]
    with open_store(url) as store:
        for name in ("kept", "fork"):
            store.drop_snapshots(name)
    assert [mage(*each) for each in asked] == before
    assert all(ran.out and not ran.err for ran in before)


def test_records_that_do_not_lead_to_the_head_are_not_shown(url: str, tmp_path: Path) -> None:
    """A head of another digest than its record has is told in one line, with what looks at all of it."""
    sql("UPDATE mage_journals SET digest = zeroblob(32)")(tmp_path / "work.db")
    said = one_line(mage("show", f"{url}#main"))
    assert "record 13 is damaged: it leads to version 13" in said
    assert "mage doctor sqlite:///" in said
    assert mage("show", f"{url}#main@12").status == 0


def test_a_disk_that_fills_up_leaves_the_store_as_it_was(url: str, tmp_path: Path) -> None:
    """Where no file may grow beyond a limit: one line, and what was there is sound."""
    path = tmp_path / "large.jsonl"
    path.write_bytes(b"".join(encode_journal([Start("t"), *(Grow(f"a{n}", "o" * 900) for n in range(300))])))
    before = mage("sessions", url, "--json").out
    for command in (["import", path, f"{url}#large"], ["export", path, "--out", tmp_path / "out.jsonl"]):
        ran = subprocess.run(
            [sys.executable, "-m", "mage", *map(str, command)],
            check=False,
            capture_output=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
        )
        assert (ran.returncode, ran.stdout, len(ran.stderr.splitlines())) == (1, b"", 1)
    assert mage("sessions", url, "--json").out == before
    assert mage("doctor", url).status == 0
    assert not (tmp_path / "out.jsonl").exists()


def test_a_long_session_is_told_quickly_enough(tmp_path: Path) -> None:
    """A thousand steps in a store are listed one by one."""
    path = tmp_path / "long.jsonl"
    path.write_bytes(b"".join(encode_journal([Start("t"), *(Grow(f"a{n}", "o" * 99) for n in range(1000))])))
    url = f"sqlite:///{tmp_path / 'long.db'}"
    assert mage("import", path, f"{url}#long").status == 0
    assert len(mage("log", f"{url}#long").out.splitlines()) == 1001
