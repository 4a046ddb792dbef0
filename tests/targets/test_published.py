"""Every published program on real services, with today's versions and with those of its time where Python 3.8 is found."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from iobound import workloads
from iobound.errors import BadAnswer, LabError
from iobound.lab import catalogue
from iobound.lab.catalogue import Target
from iobound.lab.environments import LOCKS
from iobound.lab.laboratory import Laboratory
from iobound.lab.service import Service
from iobound.lab.targets import launch
from iobound.measure.verify import verify
from iobound.records import Workload

PROGRAMS = [name for name in catalogue.names() if catalogue.find(name).kind == "published"]
ROWS = 100


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    with Laboratory() as shared:
        yield shared


def served(target: Target) -> list[Workload]:
    return [Workload(name=name, rows=ROWS) for name in workloads.NAMES if target.serves(Workload(name=name))]


def service_of(target: Target, laboratory: Laboratory) -> tuple[Service, str] | None:
    if target.service is None:
        return None
    try:
        service = laboratory.service(target.service)
    except LabError as error:
        pytest.skip(str(error))
    return service, service.dataset(ROWS)


def seen_as_labelled(target: Target, ran: dict[str, str]) -> None:
    """Hold what is known of a program against what its answers and its processes show."""
    framework = target.name.partition("-")[0]
    version = re.search(rf"{framework} ([\d.]+)", ran["packages"])[1]
    signatures = {
        "flask": f"Werkzeug/[0-9.]+ Python/{ran['python']}",
        "aiohttp": f"Python/[0-9.]+ aiohttp/{version}",
        "starlette": "uvicorn",
    }
    assert re.fullmatch(signatures[framework], ran["server"])
    assert ran["keep_alive"] == str(framework != "flask")
    for driver, module in {"psycopg2-binary": "psycopg2", "asyncpg": "asyncpg"}.items():
        assert (module in ran["compiled"]) == (driver in ran.get("driver", ""))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_published_program_answers_as_it_did(name, laboratory):
    target = catalogue.find(name)
    if missing := target.unavailable():
        pytest.skip(missing)
    settings = {}
    if working := service_of(target, laboratory):
        service, url = working
        settings["DATABASE_URL" if service.kind == "sql" else "CACHE_URL"] = url
    with launch(target, settings=settings) as running:
        seen_as_labelled(target, running.ran())
        for workload in served(target):
            exchanges = target.exchanges(workload, seed=0)
            if target.expected_failure(workload):
                for _ in range(2):
                    with pytest.raises(BadAnswer, match="500"):
                        verify(running.url, exchanges)
            else:
                verify(running.url, exchanges)
            if working and workloads.writes(workload):
                written = service.count_entries(url)
                assert (written == 0) == bool(target.expected_failure(workload))
                service.empty_entries(url)


def test_the_catalogue_holds_the_published_comparisons():
    asked = {re.sub(r"-as-published|-working|@.*", "", name) for name in PROGRAMS}
    frameworks, files = {"flask", "aiohttp", "starlette"}, {"flask-file", "aiohttp-file", "starlette-file"}
    assert asked == frameworks | files | {
        "flask-sql",
        "starlette-sql",
        "starlette-sql-create",
        "flask-redis",
        "starlette-redis",
    }
    assert {name.partition("@")[2] for name in PROGRAMS} == {"", "3.8", "postgresql", "postgresql@3.8"}


def test_only_the_published_starlette_post_is_expected_to_fail():
    broken = {
        (name.partition("@")[0], workload.name)
        for name in PROGRAMS
        for target in [catalogue.find(name)]
        for workload in served(target)
        if target.expected_failure(workload)
    }
    assert broken == {("starlette-sql-as-published", "sql-insert")}


@pytest.mark.parametrize("lock", ["published", "published-3.8"])
def test_no_accelerator_is_installed_that_the_published_programs_did_not_name(lock):
    installed = re.findall(r"^([\w-]+)==", (LOCKS / f"{lock}.txt").read_text(), re.MULTILINE)
    assert not {"uvloop", "httptools", "hiredis", "aiodns", "asyncmy", "gevent"} & set(installed)
