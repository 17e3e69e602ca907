"""The MCP server in this process, by the SDK's client: its tools, their schemas, what is refused, pages, resources."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar, cast, final
from urllib.parse import quote

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from mage.chat import is_strict, misfit
from mage.effects import EffectError
from mage.engine import Failed, FoldRequest, JudgeRequest, Passed, Verdict
from mage.integrations.mcp import ANSWER, CYCLE, PAGE_LENGTH, TOOLS, state_server
from mage.session import Session
from mage.stores import Head, MemoryStore, Record
from tests.cli.runner import mage
from tests.integrations.mcp_clients import MODES, Hand, Said, here
from tests.providers.forms import check_functions

Answer = TypeVar("Answer")


def played(
    scene: Callable[[Hand], Awaitable[Answer]], store: MemoryStore | None = None, **how: Any
) -> Answer:
    """Return what comes of a scene with one client, in the session `shop`."""

    async def run() -> Answer:
        async with here(store or MemoryStore(), **how) as hand:
            return await scene(hand)

    return asyncio.run(run())


async def failing(hand: Hand, feedback: str = "Oak avoids chrome.", fault: str = "execution") -> Said:
    """Bring the session to a summary that has failed."""
    await hand.grow("buy[chrome chair]", "Bought for $129.")
    return await hand.judge((await hand.summarize("A chair."))["digest"], feedback, fault)


# -- what is offered -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_every_schema_is_strict(mode: str) -> None:
    """Arguments and results are objects that allow just what they require; OpenAI's rules for strict tools hold too."""

    async def listed(hand: Hand) -> list[Any]:
        return (await hand.client.list_tools()).tools

    tools = played(listed, mode=mode)
    assert [tool.name for tool in tools] == [tool.name for tool in TOOLS]
    assert [
        tool.name for tool in tools if not (is_strict(tool.input_schema) and is_strict(tool.output_schema))
    ] == []
    check_functions(
        [
            (tool.name, {"name": f"{tool.name}{end}", "parameters": schema, "strict": True})
            for tool in tools
            for end, schema in (("", tool.input_schema), ("-answer", tool.output_schema))
        ]
    )
    assert all(tool.input_schema["properties"]["session"]["type"] == "string" for tool in tools)


def test_the_tools_say_what_they_do_to_the_world() -> None:
    """Those that look change nothing; none destroys anything or reaches outside."""

    async def listed(hand: Hand) -> dict[str, Any]:
        return {tool.name: tool.annotations for tool in (await hand.client.list_tools()).tools}

    hints = played(listed)
    assert {name for name, hint in hints.items() if hint.read_only_hint} == {"look", "state", "history"}
    assert not any(hint.destructive_hint or hint.open_world_hint for hint in hints.values())


@pytest.mark.parametrize("mode", MODES)
def test_a_client_is_taught_the_cycle(mode: str) -> None:
    """As instructions and as a prompt, which names session and task; every tool is in it but those that need no word."""

    async def taught(hand: Hand) -> tuple[str | None, list[str], str, str]:
        [prompt] = (await hand.client.list_prompts()).prompts
        said = [
            (await hand.client.get_prompt(prompt.name, given)).messages[0].content
            for given in ({"session": "a", "task": "Buy a desk."}, {"session": "a"})
        ]
        names = [argument.name for argument in prompt.arguments or ()]
        return hand.client.instructions, names, getattr(said[0], "text", ""), getattr(said[1], "text", "")

    instructions, names, begun, resumed = played(taught, mode=mode)
    assert instructions == CYCLE
    assert names == ["session", "task"]
    assert CYCLE in begun
    assert "Buy a desk." in begun
    assert "Begin with state" in resumed
    assert [tool.name for tool in TOOLS if tool.name not in CYCLE] == []


def test_resources_are_the_state_and_the_tree() -> None:
    """Each session has both, whatever its name; they are listed some at a time; what is none is refused."""
    odd = "a/b #1 %20"

    async def read(hand: Hand) -> tuple[list[str], list[str], int]:
        for number in range(60):
            await hand("start", session=f"s{number:02}", task="Count.")
        await hand("start", session=odd, task="An odd name.")
        uris: list[str] = []
        pages, cursor = 0, None
        while pages == 0 or cursor:
            found = await hand.client.list_resources(cursor=cursor)
            uris += [each.uri for each in found.resources]
            pages, cursor = pages + 1, found.next_cursor
        templates = (await hand.client.list_resource_templates()).resource_templates
        mine = [each.uri_template.replace("{session}", quote(odd, safe="")) for each in templates]
        assert set(mine) <= set(uris)
        texts = [getattr((await hand.client.read_resource(uri)).contents[0], "text", "") for uri in mine]
        for wrong in ("mage://session/nobody/state", f"{mine[0]}/x", "file:///etc/passwd"):
            with pytest.raises(MCPError):
                await hand.client.read_resource(wrong)
        return uris, texts, pages

    uris, texts, pages = played(read)
    assert len(uris) == len(set(uris)) == 2 * 62
    assert pages == 2
    assert texts[0].startswith("Task: An odd name.")
    assert "task: An odd name." in texts[1]


# -- refusals are words --------------------------------------------------------------------------------


def test_a_refusal_is_words_and_changes_nothing() -> None:
    """Each says what to do, and leaves the session at its version."""

    async def refused(hand: Hand) -> list[tuple[Said, str]]:
        failed = await failing(hand)
        version = failed["version"]
        found = [
            (await hand.grow("buy[lamp]"), "revise to 0 with a lesson"),
            (await hand("revise", step=7, lesson="x", version=version), "these are: [Step 0]"),
            (await hand("revise", step="0", lesson="x", version=version), "'0' is not of type 'integer'"),
            (await hand("revise", step=0, lesson="x", version=1), "you decided on version 1"),
            (await hand("compress", text=" ", version=version), "say what the steps achieved"),
            (await hand("compress", text="x", version=version, more=1), "'more' was unexpected"),
            (await hand.judge("0" * 64), "nothing waits for a verdict"),
            (await hand("look", step=3, boundary=None, page=0), "these are: [Step 0..1]"),
            (await hand("look", step=0, boundary=None, page=99_999), "there is no page 99999"),
            (await hand("state", page=-1), "there is no page -1"),
            (await hand("history", page=99), "there is no page 99"),
            (await hand("state", session="nobody", page=0), "Begin it by start"),
            (await hand("start", task="Another."), "another task"),
            (await hand("fork", new="shop", version=1), "shop"),
            (await hand("fork", new="new", version=99), "no version 99"),
            (await hand("start", session="", task="x"), "it is empty"),
        ]
        assert (await hand("state", page=0))["version"] == version
        return found

    for said, expected in played(refused):
        assert said.is_refused, said
        assert expected in said.words
        assert said.words.startswith("Not done: ")


def test_what_was_done_lands_where_the_phase_allows() -> None:
    """On what waits for its verdict a step is recorded as ever; on what has failed it is once that is settled."""

    async def recorded(hand: Hand) -> tuple[Said, Said, Said]:
        await hand.grow("a")
        pending = await hand.summarize("A.")
        behind = await hand.grow("b")
        await hand.judge(pending["digest"], "No.")
        barred = await hand.grow("c")
        await hand.go_back(0, "Not so.")
        return behind, barred, await hand.grow("c")

    behind, barred, after = played(recorded)
    assert (behind.is_refused, behind["phase"]) == (False, "Unverified")
    assert (barred.is_refused, barred["phase"]) == (True, "Rejected")
    assert (after.is_refused, after["phase"]) == (False, "Active")


@final
class Overtaking:
    """A store in which, once armed, somebody else grows right before the next append."""

    def __init__(self) -> None:
        self._inner = MemoryStore()
        self.is_armed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def append(self, name: str, expected: Head, records: Iterable[Record]) -> Head:
        if self.is_armed:
            self.is_armed = False
            with Session.open(self._inner, name) as other:
                other.grow("theirs", "")
        return self._inner.append(name, expected, records)


def test_somebody_else_is_faster_by_a_hair() -> None:
    """Between the look at the head and the write: what was done lands behind theirs, what was decided on is told."""
    store = Overtaking()

    async def overtaken(hand: Hand) -> tuple[Said, Said, Said]:
        store.is_armed = True
        grown = await hand.grow("ours")
        store.is_armed = True
        compressed = await hand("compress", text="Ours.", version=grown["version"])
        return grown, compressed, await hand("state", page=0)

    grown, compressed, state = played(overtaken, cast("MemoryStore", store))
    assert (grown.is_refused, grown["told"]) == (False, "This is step 2.")
    assert compressed.is_refused
    assert "somebody else has written meanwhile" in compressed.words
    assert [line for line in state["text"].splitlines() if line.startswith("Action")] == [
        "Action: theirs",
        "Action: ours",
        "Action: theirs",
    ]


def test_walking_back_into_what_was_left_is_told() -> None:
    """The same action with the same result from the same place is the same step (D10)."""

    async def back(hand: Hand) -> Said:
        await hand.grow("a")
        await hand.go_back(0, "Not a.")
        return await hand.grow("a")

    assert "on a way that was left before" in played(back)["told"]


def test_calls_of_one_reply_do_not_overtake_each_other() -> None:
    """A compress that comes beside a grow was decided on before it: it is refused whichever comes first, or is right."""

    async def beside(hand: Hand) -> tuple[Said, Said]:
        version = (await hand.grow("a"))["version"]
        grown, compressed = await asyncio.gather(hand.grow("b"), hand("compress", text="A.", version=version))
        assert not grown.is_refused
        return compressed, await hand("history", page=0)

    compressed, history = played(beside)
    order = [line.split()[1].partition("(")[0] for line in reversed(history["text"].splitlines())]
    expected = ["Start", "Grow", "Grow"] if compressed.is_refused else ["Start", "Grow", "Compress", "Grow"]
    assert order == expected


def test_a_text_is_written_anew_by_compress() -> None:
    """What waits for its verdict, or has failed, gets the new text, and is judged on it; behind new steps it is not."""

    async def anew(hand: Hand) -> tuple[Said, Said, Said]:
        failed = await failing(hand, "It was not oak.", "summary")
        again = await hand("compress", text="A chrome chair.", version=failed["version"])
        better = await hand("compress", text="A chrome chair, $129.", version=again["version"])
        assert (await hand.judge(again["digest"])).is_refused
        grown = await hand.grow("look")
        return better, await hand("compress", text="Looked.", version=grown["version"]), grown

    better, refused, grown = played(anew)
    assert "Summary to judge: A chrome chair, $129." in better["text"]
    assert refused.is_refused
    assert "an earlier summary comes first" in refused.words
    assert refused["version"] == grown["version"]


def test_a_failed_verdict_says_whose_fault_it_is() -> None:
    """Without it, or without a word of what is wrong, it is refused; a pass needs neither. The reasoning is kept."""
    store = MemoryStore()

    async def judged(hand: Hand) -> list[Said]:
        await hand.grow("a")
        digest = (await hand.summarize("A."))["digest"]
        given = {"digest": digest, "reasoning": "I looked.", "passed": False, "boundary": None}
        return [
            await hand("verdict", fault="none", feedback="No.", **given),
            await hand("verdict", fault="summary", feedback=" ", **given),
            await hand("verdict", fault="both", feedback="No.", **given),
            await hand("verdict", fault="none", feedback="", **{**given, "passed": True}),
        ]

    assert [said.is_refused for said in played(judged, store)] == [True, True, True, False]
    with Session.open(store, "shop") as session:
        assert session.history()[-1].meta["reasoning"] == "I looked."


def test_a_fallback_that_another_host_made_is_judged_here() -> None:
    """Of a fallback only the text is asked about, so that is what is at fault, whatever is said."""
    store = MemoryStore()

    async def judged(hand: Hand) -> Said:
        await hand.grow("a")
        with Session.open(store, "shop") as session:
            session.compress("So far.", kind="fallback")
        pending = await hand("look", step=0, boundary=None, page=0)
        assert "You check an interim account" in pending["text"]
        return await hand.judge(pending["digest"], "No.", "execution")

    assert played(judged, store)["phase"] == "Rejected"
    with Session.open(store, "shop") as session:
        assert session.tree.head_summary.verdict == Failed("No.", "summary")


def test_no_tool_is_made_up() -> None:
    """A tool or a prompt that there is not is an error of the protocol."""

    async def called(hand: Hand) -> None:
        with pytest.raises(MCPError):
            await hand("accept")
        with pytest.raises(MCPError):
            await hand.client.get_prompt("cycles", {"session": "a"})

    played(called)


# -- a judge -------------------------------------------------------------------------------------------


def judging(
    *verdicts: Verdict | Exception,
) -> Callable[[JudgeRequest | FoldRequest], Coroutine[Any, Any, Verdict]]:
    """Return a judge that answers so, in order."""
    left = iter(verdicts)

    async def judge(_: JudgeRequest | FoldRequest) -> Verdict:
        verdict = next(left)
        if isinstance(verdict, Exception):
            raise verdict
        return verdict

    return judge


def test_a_judge_is_asked_by_compress() -> None:
    """Its verdict is in the answer; where it gives none, the client's own model is asked, and nothing is lost."""
    down = EffectError("timeout", "nobody answered")

    async def judged(hand: Hand) -> list[Said]:
        await hand.grow("a")
        passed = await hand.summarize("A.")
        await hand.grow("b")
        unanswered = await hand.summarize("B.")
        asked_again = await hand.summarize("B.")
        return [passed, unanswered, asked_again]

    judge = judging(Passed(), down, Failed("It was c."))
    passed, unanswered, failed = played(judged, judge=judge)
    assert [said["phase"] for said in (passed, unanswered, failed)] == ["Active", "Unverified", "Rejected"]
    assert "nobody answered" in unanswered.words
    assert "Summary to judge: B." in unanswered["text"]
    assert "It was c." in failed.words


def test_a_judge_keeps_nobody_waiting() -> None:
    """While it thinks others grow, and read; its verdict lands behind that; where its summary was left, that is said."""

    async def raced(hand: Hand, begun: asyncio.Event, go_on: asyncio.Event) -> tuple[Said, Said]:
        await hand.grow("a")
        version = (await hand("state", page=0))["version"]
        first = asyncio.ensure_future(hand("compress", text="A.", version=version))
        await begun.wait()
        await hand.grow("b")
        go_on.set()
        landed = await first
        begun.clear()
        go_on.clear()
        version = landed["version"]
        second = asyncio.ensure_future(hand("compress", text="B.", version=version))
        await begun.wait()
        await hand.judge((await hand("state", page=0))["digest"], "It was c.")
        go_on.set()
        return landed, await second

    async def run() -> tuple[Said, Said]:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def judge(_: JudgeRequest | FoldRequest) -> Verdict:
            begun.set()
            await go_on.wait()
            return Passed()

        async with here(MemoryStore(), judge) as hand:
            return await raced(hand, begun, go_on)

    landed, overtaken = asyncio.run(run())
    assert (landed["phase"], landed["version"]) == ("Active", 5)
    assert (overtaken.is_refused, overtaken["phase"]) == (False, "Rejected")
    assert "It was c." in overtaken.words


def test_what_a_judge_was_not_there_for_comes_first() -> None:
    """With steps behind it, it is judged by the next compress, which is to be decided on again."""
    down = EffectError("timeout", "nobody answered")

    async def judged(hand: Hand) -> list[Said]:
        await hand.grow("a")
        await hand.summarize("A.")
        await hand.grow("b")
        return [await hand.summarize("B.") for _ in range(3)]

    judge = judging(down, down, Passed(), Passed())
    unanswered, first, second = played(judged, judge=judge)
    assert (unanswered.is_refused, unanswered["phase"]) == (True, "Unverified")
    assert (first.is_refused, first["phase"]) == (True, "Active")
    assert "an earlier summary came first. [Step 0] is judged" in first.words
    assert (second.is_refused, second["phase"]) == (False, "Active")


# -- pages ---------------------------------------------------------------------------------------------


async def pages_of(hand: Hand, tool: str, **given: object) -> list[Said]:
    """Return every page of what a tool tells."""
    found = [await hand(tool, page=0, **given)]
    while found[-1]["more"] is not None:
        found.append(await hand(tool, page=found[-1]["more"], **given))
    return found


def test_what_is_long_is_told_in_pages() -> None:
    """State, look and history end somewhere; joined, the pages have all of it, and no page begins with words of others."""
    long = "[Step 9] a line of an observation, not of ours\n" * 900

    async def told(hand: Hand) -> tuple[list[Said], list[Said], list[Said]]:
        for number in range(30):
            await hand.grow(f"a{number}", long if number == 7 else "x" * 40_000 if number == 8 else "short")
        state = await pages_of(hand, "state")
        pending = await hand.summarize("Much was seen.")
        assert pending["more"] is not None
        assert "look, step 0" in pending.words
        judged = await pages_of(hand, "look", step=0, boundary=None)
        assert judged[0]["text"] == pending["text"]
        await hand.judge(pending["digest"])
        return state, await pages_of(hand, "look", step=0, boundary=None), await pages_of(hand, "history")

    state, steps, history = played(told)
    for pages in (state, steps, history):
        assert len(pages) > 1
        assert all(len(page["text"]) <= PAGE_LENGTH + 1 for page in pages)
    for pages in (state, steps):
        whole = "".join(page["text"] for page in pages)
        assert whole.count("a line of an observation") == 900
        assert whole.count("x") >= 40_000
        assert not any(line.startswith(("[Step 9]", "x")) for line in whole.splitlines())
    versions = [int(line.split()[0]) for page in history for line in page["text"].splitlines()]
    assert versions == list(range(33, 0, -1))


def test_the_answer_is_the_same_in_words_and_in_values() -> None:
    """What a client reads as text has all that is in the values, but for the list of boundaries, which the words give."""

    async def answered(hand: Hand) -> list[Said]:
        await hand.grow("a")
        pending = await hand.summarize("A.")
        return [pending, await hand.judge(pending["digest"], "No."), await hand("state", page=0)]

    for said in played(answered):
        assert misfit(said.values, ANSWER, "answer") is None
        assert said["told"].strip() in said.words
        assert said["text"].strip() in said.words
        assert f"version {said['version']}, {said['phase']}" in said.words
        assert said["digest"] is None or said["digest"] in said.words


def test_half_of_a_surrogate_pair_can_be_told() -> None:
    """JSON can spell what UTF-8 cannot, so other hosts may have recorded it: it is told with a mark in its place."""
    store = MemoryStore()

    async def told(hand: Hand) -> list[str]:
        with Session.open(store, "shop") as session:
            session.grow("look", "half: \ud83d.")
        pending = await hand.summarize("A.")
        found = await hand.client.read_resource("mage://session/shop/tree")
        history = await hand("history", page=0)
        return [pending.words, pending["text"], history.words, getattr(found.contents[0], "text", "")]

    for text in played(told, store):
        assert b"half: " in text.encode()


# -- sessions ------------------------------------------------------------------------------------------


def test_many_sessions_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than are held open: each is as it was left."""
    monkeypatch.setattr("mage.integrations.mcp._MOST", 3)

    async def many(hand: Hand) -> list[int]:
        for number in range(9):
            await hand("start", session=f"s{number}", task="Count.")
        await asyncio.gather(
            *[hand("grow", session=f"s{each % 9}", action=f"{each}", observation="") for each in range(45)]
        )
        return [(await hand("state", session=f"s{number}", page=0))["version"] for number in range(9)]

    assert played(many) == [6] * 9


def test_a_session_that_was_deleted_is_told() -> None:
    """And can be begun anew."""
    store = MemoryStore()

    async def deleted(hand: Hand) -> tuple[Said, Said]:
        await hand.grow("a")
        store.delete("shop")
        return await hand.grow("b"), await hand("start", task="Anew.")

    gone, anew = played(deleted, store)
    assert gone.is_refused
    assert "Begin it by start" in gone.words
    assert (anew.is_refused, anew["version"]) == (False, 1)


def test_what_is_no_session_is_not_listed() -> None:
    """A store may hold journals that are none."""
    store = MemoryStore()

    async def listed() -> list[str]:
        async with Client(state_server(store, hidden={"looks"})) as client:
            for name in ("looks", "shop"):
                await Hand(client, name)("start", task="Count.")
            return [each.uri for each in (await client.list_resources()).resources]

    assert asyncio.run(listed()) == ["mage://session/shop/state", "mage://session/shop/tree"]


# -- the command ---------------------------------------------------------------------------------------


def test_without_the_extra_the_command_says_what_to_install() -> None:
    """In one line; and importing mage does not load it."""
    code = "import sys; sys.modules['mcp'] = None; sys.argv = ['mage', 'mcp', 'x.db']; from mage.__main__ import main; main()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr == "mage: mage.integrations.mcp needs its extra: pip install 'mage-state[mcp]'\n"
    loaded = subprocess.run(
        [sys.executable, "-c", "import mage, mage.integrations, sys; print('mcp' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout == "False\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--http", "0", "--host", "0.0.0.0"], "MAGE_MCP_TOKEN"),
        (["--http", "0", "--host", "203.0.113.9"], "MAGE_MCP_TOKEN"),
        (["--judge", "m"], "without --judge the client's own model judges"),
    ],
)
def test_what_cannot_be_served_is_refused(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Elsewhere than on loopback without a token, and a judge without a key: in one line, before a store is made."""
    monkeypatch.chdir(tmp_path)
    for name in ("MAGE_MCP_TOKEN", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    ran = mage("mcp", "work.db", *arguments)
    assert ran.status == 1
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
