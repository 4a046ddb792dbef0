"""Guards one program, so that nothing of it stays behind however iobound ends. Run as a script; standard library only.

Reads its order, one line of JSON, from standard input and answers lines of JSON on standard output: ``{"pid"}`` or
``{"error"}``, then ``{"returncode"}`` once the program has ended. The end of standard input, which the kernel brings about
when iobound is gone, means stop: first politely, after the grace period by force, then all descendants.
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h


def report(**facts: object) -> None:
    """Tell iobound, if it still listens."""
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(facts).encode() + b"\n")


def kill_descendants() -> None:
    """Kill every child until none is left; the children of the killed become ours, for we are their subreaper."""
    while True:
        for pid in Path("/proc/thread-self/children").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def main() -> None:
    """Start the program of the order, wait for its end or for ours to be asked for, and clear up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # only the end of standard input stops us
        signal.signal(number, lambda *_: None)  # not SIG_IGN, which the program would inherit
    order = json.loads(sys.stdin.buffer.readline())
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def prepare() -> None:
        prctl(PR_SET_PDEATHSIG, order["stop_signal"], 0, 0, 0)  # here, since a change of user clears it
        if order["cpus"]:
            os.sched_setaffinity(0, order["cpus"])

    try:
        program = subprocess.Popen(
            order["argv"],
            env=order["env"],
            cwd=order["cwd"],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,  # the log, as is the program's standard error
            preexec_fn=prepare,
            **order["identity"],
        )
    except (OSError, subprocess.SubprocessError) as error:
        report(error=str(error))
    else:
        report(pid=program.pid)
        ended = os.pidfd_open(program.pid)
        if ended not in select.select([0, ended], [], [])[0]:
            program.send_signal(order["stop_signal"])
            if not select.select([ended], [], [], order["grace_s"])[0]:
                program.kill()
        report(returncode=program.wait())
        kill_descendants()
    for path in order["remove"]:
        shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    main()
