"""The models that TLC goes through, and the controls: literal readings, each of which must break a property."""

from __future__ import annotations

import re
from typing import Final, final

import attrs

from specs.explore import CHAPTERS, SMALL, WAYS, WIDE, Alphabet
from specs.tla.tools import FOLDER


@final
@attrs.frozen
class Model:
    """One configuration, in which everything must hold.

    Attributes:
        name: how it is reported.
        config: the configuration's name in this folder.
        depth: of the sequences of commands; 0 where only the sizes bound them.
        alphabet: what the explorer must count the same of, to this depth.
        module: the module that it is a model of: Bounded for the machine, Shell for what is around it.
    """

    name: str
    config: str
    depth: int = 0
    alphabet: Alphabet | None = None
    module: str = "Bounded"


MODELS: Final = (
    Model("small, depth 6", "small", 6, SMALL),
    Model("wide, depth 4", "wide", 4, WIDE),
    Model("ways, depth 9", "ways", 9, WAYS),
    Model("chapters, depth 10", "chapters", 10, CHAPTERS),
    Model("branches", "branches"),
    Model("texts", "texts"),
    Model("instructions", "instructions"),
    Model("chain", "chain"),
    Model("runs", "runs"),
    Model("nested", "nested"),
    Model("shell, judged", "shell_judged", module="Shell"),
    Model("shell, commands", "shell_commands", module="Shell"),
    Model("shell, in doubt", "shell_doubt", module="Shell"),
    Model("shell, three writers", "shell_three", module="Shell"),
    Model("shell, forks", "shell_forks", module="Shell"),
    Model("shell, forks of forks", "shell_lineage", module="Shell"),
    Model("shell, backup put back", "shell_restored", module="Shell"),
)
"""Histories to a depth, compared with the explorer; then histories of any length, bounded in size; then sessions."""


@final
@attrs.frozen
class Control:
    """A literal reading, or a plain fault, and what it must break.

    Attributes:
        reading: its name in Mage.tla or Shell.tla.
        closed: the decision that closes it, the law it is against, or what a store or a session promises
            (`mage.stores.protocol`, `mage.session.core`).
        breaks: the property that TLC must report.
        spared: properties that see the same fault first and are left out, so that `breaks` has its turn.
        config: the configuration it is tried in.
        module: the module of that.
    """

    reading: str
    closed: str
    breaks: str
    spared: tuple[str, ...] = ()
    config: str = "small"
    module: str = "Bounded"


_COMPOSED: Final = (
    "grow_is_idempotent",
    "compress_reuses_summary",
    "retext_is_a_detour_saved",
    "fallbacks_leave_no_trace",
)
"""Laws that run whole sequences in one step, so see any fault before the property it is about."""

_OF_A_SUMMARY: Final = ("trust_is_current", "changes_are_local")
"""Properties that see at once that a summary says something else."""

_OF_THE_MACHINE: Final = (
    Control("EmptySegment", "D3", "covers_are_contiguous"),
    Control("InclusiveTrace", "D3", "covers_are_contiguous"),
    Control("LabelOneBack", "D1", "covers_are_contiguous", config="runs"),
    Control("LabelOneBack", "D1", "labels_rise", ("covers_are_contiguous",), "runs"),
    Control("StepIdIsUnique", "D1", "nothing_is_lost", config="branches"),
    Control("UncheckedTarget", "D7", "heads_agree"),
    Control("NoOpenTarget", "D7", "open_segment_can_be_dropped", ("way_can_be_gone_back",)),
    Control("RevisedToFailedBoundary", "D7", "way_is_trusted"),
    Control("RevisedByThePathAlone", "D7", "way_can_be_gone_back"),
    Control("AnyBoundaryNamed", "D5", "origin_can_be_gone_back_to", config="wide"),
    Control("ReviseStopsAtTheLabel", "D7", "revise_restores"),
    Control("ReviseDiscards", "L1", "steps_form_a_tree"),
    Control("ReviseKeepsC", "L6", "stored_is_derived"),
    Control("ReviseKeepsC", "L6", "errors_are_isolated", ("stored_is_derived",)),
    Control("LessonWhereItFailed", "D8", "lessons_stand_at_boundaries"),
    Control("LessonWhereItFailed", "L9", "changes_are_local", ("lessons_stand_at_boundaries",)),
    Control("HintsReplaced", "D9", "lessons_are_shown"),
    Control("LessonsOfTheBoundaryAlone", "D8", "lessons_are_shown"),
    Control("LessonsOfTheBoundaryAlone", "L13", "fallback_hides_nothing", ("lessons_are_shown",)),
    Control("StaleNote", "D4", "way_is_trusted", config="branches"),
    Control("StaleNote", "L11", "retext_is_a_detour_saved", ("way_is_trusted",)),
    Control("FeedbackLostOnRetext", "D4", "old_feedback_is_left"),
    Control("TextFeedbackKept", "D4", "old_feedback_is_left", config="wide"),
    Control("StaleAnswerTaken", "D5", "trust_is_current"),
    Control("QuestionFollowsTheHead", "D5", "question_stands"),
    Control("JudgedByItsStepsAlone", "D5", "judge_sees_what_is_above"),
    Control("NoGate", "D6", "phases_are_as_said"),
    Control("NoGate", "D6", "way_is_trusted", ("phases_are_as_said",)),
    Control("AcceptForgets", "D6", "accept_is_open"),
    Control("AcceptLooksLikeAPass", "D6", "trust_is_current"),
    Control("FallbacksStay", "D12", "taken_in_are_fallbacks"),
    Control("FallbacksStay", "L12", "fallbacks_leave_no_trace", ("taken_in_are_fallbacks",)),
    Control("AfterItsParent", "D12", "question_is_whole"),
    Control("EarlierForgotten", "D12", "question_is_whole"),
    Control("InstructionsFromTheBoundary", "D17", "fallback_hides_nothing"),
    Control("InstructedTwice", "D17", "instructions_differ"),
    Control("GrowNeverMerges", "D10", "siblings_differ"),
    Control("GrowNeverMerges", "L3", "grow_is_idempotent", ("siblings_differ",)),
    Control("CompressNeverMerges", "D4", "sibling_covers_differ", config="branches"),
    Control("CompressNeverMerges", "L4", "compress_reuses_summary", ("sibling_covers_differ",)),
    Control("GrowMergesAcrossParents", "D10", "stored_is_derived"),
    Control("GrowMergesAcrossParents", "D10", "path_is_whole", ("stored_is_derived", "heads_agree")),
    Control("CompressMergesAcrossParents", "D4", "stored_is_derived", ("taken_in_are_fallbacks",), "chain"),
    Control("ChapterKept", "D19", "chapters_unfold", ("stored_is_derived",), "nested"),
    Control("ChapterKept", "D19", "chapters_stand", ("stored_is_derived", "chapters_unfold"), "nested"),
    Control("FallbacksFolded", "D19", "chapters_unfold", config="chapters"),
    Control("FoldedIntoASummary", "L14", "fold_changes_only_what_is_shown", _OF_A_SUMMARY, "nested"),
)


def _shell(wrong: str, promise: str, breaks: str, config: str, spared: tuple[str, ...] = ()) -> Control:
    return Control(wrong, promise, breaks, spared, f"shell_{config}", "Shell")


_OF_THE_SHELL: Final = (
    _shell("NoCompareAndSwap", "one line", "one_command_a_version", "doubt"),
    _shell("NoCompareAndSwap", "one line", "records_form_a_chain", "doubt", ("one_command_a_version",)),
    _shell("ReadThenWrite", "one line", "one_command_a_version", "doubt"),
    _shell("SwapOnVersionOnly", "one line", "records_form_a_chain", "restored"),
    _shell("MergeOnConflict", "one line", "loser_is_told", "doubt"),
    _shell("BatchInTwo", "whole", "batch_is_whole", "doubt"),
    _shell("AckBeforeDurable", "durable", "acknowledged_is_kept", "doubt"),
    _shell("SettledByVersion", "durable", "acknowledged_is_kept", "doubt"),
    _shell("SettledWithoutWaiting", "durable", "not_written_stays_so", "doubt"),
    _shell("RetryInDoubt", "durable", "nothing_is_written_twice", "doubt"),
    _shell("ForkFollowsItsParent", "fork", "fork_stands", "forks"),
    _shell("SlotBeforeAck", "one slot", "slot_is_a_prefix", "doubt"),
    _shell("CancelDoesNotWait", "one slot", "loser_is_told", "doubt"),
    _shell("VerdictWithoutHead", "one head", "verdict_meets_its_summary", "judged"),
    _shell("SummaryAfterRefresh", "one head", "summary_covers_its_head", "commands"),
    _shell("NeverAskedAgain", "resumed", "resumed_asks_again", "judged"),
)

CONTROLS: Final = (*_OF_THE_MACHINE, *_OF_THE_SHELL)

_NAMES: Final = re.compile(r"^(INVARIANTS|PROPERTIES)\n((?: .*\n)+)", re.MULTILINE)


def property_names(config: str) -> tuple[str, ...]:
    """Return the invariants and properties that a configuration's text has TLC check, in its order."""
    names = [name for _, part in _NAMES.findall(config) for name in part.split()]
    odd = [name for name in names if not name.isidentifier()]
    if odd:
        raise ValueError(
            f"the configuration has {odd[0]} among its properties: TLC may not check what stands there"
        )
    return tuple(names)


def constants(config: str) -> dict[str, str]:
    """Return what a configuration's text sets each constant to, as TLA+ writes it."""
    return dict(re.findall(r"^  (\w+) = (.*)$", config, flags=re.MULTILINE))


def config_of(item: Model | Control) -> str:
    """Return the text of the configuration for one run: that of the folder, with what this one changes."""
    text = (FOLDER / f"{item.config}.cfg").read_text(encoding="utf-8")
    if isinstance(item, Model):
        return _with(text, "MaxDepth", str(item.depth)) if item.module == "Bounded" else text
    switched = f'{{"{item.reading}"}}'
    if item.module == "Bounded":
        text = _with(_with(text, "Literal", switched), "MaxDepth", "0")
        text = _with(text, "Tries", "FALSE").replace("VIEW View", "VIEW Asked")
    else:
        text = _with(text, "Wrong", switched)
    spared = {*_COMPOSED, *item.spared} - {item.breaks}
    return _NAMES.sub(
        lambda part: f"{part[1]}\n  {' '.join(name for name in part[2].split() if name not in spared)}\n",
        text,
    )


def _with(text: str, constant: str, value: str) -> str:
    changed, times = re.subn(rf"^  {constant} = .*$", f"  {constant} = {value}", text, flags=re.MULTILINE)
    if times != 1:
        raise ValueError(f"the configuration names {constant} {times} times, not once")
    return changed
