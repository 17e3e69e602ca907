"""Prints, for pip, the oldest version of each package that `pyproject.toml` admits: `make oldest` tests with these."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Final

_FLOOR: Final = re.compile(r"([\w.-]+)(?:\[[\w,-]*\])?>=([\w.]+)")


def oldest(pyproject: str) -> list[str]:
    """Return the oldest versions that the text of a `pyproject.toml` admits, of what users install.

    Raises:
        ValueError: a requirement says no oldest version.
    """
    project = tomllib.loads(pyproject)["project"]
    extras = project["optional-dependencies"].values()
    asked = [*project["dependencies"], *[each for extra in extras for each in extra]]
    found = {each: _FLOOR.fullmatch(each) for each in asked if not each.startswith(project["name"])}
    unsaid = [each for each, floor in found.items() if floor is None]
    if unsaid:
        raise ValueError(f"no oldest version is said of {unsaid[0]}")
    return [f"{floor[1]}=={floor[2]}" for floor in found.values() if floor is not None]


if __name__ == "__main__":
    sys.stdout.write("\n".join(oldest(Path(sys.argv[1]).read_text(encoding="utf-8"))) + "\n")
