from collections import Counter

from iobound.measure.schedule import order


def test_two_contenders_are_measured_there_and_back():
    assert {"".join(order("AB", 2, seed=1, launch=launch)) for launch in range(20)} == {"ABBA", "BAAB"}


def test_every_contender_gets_its_blocks():
    assert Counter(order("ABCDE", 3, seed=7, launch=0)) == dict.fromkeys("ABCDE", 3)


def test_every_second_round_mirrors_the_one_before():
    sequence = order("ABCDE", 4, seed=7, launch=3)
    assert sequence[5:10] == sequence[4::-1]
    assert sequence[15:] == sequence[14:9:-1]


def test_the_seed_decides():
    assert order("ABCDE", 2, 1, 0) == order("ABCDE", 2, 1, 0)
    assert len({tuple(order("ABCDE", 2, 1, launch)) for launch in range(20)}) > 10


def test_nobody_is_favoured():
    firsts = Counter(order("ABC", 1, seed, 0)[0] for seed in range(300))
    assert min(firsts.values()) > 60
