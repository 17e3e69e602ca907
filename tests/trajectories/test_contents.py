"""What chats hold beside texts: sounds, images, refusals, and what the agent thought."""

from __future__ import annotations

import json
from typing import Any, Final

import attrs
import pytest

from mage.engine import Grow, Start
from mage.trajectories import Trajectory, load
from mage.trajectories.trajectory import Json, Steps
from tests.shared_data import SHARED, needs_shared
from tests.trajectories.samples import call, result

_IMAGE: Final[dict[str, Json]] = {
    "type": "image_url",
    "image_url": {"url": f"data:image/png;base64,{'QUJD' * 50}"},
}


def loaded(messages: Json, steps: Steps = "messages") -> Trajectory:
    """Return the one trajectory of a chat."""
    (found,) = load(json.dumps(messages).encode(), file="chat.json", steps=steps).unwrap()
    return found


def texts(found: Trajectory) -> str:
    """Return all texts of its commands."""
    return "\n".join([str(text) for command in found.commands for text in attrs.astuple(command)])


def kept(found: Trajectory, key: str) -> list[Any]:
    """Return what stands beside the commands under a key, in order."""
    return [meta[key] for meta in found.metas if key in meta]


@pytest.mark.parametrize("steps", ["messages", "tools"])
@pytest.mark.parametrize(
    "said",
    [
        {"content": None, "reasoning_content": "Which door?"},
        {"content": "", "reasoning": "Which door?"},
        {"content": None, "reasoning_details": [{"type": "reasoning.text", "text": "Which door?"}]},
        {"content": [{"type": "thinking", "thinking": "Which door?", "signature": "s"}]},
    ],
    ids=["reasoning_content", "reasoning", "reasoning_details", "a part"],
)
def test_what_the_agent_thought_stands_beside_its_step(said: dict[str, Json], steps: Steps) -> None:
    """Wherever its server has put it, and not in the step: nobody has acted by it."""
    message: Json = {"role": "assistant", **said, "tool_calls": [call("c", "open", '{"door":1}')]}
    found = loaded([{"role": "user", "content": "Go."}, message, result("c", "It creaks.")], steps)
    assert found.commands[1:] == (Grow('open {"door":1}', "It creaks."),)
    assert kept(found, "thought") == ["Which door?"]
    assert found.remarks == ()


def test_what_the_agent_said_beside_its_calls_stands_beside_their_first_step() -> None:
    """Where a step is a call, the words are no step; they are kept as those of a live agent are."""
    calls = [call("c", "open", "{}"), call("d", "close", "{}")]
    message: Json = {"role": "assistant", "content": "Both.", "tool_calls": calls}
    found = loaded([{"role": "user", "content": "Go."}, message, result("c", ""), result("d", "")], "tools")
    assert [meta.get("thought") for meta in found.metas] == [None, "Both.", None]


@pytest.mark.parametrize("place", ["task", "words", "result", "later"])
def test_an_image_is_a_mark_wherever_it_stands(place: str) -> None:
    """In the task, in what the agent says, in a result and in what somebody says; its bytes are in the meta."""
    contents: dict[str, Json] = dict.fromkeys(["task", "words", "result", "later"], "x")
    contents[place] = [{"type": "text", "text": "See:"}, _IMAGE]
    messages: list[Json] = [
        {"role": "user", "content": contents["task"]},
        {"role": "assistant", "content": contents["words"], "tool_calls": [call("c", "open", "{}")]},
        {"role": "tool", "tool_call_id": "c", "content": contents["result"]},
        {"role": "user", "content": contents["later"]},
    ]
    found = loaded(messages)
    assert "QUJD" not in texts(found)
    assert "See:\n[image/png, 150 bytes, sha256 " in texts(found)
    (parts,) = kept(found, "parts")
    assert list(parts.values()) == [_IMAGE]
    (remark,) = found.remarks
    assert "an image, a sound or a file" in str(remark)


def test_the_same_image_is_the_same_text() -> None:
    """However its part is spelled, so that runs that saw it merge."""
    source: Json = {"type": "base64", "media_type": "image/png", "data": "QUJD" * 50}
    parts: list[Json] = [_IMAGE, {"type": "image", "source": source}]
    one, other = [loaded([{"role": "user", "content": [part]}, {"role": "assistant"}]) for part in parts]
    assert one.commands[0] == other.commands[0]


# -- the developers' cases -------------------------------------------------------------------------------


def _cases() -> list[Any]:
    path = SHARED / "cases" / "chats.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else [{"what": ""}]


@needs_shared
@pytest.mark.parametrize("case", _cases(), ids=lambda case: case["what"])
def test_shared_chats(case: Any) -> None:
    """Each is read as its line says."""
    found = loaded(case["messages"])
    start, *steps = found.commands
    assert isinstance(start, Start)
    match case["what"]:
        case "a spoken answer":
            assert steps == [Grow("The code for the door is 4711.", "")]
        case "an image in the task":
            url = case["messages"][0]["content"][1]["image_url"]["url"]
            assert url.partition(",")[2][:40] not in texts(found)
            assert start.task.startswith("What is on it?\n[image/png, ")
            ((part,),) = [parts.values() for parts in kept(found, "parts")]
            assert part["image_url"]["url"] == url
        case "a refusal as a part":
            assert steps == [Grow("I cannot do that.", "")]
        case "reasoning beside an empty text":
            assert kept(found, "thought") == ["Book room 12."]
        case "a foreign last role":
            assert steps == [Grow("ls", "user:\na.py\n\nexit:\nSubmitted")]
        case _:
            raise AssertionError(f"nobody has looked at the case {case['what']!r}")
