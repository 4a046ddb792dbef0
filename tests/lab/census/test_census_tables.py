"""What the tables hold is added up in the database as it is outside of it, and what is lost, twice or wrong shows."""

from contextlib import closing
from dataclasses import replace
from urllib.parse import urlsplit

import psycopg
import pymysql
import pytest

from iobound.errors import LabError
from iobound.lab.census import data
from iobound.lab.census.data import Census, Matrix
from iobound.lab.census.tables import Tables
from iobound.lab.service import ServiceOptions, find

MATRICES = (
    Matrix("A", "FIRST", "All", "01", ("Total", "one", "other")),
    Matrix("B", "SECOND", "Some, it's said", "01", ("Total",)),
    Matrix("C", "THIRD", "All", "02", ("Total",)),
)
LINES = ["u,NY,0,01,1,1,0,-3,1.25", "u,NY,0,01,2,123456789012345678,0.000001,4,-0.5", "u,NY,0,02,3,7"]


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def tables(request):
    if missing := find(request.param).unavailable():
        pytest.skip(missing)
    with (
        find(request.param).start(ServiceOptions()) as service,
        Tables(request.param, service.scratch("bulk"), MATRICES) as tables,
    ):
        yield tables


@pytest.fixture
def expected(tmp_path):
    (tmp_path / "x.uf1").write_text("".join(f"{line}\n" for line in LINES))
    return data.load(Census(tmp_path / "x.uf1", MATRICES), None, report_bad=False).expected


@pytest.fixture
def filled(tables):
    """Fill the tables with what is in the lines, as any client would."""
    tables.empty()
    items = Census(None, MATRICES).items()
    for number, line in enumerate(LINES, 1):
        *geo, values = line.split(",", 5)
        tables._run("INSERT INTO geo_record (fileid, stusab, chariter, cifsn, logrecno) VALUES (%s, %s, %s, %s, %s)", geo)
        for item, value in zip(items[geo[3]], values.split(","), strict=True):
            tables._run(
                "INSERT INTO data_element (geo_record_id, dictionary_item_id, value) VALUES (%s, %s, %s)", (number, item, value)
            )
    return tables


def test_the_database_adds_up_what_was_worked_out(filled, expected):
    assert filled.contents() == expected
    filled.empty()
    assert filled.contents() == replace(expected, geo_rows=0, geo_digest=0, rows=0, digest=0)


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("UPDATE data_element SET value = value + 0.000001 WHERE id = 5", 9),
        ("UPDATE data_element SET geo_record_id = 3 - geo_record_id WHERE geo_record_id < 3", 9),
        ("DELETE FROM data_element WHERE id = 5", 8),
        ("INSERT INTO data_element (geo_record_id, dictionary_item_id, value) VALUES (1, 1, 1)", 10),
        ("UPDATE geo_record SET logrecno = '4' WHERE id = 3", 9),
    ],
)
def test_what_is_lost_or_twice_or_wrong_shows(filled, expected, statement, rows):
    filled._run(statement)
    found = filled.contents()
    assert found.rows == rows
    assert found.digest != expected.digest


def test_a_record_is_there_once_and_a_value_only_for_what_is_there(filled):
    with pytest.raises(LabError, match=r"(?i)duplicate"):
        filled._run("INSERT INTO geo_record (fileid, stusab, chariter, cifsn, logrecno) VALUES ('u', 'NY', '0', '01', '1')")
    for columns in ("(9, 1, 1)", "(1, 9, 1)"):
        with pytest.raises(LabError, match=r"(?i)foreign key"):
            filled._run(f"INSERT INTO data_element (geo_record_id, dictionary_item_id, value) VALUES {columns}")


def test_what_sessions_wait_for_is_counted_by_its_name(filled):
    at = urlsplit(filled.url)
    if filled._service == "postgresql":
        other = psycopg.connect(filled.url)
    else:
        other = pymysql.connect(host=at.hostname, port=at.port, user=at.username, password=at.password, database=at.path[1:])
    with closing(other):
        assert filled.waits() == {"Client:ClientRead": 1}
