"""Versioned JSON for journals (JSON Lines) and trees (one object): what mage keeps on disk.

Decoding is strict and total: any bytes give a value or a `DecodeError` that says where, never an exception.
Nothing is imported or run by name, no class is restored that the format does not list.
"""

from mage.codec.commands import decode_command, decode_journal, encode_command, encode_journal
from mage.codec.strict_json import DecodeError
from mage.codec.trees import decode_tree, encode_tree

__all__ = [
    "DecodeError",
    "decode_command",
    "decode_journal",
    "decode_tree",
    "encode_command",
    "encode_journal",
    "encode_tree",
]
