"""``iobound doctor``: how good this machine is as a laboratory."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.table import Table

from iobound.cli.progress import Bar
from iobound.lab import cache, host, interpreters, placement, service
from iobound.lab.lock import MachineLock
from iobound.lab.network import netem
from iobound.lab.network.price import price
from iobound.lab.placement import Placement
from iobound.lab.probes import cpu, noise
from iobound.load import calibration, engine
from iobound.load.engine import DEFAULT
from iobound.load.spec import Exchange, LoadSpec
from iobound.records import RelayPrice

WATCH_S = 2.0  # how long the idle machine is watched
SLEEPS = 200  # sleeps of 1 ms whose lateness is measured
CONNECTIONS = 10
BLOCK_S = 0.5
REPEATS = 6  # identical blocks whose spread is printed

SPREAD_LIMIT = 0.1


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. Shares are of one core; `spread` is the coefficient of variation of identical blocks.

    `netem` says why the kernel can't delay packets itself.
    """

    host: dict[str, str]
    cores: list[int]
    target_cores: list[int]
    sharing: str | None
    quota_cores: float | None
    steal: float
    foreign: float
    pressure: float | None
    sleep_late_us: float
    ceiling_requests_per_second: float
    generator_cpu_us_per_request: float
    spread: float
    relay: RelayPrice
    netem: str | None
    services: dict[str, str]
    interpreters: list[str]
    cache_mb: float
    concerns: list[str]


@click.command(short_help="Examine this machine as a laboratory.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> int:
    """Examine this machine: cores, quotas, steal, clock, the generator's ceiling, services and interpreters.

    Example: iobound doctor
    """
    with MachineLock(), Bar() as progress:
        found = examine(progress)
    if as_json:
        click.echo(msgspec.json.encode(found))
    else:
        show(found, Console())
    return 0


def examine(progress: Bar) -> Examination:
    """Look at the machine; takes some ten seconds."""
    placed = placement.place(quota=placement.cpu_quota())
    progress("watching the idle machine", 0.1)
    before, own = noise.read(placed.cores), cpu.read([os.getpid()])
    time.sleep(WATCH_S)
    idle = noise.judge(before, noise.read(placed.cores), sum(cpu.read([os.getpid()]).since(own)))
    progress("measuring the generator's ceiling", 0.3)
    ceiling = calibration.ceiling(DEFAULT, CONNECTIONS, placed.generator, placed.target)
    progress("repeating a block", 0.5)
    rates = identical_blocks(placed)
    spread = statistics.stdev(rates) / statistics.mean(rates)
    progress("looking for services and interpreters", 0.9)
    concerns = [
        *([idle.because] if idle.because else []),
        *([f"{placed.sharing}; more cores would keep them apart"] if placed.sharing else []),
        *([f"a CPU quota of {placed.quota:g} cores may stop the target at any time"] if placed.quota else []),
        *([f"identical blocks differ by {spread:.0%}: only large effects can be told"] if spread > SPREAD_LIMIT else []),
    ]
    return Examination(
        host=host.facts(),
        cores=placed.cores,
        target_cores=placed.target,
        sharing=placed.sharing,
        quota_cores=placed.quota,
        steal=idle.steal,
        foreign=idle.foreign,
        pressure=idle.pressure,
        sleep_late_us=late_us(),
        ceiling_requests_per_second=ceiling.requests_per_second,
        generator_cpu_us_per_request=ceiling.cpu_us_per_request,
        spread=spread,
        relay=price(placed),
        netem=netem.unavailable(),
        services={name: service.find(name).unavailable() or "available" for name in service.known()},
        interpreters=interpreters.common(),
        cache_mb=size_mb(cache.folder()),
        concerns=concerns,
    )


def identical_blocks(placed: Placement) -> list[float]:
    """Return the requests a second of `REPEATS` identical blocks against one null server."""
    with calibration.null_server(placed.target) as url:
        spec = LoadSpec(url=url, exchanges=[Exchange()], connections=CONNECTIONS, duration_s=BLOCK_S, cpus=placed.generator)
        results = [engine.find(DEFAULT).run(spec) for _ in range(REPEATS)]
    return [result.responses / result.seconds for result in results]


def late_us() -> float:
    """Return how late a sleep of 1 ms ends in the median, in microseconds."""
    late = []
    for _ in range(SLEEPS):
        due = time.perf_counter() + 0.001
        time.sleep(0.001)
        late.append(time.perf_counter() - due)
    return statistics.median(late) * 1e6


def size_mb(folder: Path) -> float:
    """Return what the files under `folder` take, in megabytes."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def show(found: Examination, console: Console) -> None:
    """Print an examination."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in found.host.items():
        table.add_row(name, value)
    table.add_row("cores", f"{', '.join(map(str, found.cores))}; the target gets {', '.join(map(str, found.target_cores))}")
    table.add_row("quota", "none" if found.quota_cores is None else f"{found.quota_cores:g} cores")
    table.add_row("while idle", f"{found.steal:.1%} of a core stolen, {found.foreign:.1%} used by other processes")
    table.add_row("clock", f"a sleep of 1 ms ends {found.sleep_late_us:,.0f} us late")
    table.add_row(
        "generator",
        f"reaches {found.ceiling_requests_per_second:,.0f} requests/s against a null server, "
        f"at {found.generator_cpu_us_per_request:.1f} us of CPU each",
    )
    table.add_row("A against A", f"{REPEATS} identical blocks vary by {found.spread:.1%}")
    table.add_row(
        "relay",
        f"for --rtt; by itself it adds {found.relay.added_us:,.0f} us and takes {found.relay.cpu_us_per_turn:,.0f} us of CPU a "
        f"round trip; the kernel's netem {'is here, but not used' if found.netem is None else f'is not here: {found.netem}'}",
    )
    for name, state in found.services.items():
        table.add_row(name, state)
    table.add_row("interpreters", ", ".join(found.interpreters) or "none but this one")
    table.add_row("cache", f"{found.cache_mb:,.0f} MB in {cache.folder()}")
    console.print(table)
    console.print()
    for concern in found.concerns:
        console.print(f"! {concern}")
    if not found.concerns:
        console.print("A quiet machine with cores to spare.")
