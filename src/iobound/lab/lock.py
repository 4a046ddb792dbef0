"""One iobound at a time measures on a machine: a second one would be noise in the first one's numbers."""

from __future__ import annotations

import errno
import shlex
import socket
import struct
from datetime import datetime

import psutil

from iobound.errors import LabError

# A name in Linux's abstract namespace: no file, so nothing to own, to clean up or to go stale. The kernel frees it when the
# holder ends in any way, and tells whoever connects which process that is.
NAME = "\0iobound measures on this machine"


class MachineLock:
    """Held while measuring. A context manager; entering it raises `LabError`, naming the holder, where another one holds it."""

    def __init__(self, name: str = NAME) -> None:
        self._name = name
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def __enter__(self) -> MachineLock:
        try:
            self._socket.bind(self._name)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            self._socket.close()
            raise LabError(
                f"another iobound measures on this machine: {_holder(self._name)}; wait for it, or stop it"
            ) from error
        self._socket.listen(1024)
        return self

    def __exit__(self, *exception: object) -> None:
        self._socket.close()


def _holder(name: str) -> str:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
            caller.settimeout(1)
            caller.connect(name)
            pid, _uid, _gid = struct.unpack("3i", caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        process = psutil.Process(pid)
        since = datetime.fromtimestamp(process.create_time()).strftime("%Y-%m-%d %H:%M:%S")
        command = " ".join(shlex.join(process.cmdline()).split())
        return f"process {pid}, {command}, since {since}"
    except (OSError, psutil.Error):
        return "it just ended, or hides from us"
