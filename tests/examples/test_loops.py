"""The plain loops of `examples/`, by the providers' own clients, against a server that refuses what providers refuse."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from mage.engine import ApplyVerdict, Compress, Failed, Grow, Revise
from mage.session import Session
from tests.providers.server import ProviderServer
from tests.providers.story import DESK, END, LINEN, desk_shop

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"
WAYS: Final = [
    ("openai_chat", {}, {}),
    ("openai_chat", {"reasoning_effort": "high"}, {}),
    ("openai_chat", {}, {"mistral": True}),
    ("openai_responses", {}, {}),
    ("openai_responses", {"reasoning": {"effort": "high"}}, {"reasoning": True}),
    ("anthropic_messages", {}, {}),
    ("anthropic_messages", {"thinking": {"type": "adaptive"}}, {}),
    ("anthropic_messages", {"thinking": {"type": "enabled", "budget_tokens": 1024}}, {"bound": True}),
]
"""For each run: the example, what its model is asked for beside, such as to think, and the rules of the server."""


def loaded(name: str) -> ModuleType:
    """Return an example as Python runs it."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "more", "rules"), WAYS)
def test_a_plain_loop_plays_the_story(
    name: str, more: dict[str, Any], rules: dict[str, bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Grow, compress, failed verdict, gone back, finished, thinking or not; nothing is refused. Run again, it has its end."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    store = f"sqlite:///{tmp_path}/shop.db"
    with ProviderServer(desk_shop, **rules) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.anthropic_url)
        example = loaded(name)
        assert [example.main(store, **more), example.main(store, **more)] == [END, END]
    assert server.refused == []
    with Session.open(store, "shop") as session:
        commands = [entry.command for entry in session.history()]
        assert [summary.text for summary in session.state().compressed] == [DESK, LINEN]
    verdicts = [command.verdict for command in commands if isinstance(command, ApplyVerdict)]
    assert [isinstance(verdict, Failed) for verdict in verdicts] == [False, True, False]
    kinds = [type(command) for command in commands]
    assert [kinds.count(kind) for kind in (Grow, Compress)] == [3, 3]
    assert Revise in kinds


def test_a_plain_loop_is_short() -> None:
    """Each has at most 30 lines, empty ones not counted."""
    texts = {name: (EXAMPLES / f"{name}.py").read_text(encoding="utf-8") for name, _, _ in WAYS}
    sizes = {name: sum(bool(line.strip()) for line in text.splitlines()) for name, text in texts.items()}
    assert max(sizes.values()) <= 30, sizes
