"""Prompts: versioned wording, and chats in which nothing in content can pass for words of ours."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage.chat import (
    ALL_PROMPTS,
    MODES,
    Assistant,
    ChatMessage,
    Mode,
    Prompt,
    System,
    ToolResult,
    User,
    decide_messages,
    judge_messages,
    parse_action,
    summary_messages,
    summary_prompt,
    system_prompt,
)
from mage.chat.messages import merged
from mage.chat.words import JUDGE_FALLBACK, JUDGE_SUBGOAL
from mage.effects import ChapterRequest, Decide, FoldRequest, JudgeRequest, Notice, SummaryRequest, Tool
from mage.engine import (
    Accept,
    Chapter,
    Command,
    Compress,
    Digest,
    Earlier,
    Grow,
    Hints,
    Passed,
    Start,
    Step,
    StepId,
    SummaryId,
    replay,
    view,
)
from mage.render import DEFAULT_CAPS, render_body, render_hints
from tests.llm.requests import DECIDE
from tests.render.states import execution_states, hostile_texts, visited, walks

HASHES: Final = {
    "system": (8, "00e9bb61bff9"),
    "memory": (8, "503aca60fb66"),
    "as-tools": (1, "e3eb8bf5d28f"),
    "as-text": (3, "e76813e42da4"),
    "as-json": (1, "9ac351ea5719"),
    "judge-subgoal": (9, "4cc251355392"),
    "judge-fallback": (8, "2bd3dbd35a1d"),
    "judge-chapter": (1, "9d05906dcd4f"),
    "summarize-subgoal": (2, "418244cb2803"),
    "summarize-fallback": (4, "4f3998f8e4f2"),
    "summarize-again": (2, "9292ff373a10"),
    "chapter": (1, "f6b31e750b28"),
}
OURS: Final = (
    "Task: ", "Instruction: ", "[Step ", "Status: ", "open since [Step ", "Action: ", "Observation: ", "Hints: ",
    "Tried action: ", "Tried observation: ", "Tried subgoal [Step ", "Lesson: ", "Lesson [Step ", "[... ", "Notice: ",
    "You may revise to: ", "You may revise to any [Step N] that ", "Nothing is open: ", "Open: ", "Now: ", "Compress first: ", "The room is nearly used: ", "Your turn.", "Earlier part [Step ",
    "Summary to judge: ", "Rejected text: ", "Verdict: ", "At most ", "Your last reply could not be used: ",
    "Its subgoal is not over.", "Write the text.", "Looked into [Step ", "Finished before:", "Done since [Step ",
    "Tried and undone:", "If there is a mistake, it may have begun at: ", "Chapter to judge: ", "Found in none of the above: ",
)  # fmt: skip
SEARCH: Final = Tool.of("search", "Search.", query={"type": "string"})
modes = st.sampled_from(MODES)
notices = st.lists(st.builds(Notice, st.sampled_from(["refused", "environment"]), hostile_texts), max_size=2)
decides = st.builds(
    Decide,
    execution_states,
    st.lists(st.integers(0, 99).map(StepId), max_size=3).map(tuple),
    notices.map(tuple),
    st.booleans(),
    st.none() | st.integers(-9, 9),
    current=hostile_texts,
    nudge=st.sampled_from(["instruction", "room", ""]),
)
steps = st.lists(
    st.builds(Step, st.just(StepId(1)), st.just(StepId(0)), hostile_texts, hostile_texts), max_size=3
)
earlier = st.lists(
    st.builds(Earlier, st.just(StepId(0)), st.just(StepId(1)), hostile_texts, st.just(Passed())), max_size=2
).map(tuple)
lines = execution_states.map(lambda shown: shown.compressed)
boundaries = st.lists(st.integers(0, 99).map(StepId), max_size=40, unique=True).map(sorted).map(tuple)
instructions = st.lists(hostile_texts, max_size=2).map(tuple)
kinds = st.sampled_from(["subgoal", "fallback"])
judge_requests = st.builds(
    JudgeRequest,
    hostile_texts,
    instructions,
    kinds,
    lines,
    execution_states.map(lambda shown: shown.hints),
    earlier,
    steps.map(tuple),
    hostile_texts,
    boundaries,
    st.just(Digest("0")),
)
fold_requests = st.builds(
    FoldRequest, hostile_texts, instructions, lines, hostile_texts, st.just(Digest("0"))
)
chapter_requests = st.builds(
    ChapterRequest,
    hostile_texts,
    instructions,
    lines,
    st.none() | st.just(300),
    st.none() | hostile_texts,
    hostile_texts,
)
summary_requests = st.builds(
    SummaryRequest,
    hostile_texts,
    instructions,
    kinds,
    earlier,
    steps.map(tuple),
    st.none() | st.just(300),
    st.none() | hostile_texts,
    hostile_texts,
)


def _chat(request: Decide, mode: Mode, *tools: Tool) -> tuple[ChatMessage, ...]:
    return decide_messages(request, system=system_prompt(mode, tools=tools), mode=mode, tools=tools)


def _shown(chat: tuple[ChatMessage, ...]) -> list[str]:
    return [message.text for message in chat if isinstance(message, User | ToolResult)]


def _check_margin(texts: list[str]) -> None:
    for text in texts:
        assert text.endswith("\n")
        for line in text.splitlines():
            assert line.startswith((" ", *OURS)), line


def test_a_change_of_wording_is_a_new_version() -> None:
    """Every prompt's hash is the one that was noted for its version. Change both, and raise the version."""
    assert {prompt.name: (prompt.version, prompt.hash) for prompt in ALL_PROMPTS} == HASHES


def test_a_hash_follows_from_the_wording_alone() -> None:
    """The same words have the same hash under any name; one letter makes another; surrogates have one too."""
    assert Prompt("a", 1, "x").hash == Prompt("b", 2, "x").hash != Prompt("a", 1, "y").hash
    assert len(Prompt("a", 1, "\ud800").hash) == 12


@given(decides, modes)
def test_only_words_of_ours_stand_at_the_margin_of_a_decision(request: Decide, mode: Mode) -> None:
    """Nothing that a task, a step, a notice or a lesson contains begins a line, in any mode."""
    _check_margin(_shown(_chat(request, mode)))


@given(judge_requests | fold_requests, hostile_texts)
def test_only_words_of_ours_stand_at_the_margin_for_a_judge(
    request: JudgeRequest | FoldRequest, told: str
) -> None:
    """Nor what is judged, what came before it, and what was tried beside it."""
    _check_margin(
        [
            re.sub(r"(?m)^Action [0-9]+: ", "Action: ", text)
            for text in _shown(judge_messages(request, told=told))
        ]
    )


@given(summary_requests | chapter_requests, hostile_texts)
def test_only_words_of_ours_stand_at_the_margin_for_a_summarizer(
    request: SummaryRequest | ChapterRequest, told: str
) -> None:
    """Nor what is summarized, the rejected text and the judge's words included."""
    _check_margin(_shown(summary_messages(request, told=told)))


@given(decides)
def test_a_decision_shows_all_of_the_state(request: Decide) -> None:
    """In plain text, what the user's messages and the actions say is S as rendered, then what is said once."""
    chat = _chat(request, "text")
    shown = "".join(
        message.text if isinstance(message, User) else f"\x00{message.text}\x00"
        for message in chat
        if not isinstance(message, System)
    )
    body = render_body(request.shown)
    for step in request.shown.raw:
        assert f"\x00Action[{step.action}]\x00" in shown
    assert body.split("Action: ")[0] in shown
    assert render_hints(request.shown, caps=DEFAULT_CAPS) in shown
    assert shown.endswith("Your turn.\n")


@given(decides, modes)
def test_user_and_assistant_alternate(request: Decide, mode: Mode) -> None:
    """No two neighbours are from the same side, which some chat templates insist on; the last is the user's."""
    chat = _chat(request, mode)
    assert isinstance(chat[0], System)
    assert isinstance(chat[-1], User)
    sides = [type(message) for message in chat]
    assert all(left is not right for left, right in pairwise(sides))


def test_neighbours_from_the_user_are_joined_and_empty_ones_left_out() -> None:
    """Whatever stands between and after them stays where it is."""
    done = Assistant("a")
    chat: list[ChatMessage] = [User("1\n"), User(""), User("2\n"), done, User(""), done, User("3\n")]
    assert list(merged(chat)) == [User("1\n2\n"), done, done, User("3\n")]
    assert list(merged([done])) == [done]


@given(walks, modes)
def test_a_grow_keeps_the_prefix(walk: list[Any], mode: Mode) -> None:
    """All messages but the last are the first ones of the next prompt, and its last begins as they end."""
    states = list(visited("task", walk))
    for before, after in pairwise(states):
        if after.tree.next_step > before.tree.next_step:
            old = _chat(Decide(view(before), ()), mode)
            new = _chat(Decide(view(after), ()), mode)
            if view(after).instructions == view(before).instructions:
                assert new[: len(old) - 1] == old[:-1]


def _decide(*actions: str, **more: Any) -> Decide:
    commands: list[Command] = [Start("t"), *[Grow(action, "seen") for action in actions]]
    return Decide(view(replay(commands).unwrap()), (StepId(0), StepId(7)), **more)


def test_a_step_is_shown_as_the_model_is_to_reply() -> None:
    """A call of a known tool is a call again; an action from elsewhere is shown as done by `act`."""
    action = 'search {"query":"x"}'
    for tools, expected in (
        ((SEARCH,), ("search", '{"query":"x"}')),
        ((), ("act", '{"action":"search {\\"query\\":\\"x\\"}"}')),
    ):
        shown = _chat(_decide(action), "tools", *tools)[2]
        assert isinstance(shown, Assistant)
        assert shown.call is not None
        assert (shown.call.name, shown.call.arguments, shown.call.id) == (*expected, "s00000001")
    for odd in ("look around", "fly {}", "search {"):
        shown = _chat(_decide(odd), "tools", SEARCH)[2]
        assert isinstance(shown, Assistant)
        assert shown.call is not None
        assert shown.call.name == "act"
    assert _chat(_decide(action), "json", SEARCH)[2] == Assistant(
        '{"move":{"arguments":{"query":"x"},"name":"search"}}'
    )
    assert _chat(_decide(action), "text", SEARCH)[2] == Assistant(f"Action[{action}]")


def test_what_is_said_once_comes_last() -> None:
    """Notices, where Revise may go, how much is open and the room that is left: in the last message."""
    request = _decide("a", notices=(Notice("refused", "No\nsuch step."),), may_compress=False, room=120)
    assert _chat(request, "tools")[-1] == User(
        "Notice: No\n such step.\n"
        "You may revise to any [Step N] that is shown, and to [Step 7].\n"
        "Open: 1 step; room: 120 tokens.\n"
        "Your turn.\n"
    )


def test_where_revise_may_go_beyond_what_is_shown_is_said_by_its_number() -> None:
    """Targets inside a chapter are not named: looking into it shows them."""
    asked = _chat(Decide(DECIDE.shown, (StepId(0), StepId(2)), more=35), "tools")[-1]
    assert isinstance(asked, User)
    assert "that is shown; and to 35 more inside these: look into one to see them.\n" in asked.text


def test_where_revise_may_go_is_listed_only_where_it_is_not_shown() -> None:
    """All that is shown, all that has a summary (not where the open part begins), or the labels one by one."""
    shown = DECIDE.shown
    bought = Compress("More.")
    longer = view(replay([Start("t"), Grow("a", "b"), bought, Accept(), Grow("c", "d"), bought]).unwrap())
    for state, boundaries, said in (
        (shown, (0, 2), "any [Step N] that is shown."),
        (shown, (0,), "[Step 0]"),
        (longer, (0, 1, 2), "any [Step N] that is shown."),
        (longer, (0, 1), "any [Step N] that has a summary."),
        (longer, (0, 1, 2, 7), "any [Step N] that is shown, and to [Step 7]."),
        (longer, (0,), "[Step 0]"),
    ):
        request = Decide(state, tuple(map(StepId, boundaries)))
        asked = _chat(request, "tools")[-1]
        assert isinstance(asked, User)
        lines = asked.text.splitlines()
        assert next(line for line in lines if line.startswith("You may revise to")).endswith(said)


@pytest.mark.parametrize("mode", MODES)
def test_the_system_prompt_has_what_its_mode_needs(mode: Mode) -> None:
    """The manual always; the tools where no schemas of them are sent; the forms of a reply in plain text."""
    text = system_prompt(mode, tools=(SEARCH,), manual="Shop.\nClosed at 8.").text
    assert text.endswith("Environment: Shop.\n Closed at 8.\n")
    assert ("\nsearch {" in text) == (mode != "tools")
    assert ("Revise[N; the lesson]" in text) == (mode == "text")
    assert ('"move"' in text) == (mode == "json")
    assert ("\nfinish {" in text) == (mode == "json")
    assert "Environment" not in system_prompt(mode).text


def test_a_fallback_is_judged_by_other_words_than_a_subgoal() -> None:
    """Of an interim account only faithfulness is asked (D12); the reasoning comes before the verdict in both."""
    for prompt in (JUDGE_SUBGOAL, JUDGE_FALLBACK):
        text = prompt.text
        assert (
            text.index('"reasoning"')
            < text.index('"passed"')
            < text.index('"fault"')
            < text.index('"feedback"')
        )
    assert "execution" in JUDGE_SUBGOAL.text
    assert "execution" not in JUDGE_FALLBACK.text


@given(judge_requests)
def test_a_judge_sees_the_steps_before_the_summary(request: JudgeRequest) -> None:
    """What was asked, the earlier parts, every step, and last the text that is to be judged."""
    (system, user) = judge_messages(request)
    assert isinstance(system, System)
    lines = f"\n{user.text}"
    assert lines.count("\nObservation: ") == lines.count("\nAction ") == len(request.steps)
    assert lines.count("\nEarlier part [Step ") == len(request.earlier)
    assert ("\nFinished before:\n" in lines) == bool(request.before)
    assert lines.rindex("\nSummary to judge: ") > lines.rfind("\nObservation: ")
    assert ("\nIf there is a mistake, it may have begun at: " in lines) == (request.kind == "subgoal")


def test_a_judge_is_told_where_a_mistake_may_have_begun() -> None:
    """At the lines it sees, at its own subgoal, at the newest 20; and how many more there are, by their number."""
    legal = tuple(map(StepId, range(0, 200, 2)))
    before = (Chapter(StepId(0), StepId(150), "did much", 0, SummaryId(1), SummaryId(9)),)
    hints = Hints(StepId(150), (), (), ())
    request = JudgeRequest("t", (), "subgoal", before, hints, (), (), "did it", legal, Digest("0"))
    (_, user) = judge_messages(request)
    last = user.text.splitlines()[-1] if isinstance(user, User) else ""
    named = ", ".join(f"[Step {step}]" for step in (0, 150, *range(160, 200, 2)))
    assert last == f"If there is a mistake, it may have begun at: {named}, and 78 more that are not shown"


def test_each_part_of_a_long_subgoal_begins_where_it_is_named() -> None:
    """The steps that a judge reads are divided at the boundaries that it may name."""
    done = [Step(StepId(step), StepId(step - 1), f"a{step}", "seen") for step in (3, 4, 5)]
    parts = (Earlier(StepId(2), StepId(3), "did a3", Passed()),)
    request = JudgeRequest(
        "t", (), "subgoal", (), Hints(StepId(2), (), (), ()), parts, tuple(done), "all",
        (StepId(0), StepId(2), StepId(3)), Digest("0"),
    )  # fmt: skip
    (_, user) = judge_messages(request)
    assert isinstance(user, User)
    marks = [line for line in user.text.splitlines() if line.startswith(("Done since", "Action"))]
    assert marks == [
        "Done since [Step 2]:",
        "Action 3: a3",
        "Done since [Step 3]:",
        "Action 4: a4",
        "Action 5: a5",
    ]


@given(summary_requests)
def test_a_rejected_text_is_asked_for_in_words_of_its_own(request: SummaryRequest) -> None:
    """Its wording, and only its, follows a rejection (D16); the limit is said where there is one."""
    (_, user) = summary_messages(request)
    assert (summary_prompt(request).name == "summarize-again") == (request.rejected is not None)
    lines = f"\n{user.text}"
    assert ("\nRejected text: " in lines) == (request.rejected is not None)
    assert ("\nAt most 300 tokens.\n" in lines) == (request.limit is not None)


def test_the_action_that_is_shown_is_the_action_that_was_done() -> None:
    """The call in a prompt reads back as the action of its step."""
    action = 'search {"query":"é\\n"}'
    shown = _chat(_decide(action), "tools", SEARCH)[2]
    assert isinstance(shown, Assistant)
    assert shown.call is not None
    assert parse_action(f"{shown.call.name} {shown.call.arguments}") == parse_action(action)
