"""What a model, a judge and a summarizer are asked, as a chat: fixed words, S or the steps, and the question.

    system                       how the state is shown and what may be done; the environment's manual
    user                         the task, the instructions in force, C, and where R begins
    assistant, user or tool      each step of R, in the form in which the model is to reply
    user                         hints, notices, where Revise may go, "Your turn."

A grow that adds a step only adds before the last message, so a provider's prefix cache keeps hitting. The
forms are `Mode`: real tool calls, the plain-text moves, or JSON moves. Observations keep the form of
`mage.render`: a line at the left margin is ours.

A `JudgeRequest` and a `SummaryRequest` are asked so:

    Task: ... / Instruction: ...         in force for these steps
    Earlier part [Step 12]: ...          fallback summaries of the same subgoal
    Action: ... / Observation: ...       each step, raw
    Summary to judge: ...                a judge's
    Rejected text: ... / Verdict: ...    a summarizer's, where it is to write again
    At most 300 tokens.
    Write the text.

Content is in blocks as in `mage.render`: nothing in a step can be mistaken for words of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

from mage.chat.messages import Assistant, ChatMessage, System, ToolCall, ToolResult, User, merged
from mage.chat.tools import ACT, BadAction, canonical, offered, parse_action
from mage.chat.wording import (
    AS_JSON,
    AS_TEXT,
    AS_TOOLS,
    JUDGE_FALLBACK,
    JUDGE_SUBGOAL,
    MEMORY,
    SUMMARIZE_AGAIN,
    SUMMARIZE_FALLBACK,
    SUMMARIZE_SUBGOAL,
    SYSTEM,
    Prompt,
)
from mage.effects import Decide, JsonValue, JudgeRequest, SummaryRequest, Tool
from mage.engine import Earlier, Step, StepId
from mage.render import DEFAULT_CAPS, Caps
from mage.render.blocks import Block, asked_of, head_of, hints_of, observation_of, step_of

Mode: TypeAlias = Literal["tools", "text", "json"]
"""How a model replies: by calling tools, by `Action[...]` and its like, or by a JSON object."""
MODES: Final[tuple[Mode, ...]] = ("tools", "text", "json")

_WORDING: Final[dict[Mode, Prompt]] = {"tools": AS_TOOLS, "text": AS_TEXT, "json": AS_JSON}


def system_prompt(mode: Mode, *, tools: Sequence[Tool] = (), manual: str = "") -> Prompt:
    """Return the fixed words for a world with these tools (none: any text is an action) and this manual.

    In the forms without tool calls the tools are described in it. Cost: O(size).

    Raises:
        BadTool: two tools have one name, or one has a name of ours.
    """
    wording = _WORDING[mode]
    parts = [SYSTEM.text, "\n\n", wording.text, "\n"]
    if mode == "json":
        parts += [_described(tool) for tool in offered(tools)]
    elif mode == "text" and tools:
        parts.append("An action is the name of one of these, a space, and its arguments as a JSON object:\n")
        parts += [_described(tool) for tool in offered(tools)[: len(tools)]]
    else:
        offered(tools)  # refuses names that could not be told apart
    if manual:
        parts.append(Block("Environment: ", manual).text)
    return Prompt(f"{SYSTEM.name}-{mode}", SYSTEM.version, "".join(parts))


def _described(tool: Tool) -> str:
    return Block(f"{tool.name} ", f"{canonical(tool.parameters)}: {tool.description}").text


def decide_messages(
    request: Decide,
    *,
    system: Prompt,
    mode: Mode,
    tools: Sequence[Tool] = (),
    caps: Caps = DEFAULT_CAPS,
) -> tuple[ChatMessage, ...]:
    """Return the chat that asks a model what to do now. Cost: O(size of S + notices)."""
    return tuple(
        merged(_messages(request, system, _IN_MODE[mode], frozenset(tool.name for tool in tools), caps))
    )


Steps: TypeAlias = Literal["text", "calls"]
"""How a host shows the open steps: in one text with all else, or as the calls that they were, with their results."""


def state_messages(
    request: Decide, *, steps: Steps = "text", caps: Caps = DEFAULT_CAPS
) -> tuple[ChatMessage, ...]:
    """Return S for a model with a host's own system prompt and tools: words on how to read it, S, and what is said once.

    As text it is one message by the user, which every provider takes, whatever the model thought before. As calls,
    each step that was a call stands as this call and its result, for models that are to see what they did in the
    form in which they do it; any other step as text.

    Cost: O(size of S + notices).
    """
    shown = request.shown
    done = [_as_block(step) if steps == "text" else _as_made(step) for step in shown.raw]
    return tuple(
        merged(
            [
                User(f"{MEMORY.text}\n\n"),
                _user(head_of(shown)),
                *[message for pair in done for message in pair],
                _user(hints_of(shown.hints, caps)),
                _user(_now(request)),
            ]
        )
    )


def _as_block(step: Step) -> tuple[ChatMessage, ...]:
    return (_user(step_of(step.action, step.observation)),)


def _as_made(step: Step) -> tuple[ChatMessage, ...]:
    """Return a step as the call that it was; one that was none as text."""
    try:
        name, arguments = parse_action(step.action)
        call = ToolCall(call_id(step.id), name, canonical(arguments))
    except (BadAction, ValueError):  # a text, or a number that JSON cannot say
        return _as_block(step)
    return Assistant(call=call), ToolResult(call.id, observation_of(step.observation).text)


_AsDone: TypeAlias = Callable[[Step, frozenset[str]], tuple[ChatMessage, ChatMessage]]


def _messages(
    request: Decide, system: Prompt, as_done: _AsDone, names: frozenset[str], caps: Caps
) -> Iterator[ChatMessage]:
    shown = request.shown
    yield System(system.text)
    yield _user(head_of(shown))
    for step in shown.raw:
        yield from as_done(step, names)
    yield _user(hints_of(shown.hints, caps))
    yield _user(_now(request))


def _now(request: Decide) -> Iterator[Block]:
    """Yield what is said in this turn only."""
    for notice in request.notices:
        yield Block("Notice: ", f"{notice.text}\n{notice.said}" if notice.said else notice.text)
    if request.boundaries:
        yield _where_to(request)
    if not request.may_compress:
        yield Block("Nothing is open: there is nothing to compress.")
    if request.room is not None:
        yield Block(f"The open part may still take {max(0, request.room)} tokens.")
    yield Block("Your turn.")


def _where_to(request: Decide) -> Block:
    """Say where Revise may go: hundreds of labels that are shown anyway are not listed again in each prompt."""
    allowed = set(request.boundaries)
    labels = {summary.label for summary in request.shown.compressed}
    if allowed == labels | {request.shown.boundary}:
        return Block("You may revise to any [Step N] that is shown.")
    if len(labels) > 1 and allowed == labels:  # the last summary has failed, or nothing is open
        return Block("You may revise to any [Step N] that has a summary.")
    return Block(f"You may revise to: {', '.join([_label(boundary) for boundary in request.boundaries])}")


def _label(boundary: StepId) -> str:
    return f"[Step {boundary}]"


def _user(blocks: Iterable[Block]) -> User:
    return User("".join([block.text for block in blocks]))


def _as_call(step: Step, names: frozenset[str]) -> tuple[ChatMessage, ChatMessage]:
    """Return a step as the call of a tool and its result. The call's id follows from the step's (D15)."""
    name, arguments = _call_of(step.action, names)
    call = ToolCall(call_id(step.id), name, canonical(arguments))
    return Assistant(call=call), ToolResult(call.id, observation_of(step.observation).text)


def call_id(step: StepId) -> str:
    """Return the id of the call that stands for a step: nine letters and digits, which suits every provider."""
    return f"s{step:08d}"


def _call_of(action: str, names: frozenset[str]) -> tuple[str, dict[str, JsonValue]]:
    """Return an action as a call; one that is none of a known tool was done by `act`."""
    if names:
        try:
            name, arguments = parse_action(action)
        except BadAction:
            pass  # it came from elsewhere, such as a trace
        else:
            if name in names:
                return name, arguments
    return ACT.name, {"action": action}


def _as_text(step: Step, names: frozenset[str]) -> tuple[ChatMessage, ChatMessage]:
    """Return a step as the plain-text mode writes it."""
    del names
    return Assistant(f"Action[{step.action}]"), _user(iter([observation_of(step.observation)]))


def _as_json(step: Step, names: frozenset[str]) -> tuple[ChatMessage, ChatMessage]:
    """Return a step as the JSON mode writes it; what was thought is not shown again."""
    name, arguments = _call_of(step.action, names)
    move = canonical({"move": {"name": name, "arguments": arguments}})
    return Assistant(move), _user(iter([observation_of(step.observation)]))


_IN_MODE: Final[dict[Mode, _AsDone]] = {"tools": _as_call, "text": _as_text, "json": _as_json}


def judge_prompt(request: JudgeRequest) -> Prompt:
    """Return the wording for a subgoal, or for a fallback, of which only faithfulness is asked (D12)."""
    return JUDGE_SUBGOAL if request.kind == "subgoal" else JUDGE_FALLBACK


def judge_messages(request: JudgeRequest, *, told: str = "") -> tuple[ChatMessage, ...]:
    """Return the chat that asks for a verdict. Cost: O(size of the request).

    Args:
        request: what is to be judged.
        told: what was wrong with the last answer; empty when it is asked for the first time.
    """
    blocks = [
        *_done(request.task, request.instructions, request.earlier, request.steps),
        Block("Summary to judge: ", request.text),
        *_again(told),
    ]
    return _chat(judge_prompt(request), blocks)


def summary_prompt(request: SummaryRequest) -> Prompt:
    """Return the wording for a first text by its kind, or for a new one in place of a rejected one (D16)."""
    if request.rejected is not None:
        return SUMMARIZE_AGAIN
    return SUMMARIZE_SUBGOAL if request.kind == "subgoal" else SUMMARIZE_FALLBACK


def summary_messages(request: SummaryRequest, *, told: str = "") -> tuple[ChatMessage, ...]:
    """Return the chat that asks for the text of a summary; see `judge_messages`."""
    blocks = [
        *_done(request.task, request.instructions, request.earlier, request.steps),
        *_rejected(request),
        *_again(told),
        Block("Write the text."),
    ]
    return _chat(summary_prompt(request), blocks)


def _done(
    task: str, instructions: Sequence[str], earlier: Sequence[Earlier], steps: Sequence[Step]
) -> Iterator[Block]:
    yield from asked_of(task, instructions)
    for part in earlier:
        yield Block(f"Earlier part [Step {part.label}]: ", part.text)
    for step in steps:
        yield from step_of(step.action, step.observation)


def _rejected(request: SummaryRequest) -> Iterator[Block]:
    if request.rejected is not None:
        yield Block("Rejected text: ", request.rejected)
        if request.kind == "fallback":
            yield Block("Its subgoal is not over.")
    if request.feedback:
        yield Block("Verdict: ", request.feedback)
    if request.limit is not None:
        yield Block(f"At most {request.limit} tokens.")


def _again(told: str) -> Iterator[Block]:
    if told:
        yield Block("Your last reply could not be used: ", told)


def _chat(prompt: Prompt, blocks: Sequence[Block]) -> tuple[ChatMessage, ...]:
    return (System(prompt.text), User("".join([block.text for block in blocks])))
