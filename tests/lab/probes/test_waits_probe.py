"""Sessions are averaged over the looks that were taken while something ran."""

import time

from iobound.errors import LabError
from iobound.lab.probes.waits import INTERVAL_S, WaitProbe


def test_it_averages_what_was_seen_between_two_times():
    seen = [{"Lock:tuple": 3}, {"Lock:tuple": 1, "running": 2}]
    with WaitProbe(lambda: seen[int(time.monotonic() > middle)]) as probe:
        began = time.monotonic()
        middle = began + 4 * INTERVAL_S
        time.sleep(8 * INTERVAL_S)
        ended = time.monotonic()
    assert probe.between(began, middle) == {"Lock:tuple": 3}
    assert probe.between(middle, ended) == {"Lock:tuple": 1, "running": 2}
    both = probe.between(began, ended)
    assert both is not None
    assert 1 < both["Lock:tuple"] < 3


def test_it_says_nothing_of_a_time_in_which_it_did_not_look():
    with WaitProbe(dict) as probe:
        began = time.monotonic()
    assert probe.between(began - 2, began - 1) is None


def test_it_ends_with_the_service():
    def gone():
        raise LabError("gone")

    with WaitProbe(gone) as probe:
        time.sleep(2 * INTERVAL_S)
    assert probe.between(0, time.monotonic()) is None
