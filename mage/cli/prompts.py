"""`mage prompts`: the words that models are asked with, printed or written to files; and such files read again."""

from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path
from typing import Annotated, Final

import typer

from mage.chat import OURS, REPLACEABLE, Prompt, Prompts
from mage.cli.output import (
    AsJson,
    Refused,
    print_json,
    print_text,
    read_bytes,
    refusing,
    require_absent,
    say,
    write_new,
)
from mage.cli.setup import PromptsFolder
from mage.engine import UnknownName
from mage.engine.errors import MageError

_ENDING: Final = ".txt"


def prompts(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Else every prompt.")] = None,
    folder: PromptsFolder = None,
    into: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write them there, a file each, to be changed.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the prompts of models, judges and summarizers, each with its version and its hash.

    With each answer a run keeps the hash of what it was asked with: of a judge or a summarizer that of its prompt, of a
    model that of all that is the same in every call, tools included.

    To change them, write them into a folder, edit those that you want, and name the folder: mage run --prompts DIR.
    """
    replaced = read_prompts(folder)
    shown = [replaced.of(_named(name)) for name in dict.fromkeys(names or REPLACEABLE)]
    if into is not None:
        _write(into, shown)
    if as_json:
        print_json(
            {each.name: {"version": each.version, "hash": each.hash, "text": each.text} for each in shown}
        )
    elif into is None:
        print_text("\n".join([f"== {_titled(each)}\n{each.text}\n" for each in shown]))
    else:
        say(f"wrote {len(shown)} prompts into {into}; mage run --prompts {into} asks with them")


def _named(name: str) -> Prompt:
    if name not in REPLACEABLE:
        raise Refused(str(UnknownName("prompt", name, tuple(REPLACEABLE))))
    return REPLACEABLE[name]


def _titled(prompt: Prompt) -> str:
    version = f"version {prompt.version}" if prompt.version else "your own"
    return f"{prompt.name}, {version}, {prompt.hash}"


def _write(folder: Path, shown: list[Prompt]) -> None:
    with refusing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    files = {folder / f"{each.name}{_ENDING}": each.text for each in shown}
    for file in files:
        require_absent(file)
    for file, text in files.items():
        write_new(file, [f"{text}\n".encode()])


def read_prompts(folder: str | None) -> Prompts:
    """Return the prompts of a folder, in which each file is `NAME.txt`; ours where there is no folder.

    Raises:
        Refused: there is no such folder, or nothing in it, or a file that is no prompt.
    """
    if folder is None:
        return OURS
    with refusing(folder):
        files = sorted(each for each in Path(folder).iterdir() if not each.name.startswith("."))
    if not files:
        raise Refused(f"{folder}: there is no prompt in it; mage prompts --into {folder} writes ours there")
    try:
        return Prompts({_name_of(each): _text(each) for each in files})
    except (MageError, ValueError) as problem:
        raise Refused(f"{folder}: {problem}; each file is a prompt, NAME{_ENDING}") from None


def _name_of(file: Path) -> str:
    if not file.name.endswith(_ENDING):
        raise UnknownName("prompt", file.name, tuple(REPLACEABLE))
    return file.name.removesuffix(_ENDING)


def _text(file: Path) -> str:
    try:
        return read_bytes(file).removeprefix(BOM_UTF8).decode().replace("\r\n", "\n").removesuffix("\n")
    except UnicodeDecodeError as problem:
        raise Refused(f"{file}: a prompt is UTF-8, but byte {problem.start} is not") from None
