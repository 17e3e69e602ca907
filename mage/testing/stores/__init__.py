"""The promises of every store of journals, as functions that test yours: `PROMISES`.

Each takes a `Kit`, which opens your store, empty at first, and raises AssertionError where
the store does not keep the promise. No test framework is needed; with pytest:

    import pytest
    from mage.testing.stores import PROMISES, Kit, Promise

    @pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
    def test_my_store_keeps_its_promises(promise: Promise, tmp_path: Path) -> None:
        promise(Kit(lambda: MyStore(tmp_path / "journals")))

`hammer` lets as many processes as you like append to one journal at once.
"""

from typing import Final

from mage.testing.stores import kit, promises
from mage.testing.stores.kit import (
    Kit,
    Promise,
    Url,
    Written,
    chain,
    expect,
    expect_equal,
    expect_raised,
    following,
    hammer,
    kit_for,
    promises_in,
    recorded,
    salts,
    state_of,
    write_many,
)

__all__ = [
    "PROMISES",
    "Kit",
    "Promise",
    "Url",
    "Written",
    "chain",
    "expect",
    "expect_equal",
    "expect_raised",
    "following",
    "hammer",
    "kit_for",
    "recorded",
    "salts",
    "state_of",
    "write_many",
]

PROMISES: Final[tuple[Promise, ...]] = (*promises_in(promises), *promises_in(kit))
"""Every promise of `mage.stores.protocol`."""
