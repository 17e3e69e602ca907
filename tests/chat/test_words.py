"""The fixed words and the tools of a model say what its policy lets it do, and nothing else."""

from __future__ import annotations

from typing import Final

import pytest

from mage.chat import MODES, Mode, canonical, memory_words, offered, system_prompt
from mage.chat.words import MEMORY, SYSTEM
from mage.effects import Rules, Tool

LOOK: Final = Tool.of("look", "Look around.")


def _all(mode: Mode, rules: Rules) -> str:
    """Return words and tools of a model, in one text in small letters."""
    tools = [canonical([tool.name, tool.description, dict(tool.parameters)]) for tool in offered((), rules)]
    return "\n".join([system_prompt(mode, rules=rules).text, memory_words(rules), *tools]).casefold()


@pytest.mark.parametrize("words", [SYSTEM.text, MEMORY.text])
def test_a_model_is_told_when_to_compress_and_what_a_text_holds(words: str) -> None:
    """At the end of a subgoal and before the next, at a new instruction, not in a search; and what must not be lost."""
    for said in (
        "as soon as a subgoal is finished or a decision is final, before the next is begun",
        "when a new instruction has come while steps are open",
        "not in the middle of a search",
        "exact names, ids and numbers",
        "what was decided and ruled out, and why",
        "what is left of a budget or open",
        "Where their room ends first, an interim account is made in your place.",
    ):
        assert said in words


@pytest.mark.parametrize("words", [SYSTEM.text, MEMORY.text])
def test_a_model_is_told_how_to_go_back_and_what_then_counts(words: str) -> None:
    """How far, for what not, what is kept; what holds of what was undone, and how long a lesson is shown."""
    for said in (
        "Take the largest N before the mistake",
        "not for a search that found nothing",
        "Only your lesson is kept",
        "Nothing of it holds now, but what was found there may be relied on",
        "A lesson is shown until its subgoal is compressed",
    ):
        assert said in words


@pytest.mark.parametrize("mode", MODES)
def test_an_ablation_is_named_neither_in_words_nor_in_tools(mode: Mode) -> None:
    """Without Revise no word of it, nor of hints; without Compress no word of room; without a judge none of one."""
    everything = _all(mode, Rules())
    for rules, gone in (
        (Rules(revises=False), ("revise", "[step n] and all after", "hints:", "lesson", "undone")),
        (Rules(fills=False), ("room", "interim")),
        (Rules(compresses=False, fills=False), ("room", "interim", "chapter", "look:", "replaces the open")),
        (Rules(judges=False), ("a judge checks",)),
    ):
        words = _all(mode, rules)
        for word in gone:
            assert word in everything
            assert word not in words, word


def test_a_tool_of_the_environment_is_not_described_in_our_words() -> None:
    """Where it has a `look` of its own, ours has given way to it, and so have its words; in plain text ours stays."""
    assert "look: you need" not in system_prompt("tools", tools=(LOOK,)).text
    assert "look: you need" in system_prompt("text", tools=(LOOK,)).text
    assert "look: you need" not in memory_words(Rules(), ["look"])
