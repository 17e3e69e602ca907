"""Model, judge and summarizer of a run: models behind a server, the user, a script, or the demo's story; `mage prompts`.

By hand, a person acts in an environment with the prompts of an agent's model, or a program does, through a pipe. A reply
is written as in the mode without tool calls, such as `Action[look]`, with thoughts before it if any. It ends where a move
that begins a line is closed, or with an empty line; for a reply that is no move the user reads what is wrong, and types
another.

A script has one reply per line, a JSON object; empty lines are skipped:

    {"act": "look"}                               the model acts
    {"act": {"press": {"button": 2}}}             ... by calling a tool
    {"act": ["look", "go north"]}                 ... several times
    {"note": "The door is green."}                ... writes a note, behind its actions
    {"compress": "The kitchen was searched."}     ... marks a subgoal complete
    {"revise": 3, "lesson": "It is locked."}      ... goes back to [Step 3]
    {"look": 3}                                   ... reads again what [Step 3] stands for
    {"look": [0, 57], "words": "key", "page": 2}  ... of [Step 0..57] only what holds these words, the second page
    {"finish": "There is no lamp."}               ... ends the task
    {"judge": "passed"}                           the judge, of the next summary or chapter that is judged
    {"judge": "failed", "feedback": "..."}        ... with "fault": "summary" only its text is wrong
    {"judge": "failed", "feedback": "...", "boundary": 3}   ... it began at [Step 3]
    {"summary": "Two rooms were searched."}       the summarizer, of the next summary or chapter

A line of the model may have `"act"`, one of its other keys and a `"thought"`. Model, judge and summarizer each have their
own lines, in order. Without lines of the judge there is no judge, without lines of the summarizer no summarizer.
"""

from __future__ import annotations

import json
import os
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Annotated, Any, Final, Generic, TypeVar, cast, final
from urllib.parse import urlsplit

import attrs
import typer

from mage.chat import (
    OURS,
    REPLACEABLE,
    Assistant,
    ChatMessage,
    Prompt,
    Prompts,
    System,
    action_text,
    decide_messages,
    judge_messages,
    judge_prompt,
    offered,
    system_prompt,
)
from mage.chat import Mode as PromptMode
from mage.chat.replies import Reply, decide_by_text, verdict_on
from mage.chat.tools import MOVE_BEGINS, no_number
from mage.cli.output import (
    AsJson,
    Refused,
    numbered,
    print_json,
    print_text,
    read_bytes,
    refusing,
    require_absent,
    say,
    write_new,
)
from mage.cli.setup import BY_HAND, Mode, Models, PromptsFolder, RunSetup
from mage.demo import shop
from mage.effects import (
    Action,
    AsyncJudge,
    Decide,
    Decision,
    EffectError,
    Finish,
    Judge,
    LookInto,
    Metered,
    Model,
    Summarizer,
    Then,
    Tool,
    Usage,
    Verdict,
)
from mage.engine import (
    Compress,
    Failed,
    FoldRequest,
    JudgeRequest,
    Passed,
    Revise,
    StepId,
    UnknownName,
)
from mage.engine.errors import MageError
from mage.engine.nodes import FAULTS
from mage.engine.text import is_blank
from mage.memory.policy import KINDS_OF_CALL, KindOfCall
from mage.tokens import default_counter

# -- the user -----------------------------------------------------------------------------------------------


Answer = TypeVar("Answer")
_MODE: Final[PromptMode] = "text"
_ENDS: Final[dict[KindOfCall, str]] = {
    "model": "up to a move such as Action[...]",
    "judge": "up to the end of its JSON",
}


@final
@attrs.frozen
class InputEnded(MageError):
    """Standard input has ended before a reply."""

    who: KindOfCall

    def __str__(self) -> str:
        return f"standard input has ended, and the {self.who} is asked once more"


@final
class ByHand:
    """The user as the model of a run; `judge` is the user as its judge."""

    mode: PromptMode = _MODE

    def __init__(self, prompts: Prompts = OURS) -> None:
        self._prompts = prompts
        self._shown: dict[KindOfCall, str] = {}  # the fixed words, shown again only when they change
        self._count = default_counter().count
        self._alone = Lock()  # a judge may be asked while the model is

    def prompt_text(self, tools: tuple[Tool, ...] = (), manual: str = "") -> str:
        """Return the fixed text that goes with every prompt."""
        return system_prompt(_MODE, tools=tools, manual=manual, prompts=self._prompts).text

    def __call__(self, request: Decide, /) -> Metered[Decision]:
        """Return the user's decision.

        Raises:
            InputEnded: nothing more can be read.
        """
        system = system_prompt(
            _MODE, tools=request.tools, manual=request.manual, rules=request.rules, prompts=self._prompts
        )
        chat = decide_messages(request, system=system, mode=_MODE, tools=request.tools)
        known = offered(request.tools, request.rules)
        decided, usage = self._asked("model", chat, _move_ends, lambda reply: decide_by_text(reply, known))
        return Metered(decided, usage, prompt_hash=system.hash)

    def judge(self, request: JudgeRequest | FoldRequest, /) -> Metered[Verdict]:
        """Return the user's verdict; see `__call__`."""
        chat = judge_messages(request, prompts=self._prompts)
        verdict, usage = self._asked("judge", chat, _object_ends, lambda reply: verdict_on(request, reply))
        return Metered(verdict, usage, prompt_hash=judge_prompt(request, self._prompts).hash)

    def _asked(
        self,
        who: KindOfCall,
        chat: Sequence[ChatMessage],
        ends: Callable[[], Callable[[str], bool]],
        read: Callable[[Reply], Answer],
    ) -> tuple[Answer, Usage]:
        with self._alone:
            self._show(who, chat)
            while True:
                _print(f"-- you are the {who}: your reply ({_ENDS[who]}, or an empty line)\n")
                try:
                    typed = "".join(_typed(who, ends()))
                    answer = read(Reply(typed, finish="stop"))
                except EffectError as error:
                    _print(f"-- that is no reply: {error.detail}\n")
                    continue
                prompt = sum(self._count(message.text) for message in chat)
                return answer, Usage(prompt, self._count(typed), estimated=1)

    def _show(self, who: KindOfCall, chat: Sequence[ChatMessage]) -> None:
        for message in chat:
            if isinstance(message, System):
                if message.text == self._shown.get(who):
                    continue
                self._shown[who] = message.text
            begins = "> " if isinstance(message, Assistant) else ""
            _print(f"{begins}{message.text.rstrip()}\n")


def _print(text: str) -> None:
    print_text(text, sys.stderr)
    sys.stderr.flush()


def _typed(who: KindOfCall, ends: Callable[[str], bool]) -> Iterator[str]:
    """Yield the lines of one reply, up to a line at which it ends, an empty line, or the end. Cost: O(length).

    Raises:
        InputEnded: there is no further line.
        EffectError: a line is not UTF-8.
    """
    is_begun = False
    while line := _line():
        if line.strip():
            is_begun = True
            yield line
            if ends(line):
                return
        elif is_begun:
            return
    if not is_begun:
        raise InputEnded(who)


def _move_ends() -> Callable[[str], bool]:
    """Return a function that tells of each line whether it closes a move that begins a line: by its last bracket."""
    opened: int | None = None

    def ends(line: str) -> bool:
        nonlocal opened
        if opened is None and not MOVE_BEGINS.match(line):
            return False
        opened = (opened or 0) + line.count("[") - line.count("]")
        return opened <= 0

    return ends


def _object_ends() -> Callable[[str], bool]:
    """Return a function that tells of each line whether it ends a JSON object that begins a line."""
    said: list[str] = []

    def ends(line: str) -> bool:
        if said or line.lstrip().startswith("{"):
            said.append(line)
        if not said or not line.rstrip().endswith("}"):
            return False
        try:
            json.loads("".join(said))
        except (ValueError, RecursionError):
            return False
        return True

    return ends


def _line() -> str:
    """Return the next line of standard input, empty at its end; it is UTF-8 whatever the locale says.

    Raises:
        EffectError: the line is not UTF-8.
    """
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        return "" if sys.stdin is None else sys.stdin.readline()
    line: bytes = stream.readline()
    try:
        return line.decode()
    except UnicodeDecodeError as problem:
        raise EffectError("wrong_schema", f"a reply is UTF-8, but byte {problem.start} is not") from None


# -- a script -----------------------------------------------------------------------------------------------


Read = TypeVar("Read")
_MODEL: Final = ("act", "note", "compress", "revise", "lesson", "look", "words", "page", "finish", "thought")
_KEYS: Final = {"judge": ("judge", "feedback", "fault", "boundary"), "summary": ("summary",)}


@final
@attrs.frozen
class BadScript(MageError, ValueError):
    """A line of a script, counted from 1, is no reply."""

    file: str
    line: int
    problem: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.problem}"


@final
@attrs.frozen
class ScriptEnded(MageError):
    """A script is asked for one more reply to a kind of call than it has."""

    file: str
    who: KindOfCall
    replies: int

    def __str__(self) -> str:
        lines = numbered(self.replies, "line")
        return (
            f"{self.file} has no more to say: the {self.who} was answered by its {lines}, and is asked again"
        )


@final
class Played(Generic[Read]):
    """The replies of a script to one kind of call, in order, whatever the request; `used` counts those given."""

    def __init__(self, file: str, who: KindOfCall, replies: Sequence[Read], used: int) -> None:
        self.who: KindOfCall = who
        self.used = used
        self._file = file
        self._replies = replies

    def __call__(self, request: object, /) -> Read:
        """Return the next reply.

        Raises:
            ScriptEnded: there is none left.
        """
        if self.used >= len(self._replies):
            raise ScriptEnded(self._file, self.who, len(self._replies))
        self.used += 1
        return self._replies[self.used - 1]


@final
@attrs.frozen
class Script:
    """A file, and its replies of the model, the judge and the summarizer, each in order."""

    file: str
    decisions: tuple[Decision, ...]
    verdicts: tuple[Verdict, ...]
    summaries: tuple[str, ...]


def read_script(file: str) -> Script:
    """Return the replies of a script.

    Raises:
        BadScript: a line is no reply; says which, and why.
        Refused: the file cannot be read.
    """
    replies: list[Decision | Verdict | str] = []
    lines = read_bytes(Path(file)).removeprefix(BOM_UTF8).split(b"\n")
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                replies.append(_reply_of(line))
            except ValueError as problem:
                raise BadScript(file, number, str(problem)) from None
    return Script(
        file,
        tuple([each for each in replies if isinstance(each, Decision)]),
        tuple([each for each in replies if isinstance(each, Passed | Failed)]),
        tuple([each for each in replies if isinstance(each, str)]),
    )


# -- one line ------------------------------------------------------------------------------------------


def _reply_of(line: bytes) -> Decision | Verdict | str:
    """Return the reply of a line; a `ValueError` says why the line is none."""
    said = _object_of(line)
    kind = next((kind for kind in _KEYS if kind in said), None)
    known = _MODEL if kind is None else _KEYS[kind]
    unknown = [key for key in said if key not in known]
    if unknown:
        there = (
            "act, note, compress, revise, look, finish, judge or summary"
            if kind is None
            else ", ".join(known)
        )
        raise ValueError(f"{unknown[0]!r} is no part of such a reply; there is {there}")
    if kind == "judge":
        return _verdict_of(said)
    return _text(said, "summary") if kind == "summary" else _decision_of(said)


def _object_of(line: bytes) -> Mapping[str, object]:
    try:
        said: object = json.loads(line.decode(), parse_constant=no_number)
    except UnicodeDecodeError as problem:
        raise ValueError(f"it is not UTF-8 at byte {problem.start}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError as problem:
        raise ValueError(f"it is not JSON at column {problem.colno}: {problem.msg}") from None
    if not isinstance(said, dict):
        raise ValueError('a reply is a JSON object, such as {"act": "look"}')
    return cast("Mapping[str, object]", said)


def _decision_of(said: Mapping[str, object]) -> Decision:
    own = [key for key in _OWN if key in said]
    if len(own) > 1:
        raise ValueError(f"it does both {own[0]} and {own[1]}: that is two replies")
    acts = said.get("act", [])
    actions = [Action(_action_of(each)) for each in (acts if isinstance(acts, list) else [acts])]
    actions += [Action(_text(said, "note"), is_note=True)] if "note" in said else []
    if not own and not actions:
        raise ValueError('it does nothing: {"act": "look"} acts, {"finish": "Done."} ends the task')
    if "lesson" in said and own != ["revise"]:
        raise ValueError("a lesson belongs to a revise")
    if {"words", "page"} & said.keys() and own != ["look"]:
        raise ValueError("words and a page belong to a look")
    return Decision(
        tuple(actions),
        _OWN[own[0]](said) if own else None,
        _text(said, "thought") if "thought" in said else "",
    )


def _action_of(given: object) -> str:
    """Return the action of a text, or of a call: an object with the tool's name and its arguments."""
    match given:
        case str():
            return given
        case dict() if len(given) == 1 and isinstance(arguments := next(iter(given.values())), dict):
            return action_text(next(iter(given)), arguments)
        case _:
            raise ValueError('an action is a text, or a call of a tool: {"act": {"press": {"button": 2}}}')


def _revise_of(said: Mapping[str, object]) -> Revise:
    step = said["revise"]
    if type(step) is not int or step < 0:
        raise ValueError("revise is the number of a step")
    return Revise(step, _text(said, "lesson"))


def _look_of(said: Mapping[str, object]) -> LookInto:
    place, page = said["look"], said.get("page", 1)
    numbers: list[Any] = place if isinstance(place, list) else [place, None]  # Any: JSON, looked at below
    if len(numbers) != 2 or not _is_count(numbers[0]) or not (numbers[1] is None or _is_count(numbers[1])):
        raise ValueError("look is the N of a [Step N], or [A, B] of a [Step A..B]")
    if not _is_count(page):
        raise ValueError("page is a number")
    label, boundary = cast("tuple[int, int | None]", numbers)
    return LookInto(label, boundary, _text(said, "words") if "words" in said else "", cast("int", page))


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


_OWN: Final[Mapping[str, Callable[[Mapping[str, object]], Then]]] = {
    "compress": lambda said: Compress(_text(said, "compress")),
    "revise": _revise_of,
    "look": _look_of,
    "finish": lambda said: Finish(_text(said, "finish")),
}
"""How each move of a model on its state is read, by its key."""


def _verdict_of(said: Mapping[str, object]) -> Verdict:
    fault = said.get("fault", "execution")
    match said["judge"]:
        case "passed" if len(said) == 1:
            return Passed()
        case "failed" if fault in FAULTS:
            feedback = _text(said, "feedback")
            if is_blank(feedback):
                raise ValueError("a judge that does not let a summary pass says why: its feedback is blank")
            return Failed(feedback, fault, _boundary_of(said))
        case "failed":
            raise ValueError(f"the fault of a failed summary is one of {', '.join(FAULTS)}")
        case _:
            raise ValueError('a judge says {"judge": "passed"} or {"judge": "failed", "feedback": "why"}')


def _boundary_of(said: Mapping[str, object]) -> StepId | None:
    boundary = said.get("boundary")
    if boundary is None:
        return None
    if not _is_count(boundary):
        raise ValueError("boundary is the number of a step")
    return StepId(cast("int", boundary))


def _text(said: Mapping[str, object], key: str) -> str:
    text = said.get(key)
    if not isinstance(text, str):
        raise ValueError(f"{key} is a text" if key in said else f"it lacks its {key}, a text")
    return text


# -- mage prompts: the words that models are asked with -----------------------------------------------------

_ENDING: Final = ".txt"


def prompts(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Else every prompt.")] = None,
    folder: PromptsFolder = None,
    into: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write them there, a file each, to be changed.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the prompts of models, judges and summarizers, each with its version and its hash.

    With each answer a run keeps a hash: of a judge or a summarizer that of its prompt, of a model that of all that is the
    same in every call, tools included.

    To change them, write them into a folder, edit those that you want, and name the folder: mage run --prompts DIR.
    """
    replaced = read_prompts(folder)
    shown = [replaced.of(_named(name)) for name in dict.fromkeys(names or REPLACEABLE)]
    if into is not None:
        _write(into, shown)
    if as_json:
        print_json(
            {each.name: {"version": each.version, "hash": each.hash, "text": each.text} for each in shown}
        )
    elif into is None:
        print_text("\n".join([f"== {_titled(each)}\n{each.text}\n" for each in shown]))
    else:
        say(f"wrote {len(shown)} prompts into {into}; mage run --prompts {into} asks with them")


def _named(name: str) -> Prompt:
    if name not in REPLACEABLE:
        raise Refused(str(UnknownName("prompt", name, tuple(REPLACEABLE))))
    return REPLACEABLE[name]


def _titled(prompt: Prompt) -> str:
    version = f"version {prompt.version}" if prompt.version else "your own"
    return f"{prompt.name}, {version}, {prompt.hash}"


def _write(folder: Path, shown: list[Prompt]) -> None:
    with refusing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    files = {folder / f"{each.name}{_ENDING}": each.text for each in shown}
    for file in files:
        require_absent(file)
    for file, text in files.items():
        write_new(file, [f"{text}\n".encode()])


def read_prompts(folder: str | None) -> Prompts:
    """Return the prompts of a folder, in which each file is `NAME.txt`; those of mage where `folder` is None.

    Raises:
        Refused: there is no such folder, or it is empty, or a file in it is no prompt.
    """
    if folder is None:
        return OURS
    with refusing(folder):
        files = sorted(each for each in Path(folder).iterdir() if not each.name.startswith("."))
    if not files:
        raise Refused(f"{folder}: there is no prompt in it; mage prompts --into {folder} writes ours there")
    try:
        return Prompts({_name_of(each): _words_in(each) for each in files})
    except (MageError, ValueError) as problem:
        raise Refused(f"{folder}: {problem}; each file is a prompt, NAME{_ENDING}") from None


def _name_of(file: Path) -> str:
    if not file.name.endswith(_ENDING):
        raise UnknownName("prompt", file.name, tuple(REPLACEABLE))
    return file.name.removesuffix(_ENDING)


def _words_in(file: Path) -> str:
    try:
        return read_bytes(file).removeprefix(BOM_UTF8).decode().replace("\r\n", "\n").removesuffix("\n")
    except UnicodeDecodeError as problem:
        raise Refused(f"{file}: a prompt is UTF-8, but byte {problem.start} is not") from None


# -- what answers in a run ----------------------------------------------------------------------------------


_PROMPT_MODES: Final[dict[Mode, PromptMode]] = {Mode.TOOLS: "tools", Mode.TEXT: "text", Mode.SCHEMA: "json"}


@final
@attrs.frozen
class Answerers:
    """Model, judge and summarizer of a run; None where the run has no judge, or no summarizer."""

    model: Model
    judge: Judge | None
    summarizer: Summarizer | None


def answerers_of(stack: ExitStack, asked: RunSetup, answers: Mapping[KindOfCall, int]) -> Answerers:
    """Return model, judge and summarizer of a run; nothing is sent yet.

    Args:
        stack: closes their client.
        asked: the setup of the run.
        answers: how many answers of each kind the run has: a script goes on behind its own.

    Raises:
        Refused: as `models_at`; or a script cannot be read.
    """
    if asked.is_by_hand:
        return Answerers(ByHand(read_prompts(asked.models.prompts)), judge_of(stack, asked.models), None)
    if asked.models.model is not None:
        return models_at(stack, asked.models)
    if asked.script is None:
        return Answerers(shop.shopper, shop.judge, shop.summarize)
    try:
        script = read_script(asked.script)
    except BadScript as problem:
        raise Refused(str(problem)) from None
    file = Path(asked.script).name
    used = {who: answers.get(who, 0) - asked.used.get(who, 0) for who in KINDS_OF_CALL}
    return Answerers(
        Played(file, "model", script.decisions, used["model"]),
        Played(file, "judge", script.verdicts, used["judge"]) if script.verdicts else None,
        Played(file, "summarizer", script.summaries, used["summarizer"]) if script.summaries else None,
    )


def models_at(stack: ExitStack, models: Models) -> Answerers:
    """Return models behind an address, else behind that of the environment variables, or OpenAI's; nothing is sent yet.

    Raises:
        Refused: there is no key or none that can be sent, no address or proxy that can be used, no such prompts, or no
            `openai` client.
    """
    prompts = read_prompts(models.prompts)
    name = models.model or ""
    with _models("--offline needs no model", models.base_url) as llm:
        client = stack.enter_context(llm.client(base_url=models.base_url))
        asked: Mapping[str, Any] = {"prompts": prompts, **models.sampling}  # Any: as `Sampling` takes them
        chat = llm.ChatModel(client, name, mode=_PROMPT_MODES[models.mode or Mode.TOOLS], **asked)
        is_by_hand = models.judge == BY_HAND
        judge = ByHand(prompts).judge if is_by_hand else llm.ChatJudge(client, models.judge or name, **asked)
        return Answerers(chat, judge, llm.ChatSummarizer(client, name, **asked))


def judge_of(stack: ExitStack, models: Models) -> Judge | None:
    """Return the judge that the options name, a model or the user; None where they name none. Nothing is sent yet.

    Raises:
        Refused: as `models_at`.
    """
    if models.judge is None:
        return None
    if models.judge == BY_HAND:
        return ByHand(read_prompts(models.prompts)).judge
    return models_at(stack, attrs.evolve(models, model=models.judge)).judge


def awaited_judge_at(model: str) -> AsyncJudge:
    """Return a judge behind the address of the environment variables, or OpenAI's; nothing is sent yet.

    Raises:
        Refused: as `models_at`.
    """
    with _models("without --judge the client's own model judges") as llm:
        judge: AsyncJudge = llm.AsyncChatJudge(llm.async_client(), model)
        return judge


@contextmanager
def _models(otherwise: str, base_url: str | None = None) -> Iterator[ModuleType]:
    """Yield `mage.llm`; refuse in one line a missing extra, a key, an address or a proxy that cannot be used."""
    _require_address("--base-url", base_url)
    _require_address("OPENAI_BASE_URL", os.environ.get("OPENAI_BASE_URL"))
    try:
        from mage import llm  # noqa: PLC0415  # an extra, and slow to load
    except ModuleNotFoundError as missing:
        raise Refused(str(missing)) from None
    try:
        yield llm
    except (llm.BadAddress, llm.BadProxy) as error:
        raise Refused(str(error)) from None
    except (llm.MissingKey, llm.BadKey) as error:
        raise Refused(f"{error}; {otherwise}") from None


def _require_address(where: str, given: str | None) -> None:
    if not given:
        return
    try:
        parts = urlsplit(given)
        names_host = given.isprintable() and bool((parts.hostname or "").encode("idna")) and parts.port != 0
        sound = names_host and parts.scheme in ("http", "https") and not (parts.query or parts.fragment)
    except ValueError:
        sound = False
    if not sound:
        raise Refused(
            f"{where}: an address begins with http:// or https://, names a host, and ends with its path"
        )
