"""What all tests share.

A shell's background job ignores Ctrl-C, and what it starts inherits that; tests that send it must not. Tests that hold a
measurement against a known truth are tried up to three times: a shared machine holds a process up now and then, where no
counter shows it, while an instrument that is wrong is wrong every time. They are marked `alone`, as are those that hold the
machine's lock: `make test` runs them after all others, which run side by side.
"""

import signal
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NETWORK = [f"lab/test_network_{what}.py" for what in ("plan", "relay", "round_trips", "truth")]
MEASURING = [
    HERE / path
    for path in ("cli", "lab/probes", "load", "measure", "targets/test_bulk_programs.py", "targets/test_cpu_split.py", *NETWORK)
]

signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(path in (item.path, *item.path.parents) for path in MEASURING):
            item.add_marker(pytest.mark.flaky(reruns=2))
            item.add_marker(pytest.mark.alone)
