"""How a reply ended: the words of all servers for it, in one table.

A word that is not in the table means that the reply was cut: a part of a reply must not become a summary or an action.
So a server with a new word for a whole reply is noticed at its first reply, and a new word for a broken one does no
harm.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

Ending: TypeAlias = Literal["whole", "truncated", "refusal", "overflow"]
"""How a reply ended: whole; cut or broken off; refused by the model or a filter; at the end of the model's context."""

_NO_LETTER: Final = re.compile(r"[^a-z]+")
_FINISHES: Final[Mapping[Ending, str]] = {
    "whole": """
        stop  tool_calls  tool_call  tool_use  function_call  end_turn  stop_sequence  stop_string_found  stop_token
        eos  eos_token  eos_found  end_of_sequence  end_of_text  end  normal  complete  completed  finished""",
    "refusal": """
        refusal  refused  content_filter  content_filtered  content_moderation  sensitive  safety  spii  recitation
        blocklist  prohibited_content  guardrail_intervened  error_toxic  image_safety  image_recitation
        image_prohibited_content""",
    "overflow": """
        model_context_window_exceeded  context_window_exceeded  context_length_exceeded  context_length_reached
        model_length  error_limit""",
}


def _letters(word: str) -> str:
    """Return the letters of a word: servers differ in case and in what stands between the parts of a word."""
    return _NO_LETTER.sub("", word.casefold()).removeprefix("finishreason")


_BY_LETTERS: Final[Mapping[str, Ending]] = {
    _letters(word): finish for finish, words in _FINISHES.items() for word in words.split()
}


def is_cut(word: object) -> bool:
    """Tell whether a reply says that it is not whole. A host that writes one itself may leave the word out."""
    return word is not None and finish_of(str(word)) != "whole"


def finish_of(word: str | None) -> Ending:
    """Return how a reply ended, by its server's word for it; None where the server gave none. Any text."""
    return "truncated" if word is None else _BY_LETTERS.get(_letters(word[:100]), "truncated")
