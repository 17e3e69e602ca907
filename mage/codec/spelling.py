"""One spelling of JSON, and of a call as an action: equal calls are equal texts, wherever they come from (I2)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mage.effects import JsonValue


def canonical(value: object) -> str:
    """Return JSON with sorted keys and no spaces, and no escape that JSON does not need. Cost: O(size).

    Raises:
        ValueError: a number is not finite.
        TypeError: a value is not JSON.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def action_text(name: str, arguments: Mapping[str, JsonValue]) -> str:
    """Return the canonical action of a call. Equal arguments give equal text. Cost: O(size)."""
    return f"{name} {canonical(arguments)}"
