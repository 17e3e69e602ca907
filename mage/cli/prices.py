"""What a run has cost: its tokens at the prices of a table of the user's, by the names of models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, TypeAlias, final

import attrs
import typer

from mage.cli.output import Refused, read_bytes, some_of
from mage.effects import Usage
from mage.memory.outcomes import Totals
from mage.render import printable

_MILLION: Final = 1_000_000
_HIGHEST: Final = 1e12
_KEYS: Final = ("prompt", "cached", "completion")

PricesFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        metavar="FILE",
        envvar="MAGE_PRICES",
        readable=False,
        help='Prices of a million tokens, as JSON: {"MODEL": {"prompt": 2, "cached": 0.5, "completion": 8}}.',
    ),
]


@final
@attrs.frozen
class Price:
    """What a million tokens of a model cost, in a currency of the user's."""

    prompt: float
    cached: float
    completion: float

    def of(self, usage: Usage) -> float:
        """Return what calls have cost."""
        fresh = usage.prompt - usage.cached
        return (
            fresh * self.prompt + usage.cached * self.cached + usage.completion * self.completion
        ) / _MILLION


def read_prices(file: Path | None) -> dict[str, Price]:
    """Return the prices of a file, by the beginnings of models' names; none where there is no file.

    Raises:
        Refused: it is not JSON, or a price is none.
    """
    if file is None:
        return {}
    try:
        said: object = json.loads(read_bytes(file))
    except (ValueError, RecursionError):
        raise Refused(f"{file}: this is not JSON") from None
    if not isinstance(said, dict):
        raise Refused(f"{file}: prices are a JSON object, with an object for each model")
    return {name: _price(file, name, each) for name, each in said.items()}


def _price(file: Path, name: str, said: object) -> Price:
    given = said if isinstance(said, dict) else {}
    prices = {"cached": given.get("prompt"), **given}
    if set(prices) != {*_KEYS} or not all(map(_is_price, prices.values())):
        raise Refused(
            f'{file}: the price of {name} is an object such as {{"prompt": 2, "cached": 0.5, "completion": 8}}, each'
            " a number from 0 on; cached may be left out"
        )
    return Price(**{key: float(prices[key]) for key in _KEYS})


def _is_price(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _HIGHEST


@final
@attrs.frozen
class Cost:
    """What a run has cost, and the models that have no price."""

    amount: float
    unpriced: tuple[str, ...]

    def __str__(self) -> str:
        missing = f", without {printable(some_of(self.unpriced))}, which no price is given for"
        return f"cost {self.amount:,.4f}" + missing * bool(self.unpriced)

    @classmethod
    def of(cls, models: Mapping[str, Usage], prices: Mapping[str, Price]) -> Cost:
        """Return the cost of what models were asked; of the prices that fit a name, the longest counts."""
        amount, unpriced = 0.0, list[str]()
        for model, usage in models.items():
            fitting = [name for name in prices if model.startswith(name)]
            if fitting:
                amount += prices[max(fitting, key=len)].of(usage)
            elif usage.total:
                unpriced.append(model or "a model without a name")
        return cls(amount, tuple(unpriced))


def cost_document(totals: Totals, prices: Mapping[str, Price]) -> dict[str, object]:
    """Return what a run has cost, and the models without a price, as JSON; nothing where there are no prices."""
    return {"cost": attrs.asdict(Cost.of(totals.models, prices))} if prices else {}
