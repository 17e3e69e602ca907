"""What a change touches: the functions that differ from a commit, as git sees it."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from specs.mutants.generate import ENGINE, ROOT, Mutant

_FILE: Final = re.compile(r"^\+\+\+ (?:b/(.+)|/dev/null)$")
_HUNK: Final = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def _git(*arguments: str, root: Path) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout


def default_base(root: Path = ROOT) -> str:
    """Return the commit that wrote `last.json`: all that came after it has not been measured with the rest.

    Raises:
        CalledProcessError: there is no history here.
    """
    measured = _git("log", "-1", "--format=%H", "--", "specs/mutants/last.json", root=root).strip()
    return measured or _git("rev-parse", "HEAD~1", root=root).strip()


def changed_lines(base: str, root: Path = ROOT) -> dict[str, set[int]]:
    """Return the lines of each source of the engine that differ from `base`, as they are numbered now.

    Where lines were only removed, the two around the gap count. So does what is not committed yet, but for
    files that git does not know.

    Raises:
        CalledProcessError: git knows no such commit.
    """
    diff = _git("diff", "--unified=0", "--no-color", "--no-ext-diff", base, "--", ENGINE, root=root)
    lines: dict[str, set[int]] = {}
    file = ""
    for line in diff.splitlines():
        if found := _FILE.match(line):
            file = found[1] or ""
        elif file and (found := _HUNK.match(line)):
            first, count = int(found[1]), int(found[2] or 1)
            lines.setdefault(file, set()).update(range(first, first + count) if count else (first, first + 1))
    return lines


def unmeasured(root: Path = ROOT) -> dict[str, set[int]]:
    """Return every line of each source of the engine that is not the one which `last.json` has measured.

    So a clone without history, or a commit that touches `last.json` as well, hides nothing.
    """
    last = root / "specs" / "mutants" / "last.json"
    measured = json.loads(last.read_text(encoding="utf-8")).get("sources", {}) if last.exists() else {}
    return {
        name: set(range(1, text.count(b"\n") + 2))
        for name, text in (
            (f"{ENGINE}/{path.name}", path.read_bytes()) for path in (root / ENGINE).glob("*.py")
        )
        if measured.get(name) != hashlib.sha256(text).hexdigest()
    }


def touched(mutants: Iterable[Mutant], changed: Mapping[str, set[int]]) -> list[Mutant]:
    """Return the mutants in those functions of which a line has changed, and those on other changed lines."""
    return [
        mutant for mutant in mutants if not changed.get(mutant.name.file, set()).isdisjoint(mutant.within)
    ]
