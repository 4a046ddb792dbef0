import json

import pytest

from iobound import dataset, workloads
from iobound.errors import UsageError


@pytest.mark.parametrize("text", [*workloads.NAMES, "sql-list:1000", "sql-list:0", "sql-multi:3", "db-wait:2.5", "mixed:10"])
def test_spelling_and_parsing_agree(text: str):
    assert str(workloads.parse(text)) == text


@pytest.mark.parametrize("text", ["sql-list:100", "db-wait:10", "sql-multi:10"])
def test_a_default_parameter_is_left_out(text: str):
    assert str(workloads.parse(text)) == text.partition(":")[0]


@pytest.mark.parametrize("text", ["plain:3", "sql-list:-1", "sql-list:10001", "sql-point:0", "db-wait:x", "sql-multi:1.5"])
def test_a_parameter_that_does_not_fit_is_refused(text: str):
    with pytest.raises(UsageError, match="is no parameter"):
        workloads.parse(text)


def test_an_unknown_workload_names_the_nearest():
    with pytest.raises(UsageError, match="did you mean sql-list"):
        workloads.parse("sql-lst")


def test_the_same_seed_asks_the_same():
    for name in workloads.NAMES:
        workload = workloads.parse(name)
        assert workloads.exchanges(workload, 3) == workloads.exchanges(workload, 3)


def test_points_answer_the_row_they_ask_for():
    for exchange in workloads.exchanges(workloads.parse("sql-point:1000")):
        number = int(exchange.path.rpartition("=")[2])
        assert json.loads(exchange.answer or b"") == dataset.item(number)


def test_one_in_five_of_mixed_writes():
    methods = [exchange.method for exchange in workloads.exchanges(workloads.parse("mixed"))]
    assert methods.count("POST") == len(methods) // 5


def test_canonical_json_has_no_spaces_and_keeps_letters():
    assert workloads.canonical({"b": "ü", "a": [1, 2]}) == '{"b":"ü","a":[1,2]}'.encode()


def test_the_file_has_its_size():
    assert len(dataset.file_text().encode()) == 4000
