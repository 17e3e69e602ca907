"""What model checking says, and that it would say otherwise: models, controls and the tool."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import attrs
import pytest

from specs import tlc as checker
from specs.explore import ALPHABETS, SMALL, WIDE, Alphabet
from specs.tla import tools
from specs.tla.models import CONTROLS, MODELS, Control, Model, config_of, constants, property_names
from specs.tla.tools import FOLDER, ToolError, fetch, find
from specs.tlc import check_control, check_model, main
from tests.specs.readme import rows, section
from tests.specs.tlc_here import needs_tlc, tlc

CONFIGS = sorted(path for path in FOLDER.glob("*.cfg") if path.stem != "Recorded")
MODULES = sorted(FOLDER.glob("*.tla"))
ALL_PROPERTIES = property_names((FOLDER / "small.cfg").read_text(encoding="utf-8"))
PROMISES = property_names((FOLDER / "shell_judged.cfg").read_text(encoding="utf-8"))
IN_MODULE = {"Bounded": ALL_PROPERTIES, "Shell": PROMISES}
NOT_EXPRESSIBLE = {
    "indexes_agree",
    "old_versions_stand",
    "refusal_changes_nothing",
    "same_journal_same_state",
    "no_change_same_object",
}


def names(value: str) -> list[str]:
    """Return the strings of a set."""
    return re.findall(r'"([^"]*)"', value)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_every_model_checks_every_property(model: Model) -> None:
    """No configuration leaves out an invariant, a law or a promise of its module."""
    assert property_names(config_of(model)) == IN_MODULE[model.module]


def test_every_promise_is_checked() -> None:
    """What Shell.tla defines in its last part is checked, all of it."""
    text = (FOLDER / "Shell.tla").read_text(encoding="utf-8").split("(* What is promised. *)")[1]
    assert sorted(re.findall(r"^([a-z]\w+) ==", text, flags=re.MULTILINE)) == sorted(PROMISES)


def test_every_configuration_is_run() -> None:
    """Each configuration of the folder is that of a model."""
    assert {model.config for model in MODELS} == {path.stem for path in CONFIGS}


def test_every_invariant_and_law_has_its_name_in_the_model() -> None:
    """What README names is checked under that name, but for what has no meaning for values that are not objects."""
    named = {row[1].strip("`") for row in [*rows(section("Invariants")), *rows(section("Laws"))]}
    assert len(named) > 20
    assert named - NOT_EXPRESSIBLE <= set(ALL_PROPERTIES)
    assert named >= NOT_EXPRESSIBLE


def test_every_property_is_one_that_can_break() -> None:
    """For each property there is a control that breaks it: none of them is true of everything."""
    assert {control.breaks for control in CONTROLS} == {*ALL_PROPERTIES, *PROMISES}


def test_every_reading_is_a_control() -> None:
    """Each literal reading and each fault in the modules is switched on somewhere, and each control's is there."""
    readings = {
        name
        for path in MODULES
        for name in re.findall(r'(?:Literally|Wrongly)\("(\w+)"\)', path.read_text(encoding="utf-8"))
    }
    assert readings == {control.reading for control in CONTROLS}


@pytest.mark.parametrize("alphabet", ALPHABETS.values(), ids=lambda alphabet: alphabet.name)
def test_the_alphabet_is_the_explorers(alphabet: Alphabet) -> None:
    """What is compared with the explorer goes through as many contents, texts, kinds, faults, lessons."""
    set_to = constants((FOLDER / f"{alphabet.name}.cfg").read_text(encoding="utf-8"))
    assert len(names(set_to["Contents"])) == len(alphabet.contents)
    assert names(set_to["Texts"]) == list(alphabet.texts)
    assert names(set_to["Kinds"]) == list(alphabet.kinds)
    assert names(set_to["Retexts"]) == list(alphabet.retexts)
    assert names(set_to["Faults"]) == list(alphabet.faults)
    assert names(set_to["Lessons"]) == list(alphabet.lessons)
    assert names(set_to["Chapters"]) == list(alphabet.folds)
    assert set_to["Origins"] == str(alphabet.origins).upper()
    assert set_to["WrongOrigins"] == str(alphabet.wrong_origins).upper()
    assert set_to["Accepts"] == str(alphabet.accepts).upper()
    assert set_to["Standing"] == f"{{{', '.join(str(each).upper() for each in alphabet.standing)}}}"


def test_a_control_is_its_model_with_one_reading_more() -> None:
    """A control switches its reading on, checks what it is about, and leaves out what would see it first."""
    control = Control("StaleNote", "D4", "nothing_is_lost", ("way_is_trusted",))
    config = config_of(control)
    assert constants(config)["Literal"] == '{"StaleNote"}'
    composed = {"grow_is_idempotent", "compress_reuses_summary", "retext_is_a_detour_saved"}
    left_out = set(ALL_PROPERTIES) - set(property_names(config))
    assert left_out == {"way_is_trusted", *composed, "fallbacks_leave_no_trace"}


def test_a_control_of_the_shell_is_its_model_with_one_fault_more() -> None:
    """Beside the fault and what would see it first, nothing of the configuration is changed."""
    control = Control("ReadThenWrite", "one line", "fork_stands", ("loser_is_told",), "shell_doubt", "Shell")
    model = next(model for model in MODELS if model.config == "shell_doubt")
    config = config_of(control)
    assert constants(config) == {**constants(config_of(model)), "Wrong": '{"ReadThenWrite"}'}
    assert set(PROMISES) - set(property_names(config)) == {"loser_is_told"}
    assert config.splitlines()[:4] == config_of(model).splitlines()[:4]


def test_a_constant_that_is_not_there_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A configuration that lacks what a model sets is refused, not run as it is."""
    (tmp_path / "small.cfg").write_text("CONSTANTS\n", encoding="utf-8")
    monkeypatch.setattr("specs.tla.models.FOLDER", tmp_path)
    with pytest.raises(ValueError, match="names MaxDepth 0 times"):
        config_of(MODELS[0])


def test_another_jar_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A jar that is not the pinned one is not run, whether it was named, set or fetched before."""
    other = tmp_path / "other.jar"
    other.write_bytes(b"another")
    monkeypatch.setattr(shutil, "which", lambda command: command)
    monkeypatch.setattr(tools, "JAR", other)
    with pytest.raises(ToolError, match="not the pinned jar"):
        find(other)
    monkeypatch.setenv("TLA2TOOLS", str(other))
    with pytest.raises(ToolError, match="not the pinned jar"):
        find()
    with pytest.raises(ToolError, match="not the pinned jar"):
        fetch()


@needs_tlc
@pytest.mark.parametrize("alphabet", ALPHABETS.values(), ids=lambda alphabet: alphabet.name)
def test_tlc_counts_what_the_explorer_counts(alphabet: Alphabet) -> None:
    """To depth 3 both meet as many states, edges and refusals, and every property holds."""
    found = check_model(tlc(), Model("shallow", alphabet.name, 3, alphabet))
    assert found.wrong == ""
    assert found.distinct == {"small": 189, "wide": 270, "ways": 22, "chapters": 18}[alphabet.name]


@needs_tlc
def test_other_counts_are_noticed() -> None:
    """A model that goes through another alphabet than the explorer is wrong, and says both counts."""
    found = check_model(tlc(), Model("other", "small", 2, WIDE))
    assert "TLC counts 29 states and 103 met, the explorer 37 states and 141 met" in found.wrong


@needs_tlc
def test_a_model_in_which_something_breaks_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A property that does not hold is named, with the behaviour that shows it."""
    literal = config_of(Control("EmptySegment", "D3", "covers_are_contiguous"))
    monkeypatch.setattr(checker, "config_of", lambda model: literal)
    found = check_model(tlc(), Model("literal", "small", 2, SMALL))
    assert found.wrong.startswith("covers_are_contiguous does not hold:")
    assert 'op |-> "compress"' in found.wrong


@needs_tlc
def test_a_model_that_tlc_cannot_run_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ends before all states were seen is no success."""
    monkeypatch.setattr(checker, "config_of", lambda model: config_of(model).replace("MaxDepth", "MaxDeep"))
    found = check_model(tlc(), Model("broken", "small", 2, SMALL))
    assert found.wrong.startswith("TLC did not finish:")


@needs_tlc
def test_a_run_that_takes_too_long_is_wrong() -> None:
    """A model that TLC does not get through in time is no success."""
    hasty = attrs.evolve(tlc(), most=0.01)
    found = check_model(hasty, Model("small, depth 2", "small", 2, SMALL))
    assert found.wrong.startswith("TLC did not finish:")
    assert "timed out" in found.wrong


@needs_tlc
def test_a_control_that_does_not_fail_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reading that breaks nothing, or something else than it should, is wrong."""
    nothing = Control("Harmless", "one line", "loser_is_told", config="shell_doubt", module="Shell")
    small = config_of(nothing).replace("MaxVersion = 4", "MaxVersion = 2")
    with monkeypatch.context() as patched:
        patched.setattr(checker, "config_of", lambda control: small)
        harmless = check_control(tlc(), nothing)
    assert (harmless.broken, harmless.wrong) == (None, "loser_is_told should break")
    other = check_control(tlc(), Control("NoGate", "D6", "labels_rise"))
    assert other.wrong == "labels_rise should break, phases_are_as_said does"


@needs_tlc
def test_a_model_of_the_shell_keeps_its_promises(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two versions TLC goes through all 86 states, and every promise holds in each."""
    small = config_of(Model("", "shell_doubt", module="Shell")).replace("MaxVersion = 4", "MaxVersion = 2")
    monkeypatch.setattr(checker, "config_of", lambda model: small)
    found = check_model(tlc(), Model("shell, two versions", "shell_doubt", module="Shell"))
    assert found.wrong == ""
    assert (found.distinct, found.properties) == (86, PROMISES)


@needs_tlc
def test_a_control_of_the_shell_shows_its_way() -> None:
    """A commit is written twice through the doubt about one that landed: by no shorter way."""
    found = check_control(tlc(), next(each for each in CONTROLS if each.reading == "RetryInDoubt"))
    assert found.wrong == ""
    assert found.way == ("open", "grow", "begin", "doubt", "land", "conflict", "begin", "land")


@needs_tlc
def test_the_command_reports_and_writes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A line a result, the results as JSON, and the exit status says whether all are as they should be."""
    gate = Control("NoGate", "D6", "phases_are_as_said")
    monkeypatch.setattr(checker, "MODELS", (Model("small, depth 2", "small", 2, SMALL),))
    monkeypatch.setattr(checker, "CONTROLS", (gate,))
    assert main(["--json", str(tmp_path / "models.json")]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["small, depth 2", "not D6: NoGate"]
    assert last.startswith("1 models and 1 controls in ")
    assert last.endswith(": 0 not as they should be")
    written = json.loads((tmp_path / "models.json").read_text(encoding="utf-8"))
    assert written["models"][0]["explored"] == {"alphabet": "small", "depth": 2}
    assert written["models"][0]["properties"] == list(ALL_PROPERTIES)
    assert written["models"][0]["distinct"] == 29
    assert written["models"][0]["constants"]["Contents"] == '{"a", "b"}'
    assert written["controls"][0]["breaks"] == written["controls"][0]["should_break"] == "phases_are_as_said"
    assert written["controls"][0]["way"] == ["grow", "compress", "compress"]
    monkeypatch.setattr(checker, "CONTROLS", (Control("NoGate", "D6", "labels_rise"),))
    assert main([]) == 1
