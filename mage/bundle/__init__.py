"""Bundles: a session as one file, to be kept, sent and imported into any store; and what is left of a damaged one."""

from mage.bundle.bundles import (
    BUNDLE_FORMAT,
    Bundle,
    Bundled,
    decode_bundle,
    encode_bundle,
    is_bundle,
    names_for,
    pack,
    unpack,
)
from mage.bundle.salvaging import KeptBundle, was_bundle

__all__ = [
    "BUNDLE_FORMAT",
    "Bundle",
    "Bundled",
    "KeptBundle",
    "decode_bundle",
    "encode_bundle",
    "is_bundle",
    "names_for",
    "pack",
    "unpack",
    "was_bundle",
]
