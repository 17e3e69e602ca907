"""What other packages bring under our entry points: stores, token counters and importers (environments: tests/cli)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from returns.pipeline import is_successful

from mage import AsyncSession, Session
from mage.stores import BadAddress, open_store
from mage.tokens import BadCounter, EstimateCounter, ExactCounter, counter_named, default_counter
from mage.trajectories import FORMATS, detect, formats, load
from tests.attic import OPENED
from tests.cli.runner import mage

POINTS = """
[mage.stores]
attic = tests.attic:open_attic
cellar = tests.nowhere:open_cellar
sqlite = tests.attic:broken

[mage.token_counters]
letters = tests.attic:Letters
none = tests.attic:no_counter
broken = tests.attic:broken
o200k_base = tests.attic:broken

[mage.importers]
attic = tests.attic
nothing = tests.attic:Wrong.Nothing
text = tests.attic:Wrong.Text
untold = tests.attic:Wrong.Untold
raising = tests.attic:Wrong.Raising
chat = tests.attic:broken
"""
FILE = b"ATTIC dust broom mop"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a distribution, as pip writes one down."""
    about = tmp_path / "site" / "attic-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: attic\nVersion: 1\n")
    (about / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(about.parent))
    monkeypatch.chdir(tmp_path)


# -- stores --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("installed")
def test_store_is_opened_by_its_scheme() -> None:
    """By a session, by its awaitable twin, and by every command; it hears URL and patience as they were said."""
    Session.open("attic://box", "mine", task="Dust.").grow("broom", "clean")

    async def again() -> int:
        return (await AsyncSession.open("attic://box", "mine")).version

    assert asyncio.run(again()) == 2
    open_store("attic://box", patience=3.5)
    assert OPENED[-1] == ("attic://box", 3.5)
    assert "Dust." in mage("show", "attic://box#mine").out


@pytest.mark.usefixtures("installed")
def test_store_that_cannot_be_loaded_is_said() -> None:
    """Which package's it is, and why; a kind that nobody brings is told which there are; ours cannot be taken."""
    with pytest.raises(BadAddress, match=r"tests\.nowhere:open_cellar.*No module named"):
        open_store("cellar://box")
    with pytest.raises(BadAddress, match=r"and by other packages attic, cellar, sqlite"):
        open_store("garage://box")
    open_store("sqlite:///w.db").close()
    assert Path("w.db").exists()


def test_password_of_an_unknown_kind_is_not_repeated() -> None:
    """As of any URL."""
    with pytest.raises(BadAddress) as refused:
        open_store("garage://me:secret@box")
    assert "secret" not in str(refused.value)


# -- token counters ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("installed")
def test_counter_is_chosen_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """`MAGE_COUNTER` names it for the library and for every command; without it all is as ever."""
    ours = default_counter()
    monkeypatch.setenv("MAGE_COUNTER", "letters")
    assert (default_counter().name, default_counter().count("dust")) == ("letters", 4)
    assert counter_named("estimate") == EstimateCounter()
    assert counter_named("cl100k_base") == ExactCounter("cl100k_base")
    monkeypatch.setenv("MAGE_COUNTER", "")
    assert default_counter() == ours


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("abacus", "there is none of this name; there are o200k_base,"),
        ("none", "has raised AttributeError"),
        ("broken", "has raised KeyError"),
    ],
)
def test_counter_that_is_none_is_said(name: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, by the library and by a command; a name of ours cannot be taken."""
    with pytest.raises(BadCounter, match=told):
        counter_named(name)
    assert counter_named("o200k_base") == ExactCounter()
    Path("run.txt").write_bytes(FILE)
    monkeypatch.setenv("MAGE_COUNTER", name)
    ran = mage("replay", "run.txt")
    assert (ran.status, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert told in ran.err


# -- importers -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("installed")
def test_format_is_found_where_none_of_ours_fits() -> None:
    """It is detected, loaded, listed and imported; an importer that cannot be asked stands in nobody's way."""
    assert detect(FILE) == "attic"
    (found,) = load(FILE, file="run.txt", steps="tools").unwrap()
    assert (found.name, len(found.commands)) == ("run", 3)
    assert set(formats()) == {*FORMATS, "attic", "nothing", "text", "untold", "raising"}
    Path("run.txt").write_bytes(FILE)
    assert "2 steps" in mage("replay", "run.txt").out
    assert mage("import", "run.txt", "work.db", "--format", "attic").status == 0
    assert "Task: dust" in mage("show", "work.db#run").out


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nothing", "has found nothing"),
        ("text", "has returned a str, and no Trajectory"),
        ("untold", "has returned what is no history"),
        ("raising", "has raised ValueError: moths\\x1b"),
        ("abacus", "is no format"),
    ],
)
def test_importer_that_does_not_do_is_said(name: str, told: str) -> None:
    """In one line that names it; what it returns replays, or is refused."""
    loaded = load(FILE, file="run.txt", format=name)
    assert not is_successful(loaded)
    assert told in str(loaded.failure())


@pytest.mark.usefixtures("installed")
def test_formats_of_ours_stay_ours() -> None:
    """A package cannot take the name of one, nor a file that one fits."""
    chat = b'[{"role": "user", "content": "ATTIC"}, {"role": "assistant", "content": "x"}]'
    assert detect(chat) == "chat"
    assert is_successful(load(chat, file="c.json", format="chat"))


def test_without_packages_nothing_changes() -> None:
    """What fits no format is refused as ever, at its place."""
    assert detect(FILE) is None
    assert "not JSON" in str(load(FILE, file="run.txt").failure())
    assert formats() == FORMATS
