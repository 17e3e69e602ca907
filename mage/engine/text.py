"""What a string is once the tree keeps it, and how a digest spells it.

Any Python string is content: empty, NUL, lone surrogates, 100 MB. Only surrogate *pairs* are joined on
entry, because every JSON reader joins them later and two ways to spell one character would shift every id
after a reload (D15).
"""

from __future__ import annotations

from mage.engine.errors import NotText

_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_CONTROLS = tuple((chr(code), _SHORT.get(chr(code), f"\\u{code:04x}")) for code in range(0x20))


def as_text(text: str) -> str:
    """Return `text` with its surrogate pairs joined (D15).

    Cost: O(1) for ASCII, else O(length).

    Raises:
        NotText: `text` is not a string.
    """
    if type(text) is str and text.isascii():
        return text
    return _joined(text)


def _joined(text: str) -> str:
    if not isinstance(text, str):
        raise NotText(type(text).__name__)
    plain = str.__str__(text)  # a subclass could compare or hash as it likes
    try:
        plain.encode()
    except UnicodeEncodeError:
        return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return plain


def is_blank(text: str) -> bool:
    """Tell whether nothing is left of `text` by `str.strip` (D3)."""
    return not text.strip()


def quoted(text: str) -> str:
    """Spell `text` as canonical JSON does: UTF-8 as it is, what must be escaped escaped, in lower case.

    Lone surrogates are left for the encoder (`errors="backslashreplace"` writes the escape JSON wants).
    Cost: O(length).
    """
    if "\\" in text or '"' in text:
        text = text.replace("\\", "\\\\").replace('"', '\\"')
    if not text.isprintable():
        for control, escape in _CONTROLS:
            if control in text:  # asking is far cheaper than a replace that finds nothing
                text = text.replace(control, escape)
    return f'"{text}"'
