"""What a link does to bytes, by an arithmetic that needs no clock."""

from __future__ import annotations

from iobound.lab.network.delay import DelayLine, End, Link, Wire

MS = 1_000_000


def drained(line: DelayLine) -> list[tuple[int, bytes | End]]:
    found = []
    while (due := line.due) is not None:
        found.append((due, line.first))
        line.sent(len(line.first) if isinstance(line.first, bytes) else 0)
    return found


def test_what_is_sent_is_due_a_delay_later():
    line = DelayLine(Wire(Link(5 * MS)), opens_at=0)
    line.put(b"a", 1 * MS)
    line.put(b"b", 2 * MS)
    line.put(End.FIN, 2 * MS)
    assert drained(line) == [(6 * MS, b"a"), (7 * MS, b"b"), (7 * MS, End.FIN)]


def test_what_is_sent_before_the_handshake_is_over_counts_as_sent_then():
    line = DelayLine(Wire(Link(5 * MS)), opens_at=10 * MS)
    line.put(b"a", 1 * MS)
    line.put(b"b", 11 * MS)
    assert [due for due, _ in drained(line)] == [15 * MS, 16 * MS]


def test_jitter_varies_both_ways_and_lets_nothing_overtake():
    wire = Wire(Link(5 * MS, jitter_ns=2 * MS))
    line = DelayLine(wire, opens_at=0)
    for number in range(1000):
        line.put(bytes([number % 256]), number * 1000)  # far closer than the jitter
    found = drained(line)
    assert [what for _, what in found] == [bytes([number % 256]) for number in range(1000)]
    assert [due for due, _ in found] == sorted(due for due, _ in found)
    alone = [wire.arrival(0, 1) for _ in range(1000)]
    assert 3 * MS <= min(alone) < 3.1 * MS
    assert 6.9 * MS < max(alone) <= 7 * MS
    assert 4.9 * MS < sum(alone) / 1000 < 5.1 * MS


def test_a_wire_of_limited_bandwidth_is_shared_and_takes_one_after_the_other():
    wire = Wire(Link(5 * MS, bytes_per_s=1e6))
    first, second = DelayLine(wire, 0), DelayLine(wire, 0)
    first.put(bytes(1000), 0)
    second.put(bytes(2000), 0)
    first.put(bytes(1000), 10 * MS)  # after a pause
    assert [due for due, _ in drained(first)] == [6 * MS, 16 * MS]
    assert [due for due, _ in drained(second)] == [8 * MS]


def test_a_connection_that_opens_later_does_not_keep_the_wire_from_others():
    wire = Wire(Link(5 * MS, bytes_per_s=1e6))
    opening, other = DelayLine(wire, opens_at=100 * MS), DelayLine(wire, 0)
    opening.put(bytes(1000), 0)
    other.put(bytes(1000), 0)
    assert [due for due, _ in drained(opening)] == [105 * MS]
    assert [due for due, _ in drained(other)] == [7 * MS]


def test_a_part_that_was_sent_is_no_longer_held():
    line = DelayLine(Wire(Link()), 0)
    line.put(b"abcdef", 0)
    line.put(b"gh", 0)
    assert line.held == 8
    line.sent(4)
    assert (line.held, line.first) == (4, b"ef")
    line.sent(2)
    assert (line.held, line.first) == (2, b"gh")
    assert line.clear() == 2
    assert (line.held, line.due) == (0, None)
