"""The truth: programs that burn a known CPU time, or sleep."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from iobound.lab.probes import cpu
from iobound.lab.processes import spawn

BURN_USER = """
import time
from pathlib import Path
while time.process_time() < {seconds}: sum(range(10_000))  # few system calls
print("burned", flush=True); input()
"""
BURN_SYSTEM = """
import os, time
end, zero = os.open("/dev/zero", os.O_RDONLY), bytearray(1 << 20)
while time.process_time() < {seconds}: os.readv(end, [zero])
print("burned", flush=True); input()
"""
BURN_IN_CHILD = """
import subprocess, sys
subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < {seconds}: pass"])
print("burned", flush=True); input()
"""
SLEEP = """
import time
from pathlib import Path
time.sleep({seconds})
print("slept", flush=True); input()
"""


def spent(program: str, seconds: float) -> tuple[float, float]:
    command = [sys.executable, "-S", "-c", "input()\n" + program.format(seconds=seconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        time.sleep(0.2)
        before = cpu.read([process.pid])
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        use = cpu.read([process.pid]).since(before)
        process.stdin.write("\n")
        process.stdin.flush()
    return use


@pytest.mark.parametrize("program", [BURN_USER, BURN_SYSTEM, BURN_IN_CHILD])
def test_burned_time_is_seen(program: str):
    # the interpreter's own start is part of what process_time counts, so a little less may be spent after the first reading
    assert sum(spent(program, 0.5)) == pytest.approx(0.5, rel=0.1)


def test_user_and_system_are_told_apart():
    user, system = spent(BURN_USER, 0.5)
    assert user > 9 * system
    user, system = spent(BURN_SYSTEM, 0.5)
    assert system > 2 * user


def test_sleeping_is_free():
    assert sum(spent(SLEEP, 0.5)) < 0.02


def test_a_vanished_process_is_no_error():
    with subprocess.Popen([sys.executable, "-S", "-c", ""]) as process:
        process.wait()
    assert cpu.read([process.pid]).total_s == 0


def test_a_program_that_leaves_its_parent_is_still_seen(tmp_path: Path):
    """It forks twice, and the process in between ends: what burns is the guard's child now."""
    program = (
        "import os, sys, time\n"
        "if os.fork(): time.sleep(60)\n"
        "if os.fork(): os._exit(0)\n"
        "while time.process_time() < 0.5: pass\n"
        f"open({str(tmp_path / 'burned')!r}, 'w').close(); time.sleep(60)"
    )
    with spawn([sys.executable, "-S", "-c", program], env={}, log=tmp_path / "log") as guarded:
        while not (tmp_path / "burned").exists():
            assert guarded.alive()
            time.sleep(0.02)
        assert cpu.read([guarded.pid]).total_s < 0.25
        assert cpu.read([guarded.root]).total_s > 0.5
