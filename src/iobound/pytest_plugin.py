"""A pytest plugin: the fixture `race` explores functions, and ``@pytest.mark.race`` makes a test function one that is explored.

    def test_voucher(race):
        race.explore(redeem, sessions=[(7,), (8,)], setup=reset, invariant=within_limit).assert_holds()

    @pytest.mark.race(setup="TRUNCATE counter; INSERT INTO counter VALUES (1, 0)")
    def test_bump():
        ...

What the marker says are defaults for the fixture in a test that asks for it. Nothing else of iobound is imported before the
first exploration, for pytest loads this wherever iobound is installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from iobound.race import Report

MARK = "race"
FOLDER = "iobound-race"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("iobound", "iobound race")
    group.addoption(
        "--race-max-schedules",
        type=_positive,
        metavar="N",
        help="explore exhaustively up to N schedules of each function (iobound)",
    )
    group.addoption(
        "--race-replay",
        type=Path,
        metavar="FILE",
        help="carry out only the schedule in FILE, and skip explorations of other functions (iobound)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Say what the marker is."""
    config.addinivalue_line(
        "markers",
        "race(**options): explore the test function, called at once by several sessions; options are those of "
        "iobound.race.explore. On a test with the fixture race they are its defaults.",
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


class Race:
    """Explores functions as `iobound.race.explore` does, with what the marker and the command line say."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item

    def explore(self, function: Any, **options: Any) -> Report:
        """Explore `function`; see `iobound.race.explore`. A violation's schedule is kept for ``--race-replay``."""
        from iobound import race

        marker = self._item.get_closest_marker(MARK)
        wanted: dict[str, Any] = {**(marker.kwargs if marker else {}), **options}
        config = self._item.config
        if config.getoption("--race-replay"):
            return self._replay(config.getoption("--race-replay"), function, wanted)
        most = config.getoption("--race-max-schedules")
        if most is not None:
            wanted["max_schedules"] = most
        report = race.explore(function, **wanted)
        self._keep(report)
        return report

    def _replay(self, file: Path, function: Any, wanted: dict[str, Any]) -> Report:
        """Carry out the schedule in `file` where it is one of `function`; skip the test where it isn't, or goes well now."""
        from iobound.race import cases, replaying

        yes_database = wanted.pop("yes_database", None)
        wanted.pop("max_schedules", None)
        wanted.pop("progress", None)
        case = cases.combine(function, **wanted)
        if case.name != replaying.read(file).case:
            pytest.skip(f"{file} is a schedule of another function")
        report = replaying.replay(file, case=case, yes_database=yes_database)
        if report.verdict != "violated":
            pytest.skip("this schedule goes well now; explore all without --race-replay")
        return report

    def _keep(self, report: Report) -> None:
        from iobound.race import replaying

        replay = report.replay()
        cache = getattr(self._item.config, "cache", None)  # there is none with -p no:cacheprovider
        if replay is None or cache is None:
            return
        name = re.sub(r"[^\w.-]+", "-", self._item.nodeid)
        file = cache.mkdir(FOLDER) / f"{name}.json"
        replaying.write(replay, file)
        self._item.add_report_section("call", "race", f"this schedule alone: pytest --race-replay {file}")


@pytest.fixture
def race(request: pytest.FixtureRequest) -> Race:
    """Explore functions: every interleaving of concurrent calls, on a real database."""
    return Race(request.node)


class ExploredItem(pytest.Item):
    """A test function that is explored instead of called."""

    def __init__(self, *, function: Any, **rest: Any) -> None:
        super().__init__(**rest)
        self.obj = function
        self.own_markers.extend(function.pytestmark)
        self.keywords.update((mark.name, mark) for mark in function.pytestmark)

    def runtest(self) -> None:
        """Explore; fail where it doesn't hold."""
        Race(self).explore(self.obj).assert_holds()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the report alone, not the way to it."""
        from iobound.errors import IoboundError
        from iobound.race import Violated

        if isinstance(excinfo.value, (Violated, IoboundError)):
            return str(excinfo.value).strip()
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the function is."""
        return self.path, self.obj.__code__.co_firstlineno - 1, self.name


def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, name: str, obj: Any) -> Iterable[pytest.Item] | None:
    """Collect a marked function that doesn't ask for the fixture."""
    marks: Mapping[str, Any] = {mark.name: mark for mark in getattr(obj, "pytestmark", ()) if callable(obj)}
    code = getattr(obj, "__code__", None)
    if MARK not in marks or code is None or MARK in code.co_varnames[: code.co_argcount] or not collector.funcnamefilter(name):
        return None
    if isinstance(collector, pytest.Class):
        raise collector.CollectError(f"{name}: @pytest.mark.race goes on a function of the module, not on a method")
    for other in ("parametrize", "usefixtures"):
        if other in marks:
            raise collector.CollectError(
                f"{name}: @pytest.mark.{other} has no effect beside @pytest.mark.race; "
                "write a test that asks for the fixture race and calls race.explore"
            )
    return [ExploredItem.from_parent(collector, name=name, function=obj)]
