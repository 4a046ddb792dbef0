import os
import subprocess
import sys
import time

from iobound.lab.probes import noise
from iobound.lab.probes.noise import Cores


def cores(at: float, busy: float, stolen: float = 0.0) -> Cores:
    return Cores(at=at, busy_s=busy, interrupts_s=0.0, stolen_s=stolen, pressure_s=None)


def test_our_own_work_is_no_noise():
    assert noise.judge(cores(0, 10), cores(1, 11.5), ours_s=1.5).quiet


def test_foreign_work_is_noise_and_is_named():
    found = noise.judge(cores(0, 10), cores(1, 11.5), ours_s=1.4)
    assert not found.quiet
    assert "other processes used 10% of a core" in str(found.because)


def test_stolen_time_is_noise():
    found = noise.judge(cores(0, 0), cores(2, 0, stolen=0.5), ours_s=0)
    assert found.steal == 0.25
    assert "hypervisor" in str(found.because)


def test_a_burning_stranger_is_seen():
    """A process that isn't accounted for burns a core: about one core's worth is foreign."""
    mine = sorted(os.sched_getaffinity(0))
    with subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) as stranger:
        time.sleep(0.2)
        before = noise.read(mine)
        time.sleep(1)
        found = noise.judge(before, noise.read(mine), ours_s=0.0)
        stranger.kill()
    assert not found.quiet
    assert found.foreign > 0.5
