import resource
from pathlib import Path

import msgspec
import pytest

from iobound import runs
from iobound.errors import LabError, UsageError
from iobound.records import SCHEMA, Environment, Failure, Plan, RunHeader

FAILURE = Failure(cell="c", comparison="k", launch=0, stage="start", reason="it didn't")


@pytest.fixture
def header() -> RunHeader:
    plan = Plan(
        experiments=[], cells=[], comparisons=[], launches=1, blocks_per_launch=1, block_s=1, warmup_s=0, budget_s=1,
        precision=0.05, seed=0, quick=True,
    )  # fmt: skip
    environment = Environment(
        host={}, cores=[0], target_cores=[0], other_cores=[], shared_cores=None, services=[], packages={}, ceilings=[]
    )
    return RunHeader(schema=SCHEMA, iobound="0", created=0.0, command=[], plan=plan, environment=environment)


def write(folder: Path, header: RunHeader, count: int) -> None:
    with runs.RunWriter.create(folder, header) as writer:
        for _ in range(count):
            writer.add(FAILURE)


def test_what_was_written_is_read(tmp_path: Path, header: RunHeader):
    write(tmp_path / "run", header, 3)
    run = runs.read(tmp_path / "run")
    assert run.header == header
    assert run.observations == [FAILURE] * 3
    assert not run.cut_off


def test_a_run_is_continued_not_overwritten(tmp_path: Path, header: RunHeader):
    write(tmp_path, header, 1)
    with pytest.raises(UsageError, match="--resume"):
        runs.RunWriter.create(tmp_path, header)
    with runs.RunWriter(tmp_path) as writer:
        writer.add(FAILURE)
    assert len(runs.read(tmp_path).observations) == 2


def test_a_cut_off_run_keeps_its_whole_lines(tmp_path: Path, header: RunHeader):
    write(tmp_path, header, 3)
    trials = tmp_path / runs.TRIALS
    trials.write_bytes(trials.read_bytes()[:-10])
    run = runs.read(tmp_path)
    assert len(run.observations) == 2
    assert run.cut_off


def test_continuing_a_cut_off_run_drops_the_broken_line(tmp_path: Path, header: RunHeader):
    write(tmp_path, header, 3)
    trials = tmp_path / runs.TRIALS
    trials.write_bytes(trials.read_bytes()[:-10])
    with runs.RunWriter(tmp_path) as writer:
        writer.add(FAILURE)
    run = runs.read(tmp_path)
    assert run.observations == [FAILURE] * 3
    assert not run.cut_off


def test_an_observation_that_the_disk_has_no_room_for_leaves_no_trace(tmp_path: Path, header: RunHeader):
    write(tmp_path, header, 1)
    room = (tmp_path / runs.TRIALS).stat().st_size + 10
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with runs.RunWriter(tmp_path) as writer:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
        try:
            with pytest.raises(LabError, match="make room"):
                writer.add(FAILURE)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        writer.add(FAILURE)
    run = runs.read(tmp_path)
    assert run.observations == [FAILURE] * 2
    assert not run.cut_off


def test_damage_in_the_middle_is_named(tmp_path: Path, header: RunHeader):
    write(tmp_path, header, 2)
    trials = tmp_path / runs.TRIALS
    trials.write_bytes(b'{"type": "tri\n' + trials.read_bytes())
    with pytest.raises(UsageError, match="line 1, is damaged"):
        runs.read(tmp_path)


def test_another_schema_is_refused_by_name(tmp_path: Path, header: RunHeader):
    write(tmp_path, msgspec.structs.replace(header, schema=SCHEMA + 1), 0)
    with pytest.raises(UsageError, match=f"schema {SCHEMA + 1}"):
        runs.read(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}"])
def test_a_damaged_header_is_named(tmp_path: Path, content: bytes):
    (tmp_path / runs.HEADER).write_bytes(content)
    with pytest.raises(UsageError, match=r"run\.json|schema null"):
        runs.read(tmp_path)


def test_no_run_says_how_to_start_one(tmp_path: Path):
    with pytest.raises(UsageError, match="iobound run"):
        runs.latest(tmp_path)
    with pytest.raises(UsageError, match="holds no run"):
        runs.read(tmp_path / "nothing")
