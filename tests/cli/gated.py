"""The demo's shop with a gate: a process that acts in it says that it has come to the gate, and waits for ever."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final, final

import attrs

from mage import Session
from mage.demo.shop import Shop
from mage.effects import Capabilities, Irreversible, Observed, Tool

ARRIVED: Final = "arrived"
NEVER: Final = "never"
PAID: Final = "paid"


class Gated:
    """The shop, as an environment that is made of `FOLDER=N`: at the N-th action it comes to the gate.

    The folder holds two named pipes. Whoever reads `arrived` to its end knows that the action was begun, and
    not finished; nobody ever writes to `never`.
    """

    capabilities = Shop.capabilities

    def __init__(self, arguments: str) -> None:
        folder, _, number = arguments.rpartition("=")
        self._folder = Path(folder)
        self._left = int(number)
        self._shop = Shop()

    def reset(self) -> Observed:
        return self._shop.reset()

    def act(self, action: str) -> Observed:
        self._left -= 1
        if not self._left:
            (self._folder / ARRIVED).open("w").close()
            (self._folder / NEVER).open().close()
        return self._shop.act(action)


@final
class Posting(Gated):
    """The same, which knows beforehand that what is bought was paid for; each payment is a line of a file there."""

    capabilities = attrs.evolve(
        Shop.capabilities,
        foresees=lambda action: Irreversible("it is paid") if action.startswith("buy") else None,
    )

    def act(self, action: str) -> Observed:
        if action.startswith("buy"):
            with (self._folder / PAID).open("a") as paid:
                paid.write(f"{action}\n")
        return super().act(action)


@final
class Freed(Gated):
    """The same without a gate."""

    def __init__(self) -> None:
        super().__init__("=0")


class Lamps:
    """An environment that has nothing to do with the shop."""

    capabilities = Capabilities("replay")

    def reset(self) -> str:
        self._lit = 0
        return "A row of lamps, all off."

    def act(self, action: str) -> str:
        self._lit += action.startswith("light")
        return f"{self._lit} are lit."


class Broken:
    """An environment that raises something of its own when it acts; its message would draw on a terminal."""

    capabilities = Capabilities("replay")

    def reset(self) -> str:
        return "A dark room."

    def act(self, action: str) -> str:
        raise KeyError(f"no \x1b[31mlamp, {action}")


class Counting(Broken):
    """An environment that answers with something else than an observation."""

    def act(self, action: str) -> str:
        return len(action)  # type: ignore[return-value]  # that is the mistake


class Leaving(Broken):
    """An environment that ends the process when it acts, as a script of one's own may; and with status 0."""

    def act(self, action: str) -> str:
        sys.exit()


class _Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Silent(Broken):
    """An environment whose error cannot be printed."""

    def act(self, action: str) -> str:
        raise _Mute


class Talking(Broken):
    """An environment that prints what it does, as one does while writing one."""

    def __init__(self) -> None:
        print("made")  # that is the point
        self._shop = Shop()

    def reset(self) -> str:
        print("reset")
        return str(self._shop.reset().text)

    def act(self, action: str) -> str:
        print("act", action)
        return str(self._shop.act(action).text)


class Misread(Broken):
    """An environment that gives a library something which that takes ill."""

    def act(self, action: str) -> str:
        return str(json.loads(action))


class Beside(Broken):
    """An environment of a run whose session is run by somebody else meanwhile: they write notes."""

    def __init__(self, arguments: str) -> None:
        self._url, _, self._name = arguments.rpartition("#")

    def reset(self) -> str:
        with Session.open(self._url, self._name, wait=False) as session:
            session.note("started", "{}")
        return "A dark room."


class Claiming:
    """An environment that names a way to be restored that there is not."""

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities("snapshot")  # type: ignore[arg-type]  # that is the mistake

    def reset(self) -> str:
        return ""

    def act(self, action: str) -> str:
        return action


class Greedy(Broken):
    """An environment whose tool has a name of ours."""

    capabilities = Capabilities(tools=(Tool.of("finish", "End it."),))


class Unfinished:
    """Something that is no environment."""

    def __init__(self, arguments: str = "") -> None:
        if arguments:
            raise ValueError(f"what is {arguments}?")
