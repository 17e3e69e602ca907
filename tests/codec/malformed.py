"""Malformed files, by name, each with what its refusal must say: what is wrong, and where.

Each is a sound file with one fault, so that it is refused for that fault and no other. The 50 MB ones are
made when this is imported and stand in no file.
"""

from __future__ import annotations

from tests.codec.malformed_journals import MALFORMED_JOURNALS, SOUND_JOURNAL
from tests.codec.malformed_trees import MALFORMED_TREES, SOUND_TREE

__all__ = ["MALFORMED_JOURNALS", "MALFORMED_TREES", "SOUND_JOURNAL", "SOUND_TREE"]
