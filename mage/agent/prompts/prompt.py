"""A prompt's fixed wording, with a name and a version; its hash is kept with what came of it."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import final

import attrs

__all__ = ["Prompt"]


@final
@attrs.frozen(slots=False)
class Prompt:
    """Words of ours that a model is given.

    Attributes:
        name: what they are for, such as `"judge-subgoal"`.
        version: rises whenever the wording changes; a test compares each with its hash.
        text: the wording.
    """

    name: str
    version: int
    text: str

    @cached_property
    def hash(self) -> str:
        """The first 12 hexadecimal digits of the SHA-256 of the wording, surrogates escaped."""
        return hashlib.sha256(self.text.encode(errors="backslashreplace")).hexdigest()[:12]
