"""How much more time than its limit something may take, where the machine is not the one that the limits were set on."""

from __future__ import annotations

import os
from typing import Final

__all__ = ["SLACK"]

SLACK: Final = float(os.environ.get("MAGE_SLACK", "1"))
"""A factor of the limits on times, 1 unless the environment says otherwise; limits on sizes stay what they are."""
