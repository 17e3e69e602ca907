"""Settings of every test run."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, Phase, settings

# A script that starts the tests in its background has Ctrl-C ignored, in them and in all that they start; some of
# them press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_SLOW_MACHINES = [HealthCheck.too_slow]
settings.register_profile(
    "first-run", deadline=None, derandomize=True, print_blob=True, suppress_health_check=_SLOW_MACHINES
)
settings.register_profile(
    "search", deadline=None, max_examples=400, print_blob=True, suppress_health_check=_SLOW_MACHINES
)
settings.register_profile(
    "unshrunk",
    settings.get_profile("first-run"),
    phases=(Phase.explicit, Phase.generate),
    max_examples=60,
    database=None,
)  # for specs.faults and branches: whether a test fails, not how
# A user's first run is the same every time; CI searches anew, from a seed that it prints (--hypothesis-seed).
settings.load_profile(os.environ.get("MAGE_TESTS", "first-run"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI, fail where a test was skipped because a package is missing that the project itself should bring."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if "MAGE_CI" not in os.environ or reporter is None:
        return
    skipped = [str(report.longrepr) for report in reporter.stats.get("skipped", ())]
    missing = sorted({reason for reason in skipped if "could not import" in reason})
    if missing:
        reporter.write_line(
            "\n".join(["in CI nothing is skipped for want of a package:", *missing]), red=True
        )
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
