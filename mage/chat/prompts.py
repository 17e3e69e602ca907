"""The questions to a model, a judge and a summarizer as chats: fixed words, S or the steps, and the question.

    system                       how the state is shown and what may be done; the environment's manual
    user                         the task, C, the instructions in force, and where R begins
    assistant, user or tool      each step of R, in the form in which the model is to reply
    user                         hints, notices, where Revise may go, "Your turn."

The last message leaves out each line that does not apply, as every line costs tokens with every call:

    Notice: ...                          the events since the last turn
    You may revise to ...                where there is something to undo
    Open: 3 steps; room: 900 tokens.     how many steps are open, and how many tokens more may be
    Compress ...                         only where it is due
    Now: ...                             the current instruction once more, far from where it was given
    Your turn.

A grow that adds a step only adds before the last message, so a provider's prefix cache keeps hitting. The
forms are `Mode`: real tool calls, the plain-text moves, or JSON moves. Observations keep the form of
`mage.render`: a line at the left margin is ours.

The message of a `JudgeRequest` or a `SummaryRequest`:

    Task: ...
    Finished before: / [Step 0] ...      C above these steps
    Instruction: ...                     in force for these steps
    Earlier part [Step 12]: ...          fallback summaries of the same subgoal
    Action: ... / Observation: ...       each step, raw; for a judge, where each part began
    Tried and undone: / Tried ...        a judge's: what else was tried on this way, and the lessons
    Asked for next: ...                  a judge's: instructions that came with the last of these steps
    Summary to judge: ...                a judge's
    Found in none of the above: ...      a judge's: numbers and ids of the text
    If there is a mistake, it may ...    a judge's: the boundaries at which it may have begun
    Rejected text: ... / Verdict: ...    a summarizer's, where it is to write again
    At most 300 tokens.
    Write the text.

A `FoldRequest` and a `ChapterRequest` show the lines of C in place of all of these but the last ones.

Content is in blocks as in `mage.render`: nothing in a step can be mistaken for words of ours.

The fixed words are in `mage.chat.words`.

A question to a judge or a summarizer that does not fit into its model's context is made shorter (`shorter`):

    once           the interim accounts stand for the earlier parts of the subgoal, in place of the steps of these
    each time      the longest contents, of steps and of a judge's manual, are halved; words say what their middles lack
    in the end     there is nothing left to shorten
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, TypeVar

import attrs

from mage.chat.messages import (
    Assistant,
    ChatMessage,
    System,
    ToolCall,
    ToolResult,
    User,
    merged,
    together,
    written,
)
from mage.chat.tools import ACT, LOOK, NOTE, BadAction, note_in, offered, parse_action
from mage.chat.words import (
    AS_JSON,
    AS_TEXT,
    AS_TOOLS,
    CHAPTER,
    JUDGE_CHAPTER,
    JUDGE_FALLBACK,
    JUDGE_SUBGOAL,
    OURS,
    SUMMARIZE_AGAIN,
    SUMMARIZE_FALLBACK,
    SUMMARIZE_SUBGOAL,
    SYSTEM,
    Prompt,
    Prompts,
    memory_words,
    system_words,
    text_moves,
)
from mage.codec.strict_json import canonical
from mage.effects import (
    ChapterRequest,
    Decide,
    FoldRequest,
    JsonValue,
    JudgeRequest,
    LookInto,
    Mode,
    Rules,
    SummaryRequest,
    Tool,
)
from mage.engine import Line, Step, StepId
from mage.engine.errors import NEWEST
from mage.render import DEFAULT_CAPS, Caps
from mage.render.blocks import (
    Block,
    head_of,
    hints_of,
    instructions_of,
    lines_of,
    observation_of,
    recent,
    step_of,
    task_of,
    thought_of,
    under,
)
from mage.render.extract import unfounded
from mage.tokens import cut

# -- the last lines of a prompt -----------------------------------------------------------------------------


_REPEATED: Final = 400
"""Characters of the current instruction that are repeated of a long one, its two ends; all of it stands further up."""
_NUDGES: Final = {
    "instruction": "Compress first: a new instruction has come while steps are open.",
    "room": "The room is nearly used: compress if a subgoal is finished, such as when what you looked for is found; else "
    "an interim account replaces the steps.",
}


def now_of(request: Decide) -> Iterator[Block]:
    """Yield the blocks that hold for this turn alone."""
    for notice in request.notices:
        yield Block("Notice: ", f"{notice.text}\n{notice.said}" if notice.said else notice.text)
    if request.boundaries:
        yield _where_to(request)
    yield _open(request)
    if request.nudge:
        yield Block(_NUDGES[request.nudge])
    is_above = not request.opened and request.shown.instructions[-1:] == (request.current,)  # a few lines
    if request.current and not is_above:
        yield _repeated(request.current)
    yield Block("Your turn.")


def _open(request: Decide) -> Block:
    if request.opened:
        words = f"Open: {request.opened} step{'s' * (request.opened > 1)}"
    elif request.may_compress:  # an interim account, or a text that has failed
        words = "Open: no new step"
    else:
        words = "Nothing is open: there is nothing to compress"
    return Block(f"{words}." if request.room is None else f"{words}; room: {max(0, request.room)} tokens.")


def _repeated(instruction: str) -> Block:
    # leaving out less than a quarter takes more words than it spares
    is_short = len(instruction) <= _REPEATED + _REPEATED // 4
    return Block("Now: ", instruction if is_short else cut(instruction, _REPEATED))


def _where_to(request: Decide) -> Block:
    """Return the block with the targets of Revise; those that the prompt shows anyway are not listed."""
    allowed = set(request.boundaries)
    labels = {line.label for line in request.shown.compressed}
    more = f"; and to {request.more} more inside these: look into one to see them" if request.more else ""
    for shown, words in (
        (labels | {request.shown.boundary}, "any [Step N] that is shown"),
        # where the last line has failed, or nothing is open
        (labels if len(labels) > 1 else set[StepId](), "any [Step N] that has a summary"),
    ):
        if shown and shown <= allowed:
            others = [boundary for boundary in request.boundaries if boundary not in shown]
            also = f", and to {labels_of(others)}" if others else ""
            return Block(f"You may revise to {words}{also}{more}.")
    return Block(f"You may revise to: {labels_of(request.boundaries)}{more}")


def labels_of(boundaries: Iterable[StepId]) -> str:
    """Return the names of boundaries in a prompt."""
    return ", ".join([f"[Step {boundary}]" for boundary in boundaries])


# -- the chats -----------------------------------------------------------------------------------------


MODES: Final[tuple[Mode, ...]] = ("tools", "text", "json")

_WORDING: Final[dict[Mode, Prompt]] = {"tools": AS_TOOLS, "text": AS_TEXT, "json": AS_JSON}


def system_prompt(
    mode: Mode,
    *,
    tools: Sequence[Tool] = (),
    manual: str = "",
    rules: Rules | None = None,
    prompts: Prompts = OURS,
) -> Prompt:
    """Return the fixed words for an environment with these tools (none: any text is an action) and this manual.

    In the modes without tool calls the words describe the tools. They do not name what the policy rules out; a text of
    the user's own in their place may. Cost: O(size).

    Raises:
        BadTool: two tools have one name, or a tool has a name of ours.
    """
    rules = Rules() if rules is None else rules
    all_tools = offered(tools, rules)  # raises where two tools have one name
    theirs = [] if mode == "text" else [tool.name for tool in tools]  # in plain text, `Look[` is always ours
    ours = {SYSTEM.name: system_words(rules, theirs), AS_TEXT.name: text_moves(rules)}
    system, wording = [
        prompts.texts.get(each.name, ours.get(each.name, each.text)) for each in (SYSTEM, _WORDING[mode])
    ]
    parts = [system, "\n\n", wording, "\n"]
    if mode == "json":
        parts += [_described(tool) for tool in all_tools]
    elif mode == "text" and tools:
        parts.append("An action is the name of one of these, a space, and its arguments as a JSON object:\n")
        parts += [_described(tool) for tool in tools]
    if manual:
        parts.append(Block("Environment: ", manual).text)
    return Prompt(f"{SYSTEM.name}-{mode}", prompts.of(SYSTEM).version, "".join(parts))


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
    """Return the chat that asks a model for its decision. Cost: O(size of S + notices)."""
    names = frozenset(tool.name for tool in tools)
    done = [_as_done(mode, step, *_said(request, step), names) for step in request.shown.raw]
    return tuple(merged([System(system.text), *_shown(request, done, mode, caps)]))


Steps: TypeAlias = Literal["text", "calls"]
"""How a host shows the open steps: in one text with everything else, or as calls with their results."""


def state_messages(
    request: Decide, *, steps: Steps = "text", theirs: Container[str] = ()
) -> tuple[ChatMessage, ...]:
    """Return S for a model with a host's own system prompt and tools: words on how to read S, S, and the notices.

    As text, S is one message by the user, which every provider accepts, whatever the model thought before. As calls,
    each step that was a call stands as this call and its result, so that the model reads its actions in the form in
    which it takes them; any other step stands as text.

    Args:
        request: the question.
        steps: the form of the open steps.
        theirs: names of the host's tools, to which tools of ours of these names give way.

    Cost: O(size of S + notices).
    """
    words, raw = User(f"{memory_words(request.rules, theirs)}\n\n"), request.shown.raw
    mode: Mode | None = None
    if steps == "text":
        done = [_as_block(step, request.thoughts.get(step.id, "")) for step in raw]
    else:
        done, mode = [_as_made(step, *_said(request, step)) for step in raw], "tools"
    return tuple(merged([words, *_shown(request, done, mode, DEFAULT_CAPS)]))


def _shown(
    request: Decide, done: Iterable[tuple[ChatMessage, ...]], mode: Mode | None, caps: Caps
) -> Iterator[ChatMessage]:
    """Yield S and the words of this turn; `done` are the messages of the open steps."""
    yield _user(head_of(request.shown))
    yield from together(done)
    yield from _looked(request, mode)
    yield _user(hints_of(request.shown.hints, caps))
    yield _user(now_of(request))


def _as_block(step: Step, thought: str) -> tuple[ChatMessage, ...]:
    before = [thought_of(thought)] if thought else []
    return (_user([*before, *step_of(step.action, step.observation)]),)


def _as_made(step: Step, thought: str, beside: str) -> tuple[ChatMessage, ...]:
    """Return a step as the call that it was, or as text where it was none."""
    try:
        name, arguments = parse_action(step.action)
        call = ToolCall(call_id(step.id), name, canonical(arguments), beside)
    except (BadAction, ValueError):  # a text, or a number that JSON cannot say
        return _as_block(step, thought)
    return Assistant(thought, call), ToolResult(call.id, observation_of(step.observation).text)


def sent_as(mode: Mode, tools: Iterable[Tool] = ()) -> Callable[[str, str], tuple[Block, ...]]:
    """Return the function from a step to the blocks as which a mode sends it, for counting tokens; see `Meter`."""
    names = frozenset(tool.name for tool in tools)
    return lambda *made: _as_sent(_as_done(mode, _unplaced(*made), "", "", names))


def made_as(steps: Steps) -> Callable[[str, str], tuple[Block, ...]]:
    """Return the same function for a host, which sends its steps as text or as calls."""
    return step_of if steps == "text" else lambda *made: _as_sent(_as_made(_unplaced(*made), "", ""))


def _unplaced(action: str, observation: str) -> Step:
    return Step(StepId(1), StepId(0), action, observation)


def _as_sent(messages: Iterable[ChatMessage]) -> tuple[Block, ...]:
    """Return the texts of messages; those of calls are their JSON."""
    sent = written(messages, "chat")
    return tuple(
        [Block(canonical(each["tool_calls"]) if "tool_calls" in each else each["content"]) for each in sent]
    )


def _looked(request: Decide, mode: Mode | None) -> Iterator[ChatMessage]:
    """Yield the look and its result in the form of the mode, or as text where there is none."""
    looked = request.looked
    if looked is None:
        return
    if mode is not None:
        yield _as_look(mode, looked.asked, looked.thought)
    elif looked.thought:
        yield _user([thought_of(looked.thought)])
    yield ToolResult(_look_id(looked.asked), looked.text) if mode == "tools" else User(looked.text)


def _look_id(asked: LookInto) -> str:
    return f"l{asked.label:08d}"


def _as_look(mode: Mode, asked: LookInto, thought: str) -> Assistant:
    if mode == "text":
        line = f"{asked.label}" if asked.boundary is None else f"{asked.label}..{asked.boundary}"
        return _move_as_text(f"Look[{line}; {' '.join(asked.words.split())}; {asked.page}]", thought)
    boundary = None if asked.boundary is None else int(asked.boundary)
    arguments = {
        "label": int(asked.label),
        "boundary": boundary,
        "words": asked.words or None,
        "page": asked.page,
    }
    if mode == "json":
        return _move_as_json(LOOK.name, arguments, thought)
    return Assistant(thought, ToolCall(_look_id(asked), LOOK.name, canonical(arguments)))


def named_of(legal: Sequence[StepId], lines: Iterable[Line], boundary: StepId) -> tuple[StepId, ...]:
    """Return the legal targets of Revise that a prompt names: where a line or R begins, and the newest 20.

    Args:
        legal: all targets, in path order.
        lines: the lines of C.
        boundary: where R begins.

    Cost: O(lines * log(legal)).
    """
    shown = [label for label in (boundary, *[line.label for line in lines]) if _holds(legal, label)]
    return tuple(sorted({*shown, *legal[-NEWEST:]}))


def _holds(rising: Sequence[StepId], step: StepId) -> bool:
    place = bisect_left(rising, step)
    return place < len(rising) and rising[place] == step


def _user(blocks: Iterable[Block]) -> User:
    return User("".join([block.text for block in blocks]))


def _said(request: Decide, step: Step) -> tuple[str, str]:
    """Return the thought before a step, empty where it goes back beside the call, and the provider's data beside the call."""
    thought, beside = request.thoughts.get(step.id, ""), request.beside.get(step.id, "")
    return "" if canonical(thought)[1:-1] in beside else thought, beside


def _as_done(
    mode: Mode, step: Step, thought: str, beside: str, names: frozenset[str]
) -> tuple[ChatMessage, ChatMessage]:
    """Return a step in the form of a mode: the model's reply, and the observation. `names` are those of the environment's tools.

    As a call its id follows from the step's (D15).
    """
    observed = observation_of(step.observation)
    if mode == "text":
        noted = note_in(step.action, step.observation)
        move = f"Action[{step.action}]" if noted is None else f"Note[{noted}]"
        return _move_as_text(move, thought), _user([observed])
    name, arguments = _call_of(step, names)
    if mode == "json":
        return _move_as_json(name, arguments, thought), _user([observed])
    call = ToolCall(call_id(step.id), name, canonical(arguments), beside)
    return Assistant(thought, call), ToolResult(call.id, observed.text)


def call_id(step: StepId) -> str:
    """Return the id of the call of a step: nine letters and digits, which Mistral demands and other providers accept."""
    return f"s{step:08d}"


def _call_of(step: Step, names: frozenset[str]) -> tuple[str, dict[str, JsonValue]]:
    """Return a step as a call; an action that is no call of a known tool is a call of `act`."""
    noted = note_in(step.action, step.observation)
    if noted is not None:
        return NOTE.name, {"text": noted}
    if names:
        try:
            name, arguments = parse_action(step.action)
        except BadAction:
            pass  # from elsewhere, such as a trace
        else:
            if name in names:
                return name, arguments
    return ACT.name, {"action": step.action}


def _move_as_text(move: str, thought: str) -> Assistant:
    return Assistant(f"{thought}\n{move}" if thought else move)


def _move_as_json(name: str, arguments: Mapping[str, JsonValue], thought: str) -> Assistant:
    move = canonical({"move": {"name": name, "arguments": arguments}})
    thinking = canonical({"thought": thought}).removesuffix("}") + "," if thought else ""
    return Assistant(f"{thinking}{move.removeprefix('{')}" if thought else move)


def judge_prompt(request: JudgeRequest | FoldRequest, prompts: Prompts = OURS) -> Prompt:
    """Return the wording that asks for a verdict on a subgoal, a fallback or a chapter (D12, D19)."""
    if isinstance(request, FoldRequest):
        return prompts.of(JUDGE_CHAPTER)
    return prompts.of(JUDGE_SUBGOAL if request.kind == "subgoal" else JUDGE_FALLBACK)


JUDGE_CAPS: Final = Caps(observation_chars=600, text_chars=2_000)
"""Limits of the hints in a judge's question; texts of summaries are whole, as a price may stand anywhere in them."""


def judge_messages(
    request: JudgeRequest | FoldRequest,
    *,
    told: str = "",
    criteria: str = "",
    manual: str = "",
    prompts: Prompts = OURS,
) -> tuple[ChatMessage, ...]:
    """Return the chat that asks for a verdict. Cost: O(size of the request).

    Args:
        request: the question.
        told: what was wrong with the last reply; empty for the first question.
        criteria: further criteria, in the words of the host; empty for none.
        manual: the environment's manual, for a request that has none.
        prompts: texts in place of ours.
    """
    shown = _judged_lines(request) if isinstance(request, FoldRequest) else _judged_steps(request)
    system, asked = _chat(judge_prompt(request, prompts), [*task_of(request.task), *shown, *_again(told)])
    known = manual if isinstance(request, FoldRequest) else request.manual or manual
    besides = [
        Block(name, text) for name, text in (("Environment: ", known), ("Criteria: ", criteria)) if text
    ]
    words = "".join([f"\n{block.text}" for block in besides])
    return (System(f"{system.text}{words}"), asked)


def _judged_lines(request: FoldRequest) -> Iterator[Block]:
    yield from _lines(request)
    yield Block("Chapter to judge: ", request.text)


def _judged_steps(request: JudgeRequest) -> Iterator[Block]:
    yield from _before(request)
    begins = set(request.boundaries)
    for step in request.steps:
        if step.parent in begins:
            yield Block(f"Done since [Step {step.parent}]:")
        yield from (Block(f"Action {step.id}: ", step.action), observation_of(step.observation))
    yield from under(Block("Tried and undone:"), recent(request.hints, JUDGE_CAPS), JUDGE_CAPS)
    for instruction in request.later:
        yield Block("Asked for next: ", instruction)
    yield Block("Summary to judge: ", request.text)
    if missing := unfounded(request):
        yield Block("Found in none of the above: ", ", ".join(missing))
    if request.kind == "subgoal":
        yield _origins(request)


def _before(request: JudgeRequest | SummaryRequest) -> Iterator[Block]:
    """Yield the blocks above the steps."""
    if request.before:
        yield Block("Finished before:")
        yield from lines_of(request.before)
    yield from instructions_of(request.instructions)
    for part in request.earlier:
        yield Block(f"Earlier part [Step {part.label}]: ", part.text)


def _origins(request: JudgeRequest) -> Block:
    named = named_of(request.boundaries, request.before, request.hints.boundary)
    more = len(request.boundaries) - len(named)
    rest = f", and {more} more that are not shown" if more else ""
    return Block(f"If there is a mistake, it may have begun at: {labels_of(named)}{rest}")


def summary_prompt(request: SummaryRequest | ChapterRequest, prompts: Prompts = OURS) -> Prompt:
    """Return the wording that asks for a first text, by its kind, or for a new one in place of a rejected one (D16)."""
    if isinstance(request, ChapterRequest):
        return prompts.of(CHAPTER)
    if request.rejected is not None:
        return prompts.of(SUMMARIZE_AGAIN)
    return prompts.of(SUMMARIZE_SUBGOAL if request.kind == "subgoal" else SUMMARIZE_FALLBACK)


def summary_messages(
    request: SummaryRequest | ChapterRequest, *, told: str = "", prompts: Prompts = OURS
) -> tuple[ChatMessage, ...]:
    """Return the chat that asks for the text of a summary or a chapter; see `judge_messages`."""
    blocks = [
        *task_of(request.task),
        *(_lines(request) if isinstance(request, ChapterRequest) else _done(request)),
        *_rejected(request),
        *_again(told),
        Block("Write the text."),
    ]
    return _chat(summary_prompt(request, prompts), blocks)


def _lines(request: ChapterRequest | FoldRequest) -> Iterator[Block]:
    yield from instructions_of(request.instructions)
    yield from lines_of(request.lines)


def _done(request: SummaryRequest) -> Iterator[Block]:
    yield from _before(request)
    for step in request.steps:
        yield from step_of(step.action, step.observation)
    if request.thought:
        yield Block("Thought last: ", request.thought)


def _rejected(request: SummaryRequest | ChapterRequest) -> Iterator[Block]:
    if request.rejected is not None:
        yield Block("Rejected text: ", request.rejected)
        if isinstance(request, SummaryRequest) and request.kind == "fallback":
            yield Block("Its subgoal is not over.")
    if request.feedback:
        yield Block("Verdict: ", request.feedback)
    if request.limit is not None:
        yield Block(f"At most {request.limit} tokens.")


def _again(told: str) -> Iterator[Block]:
    if told:
        yield Block("Your last reply could not be used: ", told)


def _chat(prompt: Prompt, blocks: Sequence[Block]) -> tuple[System, User]:
    return (System(prompt.text), User("".join([block.text for block in blocks])))


# -- made shorter, where a question does not fit ------------------------------------------------------------


Asked = TypeVar("Asked", JudgeRequest | FoldRequest, SummaryRequest | ChapterRequest)
SHORT: Final = 200
"""Characters: a content of so many is not cut any more."""


def shorter(request: Asked) -> Asked | None:
    """Return the question with fewer characters; None where it cannot be made shorter. Cost: O(size)."""
    if isinstance(request, FoldRequest | ChapterRequest):
        return None
    steps = _since_the_accounts(request)
    if len(steps) < len(request.steps):
        return attrs.evolve(request, steps=steps)
    manual = str(getattr(request, "manual", ""))  # a summarizer's question has none
    contents = [len(text) for step in steps for text in step.content]
    longest = max(SHORT, max(len(manual), *contents, 0) // 2)
    shorter_steps, less = tuple([_cut(step, longest) for step in steps]), cut(manual, longest)
    if _length(shorter_steps) + len(less) >= _length(request.steps) + len(manual):
        return None
    changes: dict[str, Any] = {"steps": shorter_steps}  # Any: of either type of request
    return attrs.evolve(request, **(changes if less == manual else {**changes, "manual": less}))


def _length(steps: Sequence[Step]) -> int:
    return sum(len(text) for step in steps for text in step.content)


def _since_the_accounts(request: JudgeRequest | SummaryRequest) -> tuple[Step, ...]:
    """Return the steps that no interim account covers; all of them where the accounts cover all."""
    covered = max([part.boundary for part in request.earlier], default=-1)
    places = [place for place, step in enumerate(request.steps) if step.id == covered]
    return request.steps[places[0] + 1 :] or request.steps if places else request.steps


def _cut(step: Step, longest: int) -> Step:
    if max(map(len, step.content)) <= longest:
        return step
    return attrs.evolve(step, action=cut(step.action, longest), observation=cut(step.observation, longest))
