"""One module of the engine replaced, for whoever imports it anew."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import final

from specs.mutants.generate import ROOT


def purge(*names: str, keep: tuple[str, ...] = ()) -> None:
    """Forget every module whose name begins like this, so that the next import runs it anew."""
    for module in list(sys.modules):
        if module.startswith(names) and not module.startswith(keep):
            del sys.modules[module]


@final
class _Replaced(MetaPathFinder, Loader):
    """Finds one module, and makes it from the text it was given."""

    def __init__(self, file: str, source: str) -> None:
        self.name = file.removesuffix(".py").replace("/", ".")
        self.path = str(ROOT / file)
        self.source = source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where the module comes from: here."""
        return spec_from_loader(fullname, self, origin=self.path) if fullname == self.name else None

    def exec_module(self, module: ModuleType) -> None:
        """Run the replaced text as the module."""
        exec(compile(self.source, self.path, "exec", dont_inherit=True), vars(module))


@contextmanager
def put_in_place_of(file: str, source: str) -> Iterator[None]:
    """Let imports of this file's module find `source` instead."""
    finder = _Replaced(file, source)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
