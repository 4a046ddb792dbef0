"""The load tool wrk (Will Glozer), one thread, its exact latencies read out by a script.

Beside our own engine it can do little: a closed loop in whole seconds, without looking at bodies. Its latencies are in
microseconds and include those of responses with a bad status, and it counts what its whole run took: connecting, and sorting
its own statistics at the end. It knows statuses only as good (below 400) or bad, which stand in `status` as ``2xx-3xx`` and
``4xx-5xx``.
"""

from __future__ import annotations

import ctypes
import math
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import msgspec

from iobound.errors import LabError, Unavailable, UsageError
from iobound.load.checks import check
from iobound.load.engine import Interrupted
from iobound.load.histogram import Histogram
from iobound.load.spec import Exchange, LoadSpec
from iobound.records import GeneratorUse, LoadResult

NAME = "wrk"

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_libc = ctypes.CDLL(None)

_REPORT = """
function done(summary, latency, requests)
  local file = io.open(os.getenv("IOBOUND_WRK_REPORT"), "w")
  local errors = summary.errors
  file:write(string.format(
    '{"requests":%d,"duration_us":%d,"bytes":%d,"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d,"latency":[',
    summary.requests, summary.duration, summary.bytes,
    errors.connect, errors.read, errors.write, errors.status, errors.timeout))
  for i = 1, #latency do
    local value, count = latency(i)
    file:write(string.format("%s[%d,%d]", i > 1 and "," or "", value, count))
  end
  file:write("]}")
  file:close()
end
"""


class _Report(msgspec.Struct, frozen=True):
    requests: int
    duration_us: int
    bytes: int
    connect: int
    read: int
    write: int
    status: int
    timeout: int
    latency: list[tuple[int, int]]


def available() -> str | None:
    """Tell why wrk can't be used here and what helps; ``None`` where it can."""
    return None if shutil.which("wrk") else "wrk isn't on PATH; install it: apt-get install wrk"


def run(spec: LoadSpec) -> LoadResult:
    """Offer one block of load, rounded up to whole seconds; the warm-up is a run of its own, with its own connections.

    Raises `UsageError` for what wrk can't do, `Unavailable` where it isn't installed, `LabError` where it fails, `Interrupted`
    after Ctrl-C.
    """
    check(spec)
    _refuse(spec)
    missing = available()
    if missing:
        raise Unavailable(missing)
    if spec.warmup_s:
        _wrk(spec, spec.warmup_s)
    started = time.monotonic()
    report, use, interrupted = _wrk(spec, spec.duration_s)
    result = _result(spec, started, report, use)
    if interrupted:
        raise Interrupted(result)
    return result


def _refuse(spec: LoadSpec) -> None:
    beyond = {
        "an open loop (--rate)": spec.rate is not None,
        "think time (--think)": spec.think_s > 0,
        "a Unix socket (--unix-socket)": spec.unix_socket is not None,
        "several processes (--processes)": spec.processes > 1,
        "the check of a certificate (--insecure leaves it out)": spec.verify_tls and spec.url.startswith("https:"),
        "an expected status beyond 2xx and 3xx": any(each.status and not 200 <= each.status < 400 for each in spec.exchanges),
    }
    for what, asked in beyond.items():
        if asked:
            raise UsageError(f"engine wrk can't offer {what}; leave it out, or use --engine iobound")


def _wrk(spec: LoadSpec, duration_s: float) -> tuple[_Report, resource.struct_rusage, bool]:
    """Run wrk; return what it reports, what it used, and whether Ctrl-C ended it early."""
    command = ["wrk", "-t1", f"-c{spec.connections}", f"-d{math.ceil(duration_s)}", f"--timeout={math.ceil(spec.timeout_s)}"]

    def prepare_child() -> None:
        _libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if spec.cpus:
            os.sched_setaffinity(0, spec.cpus)

    with tempfile.TemporaryDirectory() as folder:
        script, report = Path(folder, "wrk.lua"), Path(folder, "report.json")
        script.write_text(_script(spec.exchanges, spec.keep_alive) + _REPORT)
        with subprocess.Popen(
            [*command, "-s", str(script), spec.url],
            env=os.environ | {"IOBOUND_WRK_REPORT": str(report)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            process_group=0,  # Ctrl-C is passed on, once
            preexec_fn=prepare_child,
        ) as process:
            assert process.stderr
            interrupted = False
            try:
                _, status, use = os.wait4(process.pid, 0)
            except KeyboardInterrupt:
                interrupted = True
                process.send_signal(signal.SIGINT)
                _, status, use = os.wait4(process.pid, 0)
            except BaseException:
                process.kill()
                raise
            process.returncode = os.waitstatus_to_exitcode(status)
            complaints = process.stderr.read().decode(errors="replace").strip()
        if process.returncode or not report.exists():
            raise LabError(f"wrk ended with {process.returncode}: {complaints}")
        return msgspec.json.decode(report.read_bytes(), type=_Report), use, interrupted


def _uncorrected(report: _Report, connections: int) -> dict[int, int]:
    """Return the latencies as they were: how often each value in microseconds was measured.

    Before it calls the script, wrk adds values that it supposes were omitted: for each latency longer than the mean interval
    between two requests of a connection, that latency less one interval, less two, and so on, down to two intervals
    (``stats_correct`` in its stats.c). So each count above one interval is the true one plus the count an interval further on.
    """
    counts = dict(report.latency)
    rounds = report.requests // connections
    if not rounds:
        return counts
    interval = report.duration_us // rounds
    true = {value: count - (counts.get(value + interval, 0) if value > interval else 0) for value, count in counts.items()}
    return {value: count for value, count in true.items() if count > 0}


def _script(exchanges: list[Exchange], keep_alive: bool) -> str:
    """Return Lua that asks for `exchanges` in rotation; a single one is set once, since a function costs wrk time."""
    connection = {} if keep_alive else {"Connection": "close"}
    described = []
    for exchange in exchanges:
        headers = ", ".join(f"[{_quote(name)}] = {_quote(value)}" for name, value in (connection | exchange.headers).items())
        body = _quote(exchange.body) if exchange.body else "nil"
        described.append((_quote(exchange.method), _quote(exchange.path), f"{{{headers}}}", body))
    if len(described) == 1:
        method, path, headers, body = described[0]
        given = f"for name, value in pairs({headers}) do wrk.headers[name] = value end"
        return f"wrk.method, wrk.path, wrk.body = {method}, {path}, {body}\n{given}\n"
    formatted = ",\n".join(f"wrk.format({', '.join(each)})" for each in described)
    return f"""
local requests, at = {{}}, 0
function init() requests = {{ {formatted} }} end
function request()
  at = at % #requests + 1
  return requests[at]
end
"""


def _quote(text: str | bytes) -> str:
    data = text.encode("latin-1") if isinstance(text, str) else text
    return '"' + "".join(f"\\{byte:03d}" for byte in data) + '"'


def _result(spec: LoadSpec, started: float, report: _Report, use: resource.struct_rusage) -> LoadResult:
    seconds = report.duration_us / 1e6
    errors = {
        "refused": report.connect,
        "reset": report.read + report.write,
        "bad-status": report.status,
        "timeout": report.timeout,  # answered, but too late
    }
    good = report.requests - report.status - report.timeout
    latency = Histogram()
    for latency_us, count in _uncorrected(report, spec.connections).items() if good else []:
        latency.add_count(latency_us * 1_000, count)
    unanswered = spec.connections  # a closed loop without think time leaves one on each
    return LoadResult(
        engine=NAME,
        started=started,
        seconds=seconds,
        connections=spec.connections,
        rate=None,
        requests=good + sum(errors.values()) + unanswered,
        responses=good,
        unanswered=unanswered,
        abandoned=unanswered,
        status={name: count for name, count in {"2xx-3xx": good, "4xx-5xx": report.status}.items() if count},
        errors={kind: count for kind, count in errors.items() if count},
        connects=spec.connections if spec.keep_alive else report.requests,
        bytes_received=report.bytes,
        in_flight_mean=None,
        latency=latency.encode(),
        series=None,
        generator=GeneratorUse(
            processes=1,
            cpu_user_s=use.ru_utime,
            cpu_system_s=use.ru_stime,
            utilisation=(use.ru_utime + use.ru_stime) / seconds,
            late_ms_p99=None,
            ceiling_requests_per_second=None,
        ),
    )
