"""`mage prompts` and `--prompts`: what models are asked with can be read, changed, and told apart by its hash."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mage.chat import ALL_PROMPTS, REPLACEABLE, Prompt, Prompts
from mage.chat.words import MEMORY
from mage.engine import UnknownName
from mage.stores import open_store
from tests.cli.children import in_one_line, place
from tests.cli.runner import mage
from tests.llm.server import Answer, Request, ScriptedServer, calls, says

__all__ = ["place"]

LAMPS = ("Light it.", "--environment", "tests.cli.gated:Lamps", "--session", "w.db#a")
PASSED = {"reasoning": "So.", "passed": True, "fault": "none", "feedback": ""}


def test_all_prompts_of_a_run_are_printed_with_version_and_hash() -> None:
    """All but that of a host's memory, which no run asks with; one that is named, alone; the texts word for word."""
    told = json.loads(mage("prompts", "--json").out)
    assert told == {
        each.name: {"version": each.version, "hash": each.hash, "text": each.text}
        for each in ALL_PROMPTS
        if each is not MEMORY
    }
    for name, prompt in REPLACEABLE.items():
        head = f"== {name}, version {prompt.version}, {prompt.hash}\n"
        assert mage("prompts", name).out == f"{head}{prompt.text}\n"


def test_prompts_that_are_written_and_not_changed_are_ours() -> None:
    """Written into files and read again, nothing differs, line ends included; a file that is there is not overwritten."""
    assert mage("prompts", "--into", "p").status == 0
    assert mage("prompts", "--prompts", "p", "--json").out == mage("prompts", "--json").out
    assert in_one_line(mage("prompts", "--into", "p"), "there is something already")


def test_prompts_of_a_folder_are_asked_with_and_kept_by_their_hash() -> None:
    """Model, judge and summarizer get the words; each answer keeps their hash; the session remembers the folder."""
    words = {
        "system": "Be a lamp.",
        "as-tools": "Call one.",
        "judge-subgoal": "Judge it.",
        "chapter": "Fold.",
    }
    folder = Path("p")
    folder.mkdir()
    for name, text in words.items():
        (folder / f"{name}.txt").write_text(f"{text}\n", encoding="utf-8")
    heads: list[str] = []

    def answering(request: Request) -> Answer:
        heads.append(request.body["messages"][0]["content"])
        replies = (calls("act", action="light one"), calls("compress", text="Lit."), says(json.dumps(PASSED)))
        return [*replies, calls("finish", answer="Done.")][len(heads) - 1]

    with ScriptedServer(answering=answering) as server:
        mage("run", *LAMPS, "--model", "m", "--base-url", server.url, "--prompts", "p", "--max-steps", 2)
        assert mage("run", "--session", "w.db#a", "--policy", "max_steps=none").status == 0
    assert [head.rstrip("\n") for head in heads] == ["Be a lamp.\n\nCall one."] * 2 + [
        "Judge it.",
        "Be a lamp.\n\nCall one.",
    ]
    with open_store("sqlite:///w.db") as store:
        notes = "".join([str(record) for record in store.read("a")])
    assert Prompt("", 0, "Judge it.").hash in notes


def test_a_folder_with_anything_else_is_refused() -> None:
    """No folder, an empty one, a name that is no prompt, a blank text, bytes that are no text: one line, and nothing is made."""
    folder = Path("p")
    run = ("run", *LAMPS, "--model", "m", "--base-url", "http://localhost:9/v1", "--prompts", "p")
    assert in_one_line(mage(*run), "p", "No such file")
    folder.mkdir()
    assert in_one_line(mage(*run), "there is no prompt in it", "mage prompts --into")
    for name, content, said in (
        ("judge.txt", b"x", "'judge' is no prompt; known are system, as-tools"),
        ("chapter.md", b"x", "'chapter.md' is no prompt"),
        ("chapter.txt", b" \n", "the prompt chapter is blank"),
        ("chapter.txt", b"\xff", "byte 0 is not"),
    ):
        file = folder / name
        file.write_bytes(content)
        assert in_one_line(mage(*run), said)
        file.unlink()
    assert in_one_line(mage("prompts", "judge"), "'judge' is no prompt")
    assert not Path("w.db").exists()


def test_prompts_are_one_value() -> None:
    """Equal texts are equal and have one hash, whatever their order; a text of ours replaces nothing."""
    one, other = Prompts({"system": "a", "chapter": "b"}), Prompts({"chapter": "b", "system": "a"})
    assert (one, hash(one)) == (other, hash(other))
    assert Prompts({name: prompt.text for name, prompt in REPLACEABLE.items()}) == Prompts()
    with pytest.raises(UnknownName):
        Prompts({"memory": "x"})
