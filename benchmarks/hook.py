"""What a hook of a coding agent costs a call, process start included: `python -m benchmarks.hook [STEPS [CALLS]]`.

A session of so many steps is made by the hook's own code; then each call is a process of its own, as the client starts
it. Beside it stands a Python that does nothing. The median must stay under 250 ms.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median, quantiles
from time import perf_counter
from typing import Any

from mage.integrations.claude_code import heard

LIMIT = 250.0  # ms


def event(kind: str, **more: Any) -> dict[str, Any]:
    return {"session_id": "bench", "hook_event_name": kind, "cwd": "/home/pond", **more}


def used(number: int) -> dict[str, Any]:
    output = {"stdout": f"line {number} of a tool's output\n" * 40, "stderr": "", "interrupted": False}
    given = {"command": f"sed -n {number}p src/pump.py"}
    return event(
        "PostToolUse",
        tool_name="Bash",
        tool_input=given,
        tool_response=output,
        tool_use_id=f"toolu_{number:08}",
    )


def logged(number: int) -> bytes:
    """Return what the client's own log has of a call."""
    used_now = used(number)
    called = {
        "type": "tool_use",
        "id": used_now["tool_use_id"],
        "name": "Bash",
        "input": used_now["tool_input"],
    }
    came = {
        "type": "tool_result",
        "tool_use_id": used_now["tool_use_id"],
        "content": used_now["tool_response"]["stdout"],
    }
    before = f"r{number - 1}" if number else None
    rows = [
        {"uuid": f"a{number}", "parentUuid": before, "type": "assistant", "message": {"content": [called]}},
        {"uuid": f"r{number}", "parentUuid": f"a{number}", "type": "user", "message": {"content": [came]}},
    ]
    return b"".join([json.dumps(row).encode() + b"\n" for row in rows])


def timed(command: list[str], given: bytes) -> float:
    begun = perf_counter()
    subprocess.run(command, input=given, check=True, capture_output=True)
    return (perf_counter() - begun) * 1000


def processor_time() -> float:
    used_by = getrusage(RUSAGE_CHILDREN)
    return (used_by.ru_utime + used_by.ru_stime) * 1000


def main() -> int:
    steps, calls = [*map(int, sys.argv[1:]), 5000, 60][:2] if len(sys.argv) < 3 else map(int, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "work.db")
        heard(event("UserPromptSubmit", prompt="Mend the pump."), store)
        for number in range(steps):
            heard(used(number), store)
        command = [sys.executable, "-m", "mage", "hook", "claude-code", store]
        nothing = [timed([sys.executable, "-c", ""], b"") for _ in range(calls)]
        before = processor_time()
        spent = [timed(command, json.dumps(used(number)).encode()) for number in range(steps, steps + calls)]
        worked = (processor_time() - before) / calls
        log = Path(folder) / "bench.jsonl"
        log.write_bytes(b"".join(map(logged, range(steps + calls))))
        rare = {
            kind: timed(command, json.dumps(event(kind, transcript_path=str(log), **more)).encode())
            for kind, more in (("Stop", {}), ("PreCompact", {}), ("SessionStart", {"source": "compact"}))
        }
    last = quantiles(spent, n=20)[-1]
    print(
        f"PostToolUse behind {steps:,} steps, {calls} calls: median {median(spent):.0f} ms, 95 % under {last:.0f} ms"
    )
    print(f"of which a processor works {worked:.0f} ms on average")
    print(f"a Python that does nothing: median {median(nothing):.0f} ms")
    print(", ".join(f"{kind}: {took:.0f} ms" for kind, took in rare.items()))
    held = median(spent) < LIMIT
    print(f"limit for the median: {LIMIT:.0f} ms: {'holds' if held else 'DOES NOT HOLD'}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
