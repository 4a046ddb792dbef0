"""``iobound load``: load on one URL, with what it took, what bound it, and no number that hides how it came about."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from iobound.cli import options
from iobound.cli.progress import Bar
from iobound.errors import NoVerdict, Unavailable, UsageError
from iobound.lab.lock import MachineLock
from iobound.load import calibration, checks, engine
from iobound.load.local_server import ServerProbe, listeners
from iobound.load.spec import Exchange, LoadSpec
from iobound.report import terminal, words

if TYPE_CHECKING:
    from iobound.analysis.loaded import Summary

TICK_S = 0.25
INTERRUPTED = 130


@click.command(short_help="Offer HTTP load to a URL.")
@click.argument("urls", metavar="URL...", nargs=-1, required=True)
@click.option("-c", "--connections", type=int, default=10, show_default=True, help="Connections: at most so many in flight.")
@click.option("-d", "--duration", type=options.Duration(), default="10s", show_default=True, help="How long to measure.")
@click.option("-R", "--rate", type=float, help="Requests a second (open loop); without it, each connection asks on and on.")
@click.option(
    "--arrivals", type=click.Choice(["constant", "poisson"]), default="constant", show_default=True, help="Of --rate."
)
@click.option("--think", type=options.Duration(), default=0.0, help="Pause of a connection before its next request.")
@click.option("-X", "--method", help="HTTP method (default: GET, or POST with a body).")
@click.option("-H", "--header", "headers", metavar="NAME: VALUE", multiple=True, help="Send this header (repeatable).")
@click.option("--body", metavar="TEXT|@FILE", help="Send this body.")
@click.option("--path", "paths", multiple=True, help="Ask for this path of the URL's server instead, in rotation (repeatable).")
@click.option("--expect-status", type=click.IntRange(200, 599), help="The right status (default: any 2xx or 3xx).")
@click.option("--expect-body", metavar="TEXT|@FILE", help="The right body, byte for byte.")
@click.option("--no-keep-alive", is_flag=True, help="Connect for every request; latency includes it.")
@click.option("--timeout", type=options.Duration(), default="10s", show_default=True, help="Give up a request after this.")
@click.option("--warmup", type=options.Duration(), default=0.0, help="Offer the load for so long before measuring.")
@click.option("-t", "--processes", type=int, default=1, show_default=True, help="Generator processes (a core each).")
@click.option("--cpus", type=options.Listed(int, "numbers"), help="Cores of the generator, e.g. 0,1 (default: any).")
@click.option("--engine", "engine_name", default=engine.DEFAULT, show_default=True, help="iobound, wrk, locust:HttpUser …")
@click.option("--unix-socket", type=click.Path(), help="Connect here instead of the URL's host.")
@click.option("--insecure", is_flag=True, help="Don't check the certificate.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of Poisson arrivals.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(urls: tuple[str, ...], as_json: bool, engine_name: str, **given: Any) -> int:
    """Offer HTTP load to URL and say how many requests a second it answered, how fast, and what bound it.

    Several URLs of one server are asked for in rotation. Exits with 1 where nothing, or something wrong, was answered.

    Example: iobound load http://127.0.0.1:8000/ -c 50 -d 5s
    """
    from iobound.analysis.loaded import Server, summarise  # scipy: half a second that --help needn't wait

    spec = make_spec(urls, **given)
    checks.check(spec)
    tool = engine.find(engine_name)
    missing = engine.available(engine_name)
    if missing:
        raise Unavailable(missing)
    interrupted = False
    with MachineLock(), Bar() as progress, ServerProbe(listeners(spec.url, spec.unix_socket)) as probe:
        with ticking(progress, f"{spec.connections} connections to {urlsplit(spec.url).netloc}", spec):
            try:
                result = tool.run(spec)
            except engine.Interrupted as stopped:
                if stopped.result is None:
                    raise
                interrupted, result = True, stopped.result
        use = probe.between(result.started, result.started + result.seconds)
        ceiling = None
        if not interrupted and result.responses:
            progress("measuring the generator's ceiling", 1)
            with suppress(KeyboardInterrupt):  # it is no part of what was asked for
                ceiling = calibration.ceiling(engine_name, spec.connections, spec.cpus).requests_per_second * spec.processes
    summary = summarise(
        result,
        url=urls[0],
        think_s=spec.think_s,
        cores=len(os.sched_getaffinity(0)),
        server=Server(cpu_s=use.cpu_s, busy_processes=use.busy_processes) if use else None,
        ceiling=ceiling,
        interrupted=interrupted,
    )
    if as_json:
        click.echo(msgspec.json.encode(summary))
    else:
        show(summary, spec, terminal.console())
    return exit_code(summary)


def make_spec(
    urls: Sequence[str],
    *,
    paths: Sequence[str],
    method: str | None,
    headers: Sequence[str],
    body: str | None,
    expect_status: int | None,
    expect_body: str | None,
    no_keep_alive: bool,
    insecure: bool,
    connections: int,
    duration: float,
    rate: float | None,
    arrivals: Literal["constant", "poisson"],
    think: float,
    timeout: float,
    warmup: float,
    processes: int,
    cpus: tuple[int, ...] | None,
    unix_socket: str | None,
    seed: int,
) -> LoadSpec:
    """Return what the engine is asked; raises `UsageError` naming the option that can't be read."""
    origins = {f"{parts.scheme}://{parts.netloc}": parts for parts in map(urlsplit, urls)}
    if len(origins) > 1:
        raise UsageError(f"the URLs lead to several servers ({', '.join(origins)}); load one at a time")
    sent = content(body, "--body")
    return LoadSpec(
        url=next(iter(origins)),
        exchanges=[
            Exchange(
                method=method or ("GET" if body is None else "POST"),
                path=path,
                headers=dict(map(header, headers)),
                body=sent or b"",
                status=expect_status,
                answer=content(expect_body, "--expect-body"),
            )
            for path in paths or map(request_target, urls)
        ],
        connections=connections,
        duration_s=duration,
        warmup_s=warmup,
        rate=rate,
        arrivals=arrivals,
        seed=seed,
        keep_alive=not no_keep_alive,
        think_s=think,
        timeout_s=timeout,
        verify_tls=not insecure,
        unix_socket=unix_socket,
        processes=processes,
        cpus=list(cpus) if cpus else None,
    )


def request_target(url: str) -> str:
    """Return path and query of `url`."""
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def header(text: str) -> tuple[str, str]:
    """Read ``Name: value``."""
    name, colon, value = text.partition(":")
    if not colon:
        raise UsageError(f"--header {text!r} has no colon; write it as 'Name: value'")
    return name.strip(), value.strip()


def content(text: str | None, option: str) -> bytes | None:
    """Return the bytes of an option's text, or of the file after its @."""
    if text is None or not text.startswith("@"):
        return None if text is None else text.encode()
    try:
        return Path(text[1:]).read_bytes()
    except OSError as error:
        raise UsageError(f"{option} {text}: the file can't be read ({error.strerror})") from error


@contextmanager
def ticking(progress: Bar, what: str, spec: LoadSpec) -> Iterator[None]:
    """Show the time passing while the engine is at work."""
    ended = threading.Event()

    def tick() -> None:
        began = time.monotonic()
        while not ended.is_set():
            progress(what, min(1.0, (time.monotonic() - began) / (spec.warmup_s + spec.duration_s)))
            ended.wait(TICK_S)

    thread = threading.Thread(target=tick, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def exit_code(summary: Summary) -> int:
    """Return 1 where nothing or something wrong was answered, 4 where the result contradicts itself, 130 after Ctrl-C."""
    if summary.interrupted:
        return INTERRUPTED
    if not summary.responses or summary.bound_by == "errors" or "wrong-body" in summary.errors:
        return 1
    return 0 if summary.valid else NoVerdict.exit_code


def show(summary: Summary, spec: LoadSpec, console: Console) -> None:
    """Print a summary: the rate first, then what qualifies it."""
    offered = "closed loop" if summary.rate is None else f"{words.number(summary.rate)}/s offered, {spec.arrivals} arrivals"
    cut = ", interrupted" if summary.interrupted else ""
    title = f"{summary.url}  {offered}, {summary.connections} connections, {summary.seconds:.1f} s, {summary.engine}{cut}"
    console.print(Text(title, "dim"))
    table = Table.grid(padding=(0, 2))
    for name, text, style in rows(summary):
        table.add_row(Text(name, "dim"), Text(text, style))
    console.print(table)


def rows(summary: Summary) -> Iterator[tuple[str, str, str]]:
    """Yield name, text and style of what `show` prints, the most important first."""
    rate = words.number(summary.requests_per_second)
    yield "requests/s", f"at least {rate}: the generator was the limit" if summary.at_least else rate, "bold"
    known = [f"{name} {words.number(value)}" for name, value in (summary.latency_ms or {}).items() if value is not None]
    yield "latency ms", "   ".join(known) or "no success", "bold"
    yield "errors", counts(summary.errors), "bold red" if summary.errors else ""
    if summary.invalid_because and summary.bound_by != "errors":
        yield "invalid", summary.invalid_because, "bold red"
    yield "bound by", f"{words.bound(summary.bound_by)}: {summary.bound_because}", terminal.COLOURS[summary.bound_by]
    unanswered = f", {summary.unanswered:,} still open at the end" if summary.unanswered else ""
    yield "requests", f"{summary.requests:,} sent, {summary.responses:,} succeeded{unanswered}", ""
    if summary.overdue:
        yield "overdue", f"{summary.overdue:,} more were due and never sent, since no connection was free", "yellow"
    yield "status", counts(summary.status), ""
    in_flight = (
        "" if summary.in_flight_mean is None else f", {words.number(summary.in_flight_mean)} requests in flight on average"
    )
    yield "connections", f"{summary.connects:,} opened{in_flight}", ""
    if summary.target:
        yield "server", cpu(summary.target.cpu_us_per_request, summary.target.utilisation), ""
    generator = summary.generator
    ceiling, late = generator.ceiling_requests_per_second, generator.late_ms_p99
    use = cpu(generator.cpu_us_per_request, generator.utilisation)
    limit = "" if ceiling is None else f"; reaches {words.number(ceiling)}/s here"
    lag = "" if late is None else f"; 99 % sent within {words.number(late)} ms of their time"
    yield "generator", use + limit + lag, ""


def counts(of: dict[str, int]) -> str:
    """Write counts by name."""
    return ", ".join(f"{name} {number:,}" for name, number in of.items()) or "none"


def cpu(per_request: float | None, utilisation: float) -> str:
    """Write what a request cost and how busy that kept a core."""
    cost = "" if per_request is None else f"{words.number(per_request)} us of CPU a request, "
    return f"{cost}{utilisation:.0%} of a core"
