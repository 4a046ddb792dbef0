import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from iobound.errors import LabError
from iobound.lab.scratch import MARK, Scratch, sweep
from iobound.lab.unprivileged import User

NOBODY = User(65534, 65534)

ABANDON = "import os; from iobound.lab.scratch import Scratch; print(Scratch('test').path, flush=True); os.kill(os.getpid(), 9)"


@pytest.fixture
def temporary(monkeypatch):
    """A folder to make temporary folders in, which every user can enter."""
    folder = Path(tempfile.mkdtemp(prefix="test-scratch-"))
    folder.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    shutil.rmtree(folder)


def test_a_folder_is_private_and_removed(temporary):
    with Scratch("test") as scratch:
        assert scratch.path.parent == temporary
        assert scratch.path.stat().st_mode & 0o777 == 0o700
        assert scratch.file("secret", "text").stat().st_mode & 0o777 == 0o600
        assert scratch.folder("data").stat().st_mode & 0o777 == 0o700
        assert (scratch.copy(scratch.folder("from"), "to")).is_dir()
    scratch.close()
    assert not scratch.path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_what_is_made_belongs_to_the_owner(temporary):
    with Scratch("test", owner=NOBODY) as scratch:
        (temporary / "source").mkdir()
        (temporary / "source" / "file").touch(0o600)
        made = [scratch.folder("data"), scratch.file("file", ""), scratch.copy(temporary / "source", "copy") / "file"]
        assert [path.stat().st_uid for path in made] == [65534] * 3


def test_without_room_or_way_in_or_permission_the_way_out_is_named(temporary, monkeypatch):
    with pytest.raises(LabError, match=r"test needs 999999999 MB of disk, .* set TMPDIR to a folder on a larger disk"):
        Scratch("test", needs_mb=999999999)
    temporary.chmod(0o700)
    with pytest.raises(LabError, match=r"user number 65534, who can't enter .*; set TMPDIR"):
        Scratch("test", owner=User(65534, 65534))
    monkeypatch.setattr(tempfile, "tempdir", "/proc/self")
    with pytest.raises(LabError, match=r"can't make a folder for test under /proc/self: .*; set TMPDIR"):
        Scratch("test", needs_mb=0)


def test_sweep_removes_what_a_killed_process_left_and_nothing_else(temporary):
    left = Path(subprocess.run([sys.executable, "-c", ABANDON], capture_output=True, text=True, check=False).stdout.strip())
    foreign = temporary / "iobound-foreign"
    foreign.mkdir()
    (temporary / "iobound-link").symlink_to(foreign)
    with Scratch("live") as live:
        assert (left / MARK).exists()
        assert sweep() == ([left], [live.path])
        assert not left.exists()
        assert live.path.exists()
    assert foreign.exists()
    assert sweep() == ([], [])
