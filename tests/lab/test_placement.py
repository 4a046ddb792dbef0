import os
from pathlib import Path

import pytest

from iobound.errors import LabError
from iobound.lab.placement import cpu_quota, place


def test_two_cores_keep_the_target_alone():
    placement = place(1, [0, 1])
    assert (placement.target, placement.services, placement.generator) == ([1], [0], [0])
    assert placement.target_is_alone
    assert placement.sharing == "services and generator share core 0"


def test_many_cores_give_everyone_their_own():
    placement = place(2, [0, 1, 2, 3, 5])
    assert (placement.target, placement.services, placement.generator) == ([3, 5], [0, 1], [2])
    assert placement.sharing is None


def test_one_core_is_shared_and_said():
    placement = place(1, [4])
    assert not placement.target_is_alone
    assert "share core 4" in str(placement.sharing)


def test_an_affinity_mask_is_respected():
    core = min(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        assert place(1).cores == [core]
    finally:
        os.sched_setaffinity(0, before)


def test_too_many_target_cores_are_refused():
    with pytest.raises(LabError, match="ask for fewer"):
        place(3, [0, 1])


def test_quota_of_a_v2_group_and_its_parents(tmp_path: Path):
    group = tmp_path / "a" / "b"
    group.mkdir(parents=True)
    (group / "cpu.max").write_text("max 100000\n")
    (tmp_path / "a" / "cpu.max").write_text("150000 100000\n")
    assert cpu_quota(tmp_path, "0::/a/b\n") == 1.5


def test_quota_of_a_v1_group(tmp_path: Path):
    group = tmp_path / "cpu,cpuacct" / "a"
    group.mkdir(parents=True)
    (group / "cpu.cfs_quota_us").write_text("50000\n")
    (group / "cpu.cfs_period_us").write_text("100000\n")
    assert cpu_quota(tmp_path, "4:cpu,cpuacct:/a\n3:memory:/a\n") == 0.5


def test_no_quota(tmp_path: Path):
    assert cpu_quota(tmp_path, "0::/\n") is None
