"""The proofs of `specs/coq`, checked anew, and the oracle that is made of them.

`python -m specs.proofs` compiles every file, prints what each theorem assumes (nothing), lets a second
checker look at all of it again, extracts the machine and builds `build/specs/oracle`. Exit status 1 where
anything is assumed or unproved, 2 where a tool is missing. From apt: coq, libsha-ocaml-dev (which bring
OCaml and findlib).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, final

import attrs

SPECS: Final = Path(__file__).resolve().parent
BUILD: Final = SPECS.parent / "build" / "specs"
ORACLE: Final = BUILD / "oracle"
"""Where the oracle is built."""

_TOOLS: Final = {"coqc": "coq", "coqdep": "coq", "coqchk": "coq", "ocamlfind": "libsha-ocaml-dev"}
_UNPROVED: Final = re.compile(
    r"\b(Unset\s+(?:Guard|Positivity|Universe)|Admitted|admit|give_up|Axioms?|Parameters?|Conjecture|Abort|bypass_check|type_in_type|Extract\s+(?:Inlined\s+)?(?:Constant|Inductive))\b"
)
_ASSUMED: Final = re.compile(r"\b(Variables?|Hypothes[ie]s|Context)\b")
_MAY_ASSUME: Final = frozenset({"Given", "Machine", "Path"})
"""Files whose sections have variables; what they assume of them becomes a premise, in plain sight."""
_THEOREM: Final = re.compile(r"^(?:Theorem|Corollary)\s+(\w+)", re.MULTILINE)
_COMMENT: Final = re.compile(r"\(\*(?:(?!\(\*).)*?\*\)", re.DOTALL)
_NO_MODULES: Final = frozenset({"Given"})  # what each file loads into its section: compiled alone, it assumes
_NO_PROOFS: Final = frozenset({"Extract", "All", "Said"})
STATEMENTS: Final = "statements.txt"
"""What each theorem says, as Coq prints it: committed, so that none can be weakened unseen."""
_CLOSED: Final = "Closed under the global context"


@final
class Unproved(Exception):
    """A proof that is not one, a theorem that assumes something, or a tool that is not there.

    Attributes:
        status: the exit status: 1, or 2 for a missing tool.
    """

    def __init__(self, detail: str, status: int = 1) -> None:
        self.status = status
        super().__init__(detail)


@final
@attrs.frozen
class Theorem:
    """A theorem and the file (a module, without `.v`) that proves it."""

    name: str
    file: str


def theorems(folder: Path = SPECS / "coq") -> tuple[Theorem, ...]:
    """Return every theorem of the files there, in order of files and lines."""
    return tuple(
        Theorem(name, path.stem)
        for path in sorted(folder.glob("*.v"))
        for name in _THEOREM.findall(path.read_text(encoding="utf-8"))
    )


def check_proofs(source: Path = SPECS / "coq", build: Path = BUILD / "coq") -> tuple[Theorem, ...]:
    """Compile and check everything in `source`, in a fresh folder `build`; return what is proved.

    Raises:
        Unproved: something is assumed, admitted, or does not compile; or a tool is missing.
    """
    _require_tools()
    for path in sorted(source.glob("*.v")):
        if wrong := unproved(path):
            raise Unproved(wrong)
    shutil.rmtree(build, ignore_errors=True)
    shutil.copytree(source, build, ignore=shutil.ignore_patterns("*.vo*", "*.glob", ".*.aux"))
    files = _run(build, "coqdep", "-sort", "-Q", ".", "Mage", *_names(build)).split()
    for file in files:
        _run(build, "coqc", "-q", "-w", "-all", "-Q", ".", "Mage", file)
    proved = theorems(build)
    _print_assumptions(build, proved)
    _compare_statements(build, proved, source / STATEMENTS)
    modules = [f"Mage.{name[:-2]}" for name in _names(build) if name[:-2] not in _NO_PROOFS]
    checked = _run(build, "coqchk", "-silent", "-o", "-Q", ".", "Mage", *modules)
    if "Axioms: <none>" not in checked:
        raise Unproved(f"coqchk finds axioms:\n{checked}")
    return proved


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.v") if path.stem not in _NO_MODULES)


def unproved(path: Path) -> str | None:
    """Return where a file lets Coq believe something without proof, None if nowhere. Comments may say anything."""
    text = path.read_text(encoding="utf-8")
    for number, line in enumerate(_without_comments(text).splitlines(), start=1):
        found = _UNPROVED.search(line)
        if found is None and path.stem not in _MAY_ASSUME:
            found = _ASSUMED.search(line)
        if found:
            return f"{path.name}:{number}: {found.group()}: nothing here may be assumed"
    return None


def _without_comments(text: str) -> str:
    """Return Coq source with its comments, which nest, blanked out."""
    while innermost := _COMMENT.search(text):
        start, end = innermost.span()
        text = text[:start] + re.sub(r"[^\n]", " ", innermost.group()) + text[end:]
    return text


def _print_assumptions(build: Path, proved: Sequence[Theorem]) -> None:
    """Ask what each theorem assumes, and print the answers."""
    modules = sorted({theorem.file for theorem in proved})
    lines = [f"From Mage Require {module}." for module in modules]
    lines += [f"Print Assumptions {theorem.file}.{theorem.name}." for theorem in proved]
    (build / "All.v").write_text("\n".join(lines) + "\n", encoding="utf-8")
    answers = _run(build, "coqc", "-q", "-w", "-all", "-Q", ".", "Mage", "All.v").strip().splitlines()
    for theorem, answer in zip(proved, answers, strict=False):
        print(f"{theorem.file}.{theorem.name}: {answer}")
    if len(answers) != len(proved) or set(answers) != {_CLOSED}:
        raise Unproved("a theorem assumes something:\n" + "\n".join(answers))


def _compare_statements(build: Path, proved: Sequence[Theorem], committed: Path) -> None:
    """Compare what each theorem says, all of its premises included, with what it said when it was read."""
    lines = [f"From Mage Require {module}." for module in sorted({theorem.file for theorem in proved})]
    lines += [f"Check @{theorem.file}.{theorem.name}." for theorem in proved]
    (build / "Said.v").write_text("Set Printing Width 100.\n" + "\n".join(lines) + "\n", encoding="utf-8")
    said = _run(build, "coqc", "-q", "-w", "-all", "-Q", ".", "Mage", "Said.v")
    (build / STATEMENTS).write_text(said, encoding="utf-8")
    if not committed.exists() or committed.read_text(encoding="utf-8") != said:
        raise Unproved(
            f"the theorems do not say what {committed.name} says; read the difference, and where it is meant:\n"
            f"cp {build / STATEMENTS} {committed}"
        )


def sources_digest() -> str:
    """Return the SHA-256 of everything that the oracle is made of."""
    files = [SPECS / "coq" / "Path.v", SPECS / "coq" / "Machine.v", SPECS / "coq" / "Extract.v"]
    files += sorted((SPECS / "oracle").glob("*.ml"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def build_oracle(build: Path = BUILD / "coq", oracle: Path = ORACLE) -> Path:
    """Build the oracle from what `check_proofs` left in `build`; return where it is.

    Raises:
        Unproved: it does not compile, or a tool is missing.
    """
    _require_tools()
    written = SPECS / "oracle"
    for path in written.glob("*.ml"):
        shutil.copy(path, build)
    sources = ["machine.mli", "machine.ml", "json.ml", "blank.ml", "oracle.ml"]
    options = ["-O3", "-w", "-a", "-package", "sha", "-linkpkg"]
    _run(build, "ocamlfind", "ocamlopt", *options, *sources, "-o", str(oracle.resolve()))
    oracle.with_suffix(".sources").write_text(sources_digest(), encoding="utf-8")
    return oracle


def missing_tools() -> list[str]:
    """Return the packages of apt that bring what is not there."""
    return sorted({package for tool, package in _TOOLS.items() if shutil.which(tool) is None})


def _require_tools() -> None:
    if packages := missing_tools():
        raise Unproved(f"missing: apt-get install --no-install-recommends {' '.join(packages)}", 2)


def _run(folder: Path, *command: str) -> str:
    """Run a command to its end; return all that it printed."""
    done = subprocess.run(
        command, cwd=folder, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        raise Unproved(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the proofs and build the oracle as the command line says, and report."""
    parser = argparse.ArgumentParser(
        prog="python -m specs.proofs", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--json", type=Path, help="where to write what was proved")
    options = parser.parse_args(arguments)
    began = time.perf_counter()
    try:
        proved = check_proofs()
        oracle = build_oracle()
    except Unproved as wrong:
        print(wrong, file=sys.stderr)
        return wrong.status
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (SPECS / "coq").glob("*.v"))
    seconds = round(time.perf_counter() - began, 1)
    print(f"proofs: {len(proved)} theorems, 0 axioms, {lines} lines, {seconds} s; oracle: {oracle.name}")
    if options.json is not None:
        found = {"theorems": [attrs.asdict(theorem) for theorem in proved], "axioms": 0, "lines": lines}
        options.json.write_text(json.dumps({**found, "seconds": seconds}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
