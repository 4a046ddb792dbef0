"""What the load generator costs, against wrk and Locust: the same nginx on one core, each generator on another, interleaved.

.venv/bin/python benchmarks/load_generator.py [ROUNDS]

Needs nginx and wrk on PATH (apt-get install nginx wrk) and two cores. Prints medians and the medians of the ratios paired by
round, and exits with 1 where a target is missed.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path

import psutil

from iobound.lab.processes import free_port
from iobound.load import engine, workers
from iobound.load.spec import Exchange, LoadSpec
from iobound.records import LoadResult

OURS, WRK, LOCUST = "iobound", "wrk", "locust:FastHttpUser"
CONNECTIONS = (10, 256)
MANY_CONNECTIONS = 1_000
BLOCK_S = 2.0
FILE = b"x" * 200

CONFIGURATION = """
{user}
worker_processes 1;
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    open_file_cache max=10;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port} backlog=4096; root {folder}/files; }}
}}
"""


@dataclass(frozen=True)
class Measured:
    """One block: answers a second, and the generator's CPU for each, in microseconds."""

    rate: float
    cpu_us: float
    utilisation: float

    @classmethod
    def of(cls, result: LoadResult) -> Measured:
        use = result.generator
        cpu_s = use.cpu_user_s + use.cpu_system_s
        return cls(result.responses / result.seconds, cpu_s / result.responses * 1e6, use.utilisation)


@contextmanager
def nginx(core: int) -> Iterator[str]:
    """Serve a small file on `core`; yield its URL."""
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        (folder / "files").mkdir()
        (folder / "files" / "index.html").write_bytes(FILE)
        user = "user root;" if os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(CONFIGURATION.format(folder=folder, port=port, user=user))
        with subprocess.Popen(
            ["nginx", "-c", folder / "nginx.conf"],
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        ) as process:
            try:
                measure(OURS, f"http://127.0.0.1:{port}", 1, core, 0.5)
                yield f"http://127.0.0.1:{port}"
            finally:
                process.terminate()


def measure(name: str, url: str, connections: int, core: int, seconds: float = BLOCK_S) -> Measured:
    exchange = Exchange(answer=FILE)
    spec = LoadSpec(url=url, exchanges=[exchange], connections=connections, duration_s=seconds, cpus=[core])
    return Measured.of(engine.find(name).run(spec))


def compare(url: str, connections: int, core: int, rounds: int) -> Iterator[bool]:
    """Measure ours and wrk in turns, and say whether throughput and CPU are within the targets."""
    pairs = []
    for number in range(rounds):
        order = (OURS, WRK) if number % 2 == 0 else (WRK, OURS)
        blocks = {name: measure(name, url, connections, core) for name in order}
        pairs.append((blocks[OURS], blocks[WRK]))
    for name, blocks in zip((OURS, WRK), zip(*pairs, strict=True), strict=True):
        show(connections, name, blocks)
    yield judged("throughput / wrk", [ours.rate / wrk.rate for ours, wrk in pairs], 0.9, at_least=True)
    yield judged("CPU a request / wrk", [ours.cpu_us / wrk.cpu_us for ours, wrk in pairs], 1.1, at_least=False)


def compare_with_locust(url: str, connections: int, core: int, rounds: int) -> bool:
    """Measure all three in turns; wrk's ratio tells what system calls alone leave to be reached."""
    blocks = [{name: measure(name, url, connections, core) for name in (OURS, WRK, LOCUST)} for _ in range(rounds)]
    show(connections, LOCUST, [block[LOCUST] for block in blocks])
    ratios = {name: [block[LOCUST].cpu_us / block[name].cpu_us for block in blocks] for name in (OURS, WRK)}
    print(f"    CPU a request, Locust / wrk: {statistics.median(ratios[WRK]):.2f}")
    return judged("CPU a request, Locust / ours", ratios[OURS], 15, at_least=True)


def show(connections: int, name: str, blocks: Sequence[Measured]) -> None:
    """Print the medians of blocks."""
    rate, cpu_us, busy = (statistics.median(values) for values in zip(*map(astuple, blocks), strict=True))
    print(f"{connections:>5} connections  {name:<19} {rate:>9,.0f}/s  {cpu_us:6.2f} us of CPU a request, {busy:.0%} of a core")


def memory(url: str, core: int) -> bool:
    """Say what a fresh generator process holds at most with many connections."""
    workers.end_idle()
    measure(OURS, url, MANY_CONNECTIONS, core)
    (worker,) = (child for child in psutil.Process().children() if "iobound.load.worker" in child.cmdline())
    peak = next(line for line in Path(f"/proc/{worker.pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return judged(f"MB with {MANY_CONNECTIONS} connections", [int(peak.split()[1]) / 1024], 150, at_least=False)


def judged(what: str, values: list[float], target: float, *, at_least: bool) -> bool:
    value = statistics.median(values)
    reached = value >= target if at_least else value <= target
    spread = f" [{min(values):.2f}, {max(values):.2f}]" if len(values) > 1 else ""
    word = "at least" if at_least else "at most"
    print(f"    {what}: {value:.2f}{spread}, to be {word} {target:g}: {'reached' if reached else 'MISSED'}")
    return reached


def main() -> int:
    missing = [name for name in ("nginx", "wrk") if not shutil.which(name)]
    cores = sorted(os.sched_getaffinity(0))
    if missing or len(cores) < 2:
        print(f"needs {' and '.join(missing) or 'two cores'}", file=sys.stderr)
        return 2
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with nginx(cores[-1]) as url:
        reached = [each for connections in CONNECTIONS for each in compare(url, connections, cores[0], rounds)]
        reached.append(compare_with_locust(url, max(CONNECTIONS), cores[0], max(1, rounds // 2)))
        reached.append(memory(url, cores[0]))
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
