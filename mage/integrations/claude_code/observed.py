"""What came back from a tool of the client, as the text of an observation."""

from __future__ import annotations

from typing import Final

from mage.codec.strict_json import canonical

_MEDIA: Final = ("image", "pdf", "document", "audio")


def observation_of(came: object) -> str:
    """Return what came back as text: a shell's output as it stands, parts as their texts, any other value as canonical JSON."""
    if isinstance(came, str):
        return came
    if came is None:
        return ""
    if isinstance(came, dict) and isinstance(came.get("stdout"), str):
        parts = [
            came["stdout"],
            came.get("stderr"),
            "(interrupted)" if came.get("interrupted") is True else "",
        ]
        return "\n".join([part for part in parts if isinstance(part, str) and part])
    found = _content_of(came)
    if not isinstance(found, list) or not any(isinstance(part, dict) and "type" in part for part in found):
        return canonical(came)
    from mage.chat.parts import content_of  # noqa: PLC0415  # slow to load, and most tools return no parts

    return content_of(found).text


def _content_of(came: object) -> object:
    """Return the content of a tool of MCP, or an image or a document as one; any other object has none."""
    if not isinstance(came, dict):
        return came
    inner = came.get("content")
    if isinstance(inner, list):
        return inner
    return [came] if came.get("type") in _MEDIA else None
