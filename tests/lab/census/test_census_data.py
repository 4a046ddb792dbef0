"""What is to be loaded is said before anything is: bad data is refused by its line, or left out as asked."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from iobound.errors import UsageError
from iobound.lab.census import data

CENSUS = Path(__file__).parents[4] / "shared" / "data" / "census"  # the real files, which aren't part of the project

DICTIONARY = """[
    {"code": "A1", "name": "FIRST", "universe": "All", "elements": [
        {"name": "Total:", "elements": [{"name": "one"}, {"name": "other"}]}]},
    {"code": "A2", "name": "SECOND", "universe": "All", "elements": [{"name": "Total"}]},
    {"code": "B1", "name": "THIRD", "universe": "All", "elements": [{"name": "Total"}]}
]"""
SEGMENTS = """[
    {"segment": "01", "starting_matrix": "A1", "ending_matrix": "A2"},
    {"segment": "02", "starting_matrix": "B1", "ending_matrix": "B1"}
]"""


def line(number, values="1,2,3,4", segment="01"):
    return f"uSF1,NY,000,{segment},{number:07},{values}\r\n"


@pytest.fixture
def census(tmp_path):
    """Return a function that makes a folder of the census from lines."""

    def make(lines, packed=False):
        (tmp_path / "dictionary.json").write_text(DICTIONARY)
        (tmp_path / "segments.json").write_text(SEGMENTS)
        text = "".join(lines)
        if packed:
            with zipfile.ZipFile(tmp_path / "ny.uf1.zip", "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("ny.uf1", text)
        else:
            (tmp_path / "ny.uf1").write_text(text)
        data.read.cache_clear()
        data.load.cache_clear()
        return data.read(tmp_path)

    return make


@pytest.mark.parametrize("packed", [False, True])
def test_what_is_to_be_loaded_is_worked_out(census, packed):
    found = census([line(1), line(2, "5,0,-7,1.25"), line(3, "9", "02")], packed)
    assert found.items() == {"01": [1, 2, 3, 4], "02": [5]}
    assert [matrix.items for matrix in found.matrices] == [("Total:", "one", "other"), ("Total",), ("Total",)]
    load = data.load(found, None, report_bad=False)
    expected = [
        *(f"uSF1,NY,000,01,0000001,{item},{item}.000000" for item in (1, 2, 3, 4)),
        *("uSF1,NY,000,01,0000002,1,5.000000", "uSF1,NY,000,01,0000002,2,0.000000"),
        *("uSF1,NY,000,01,0000002,3,-7.000000", "uSF1,NY,000,01,0000002,4,1.250000"),
        "uSF1,NY,000,02,0000003,5,9.000000",
    ]
    assert (load.lines, load.expected.geo_rows, load.expected.rows) == (3, 3, 9)
    assert load.expected.digest == sum(map(data.digest, expected))
    assert load.expected.geo_digest == sum(
        map(data.digest, ["uSF1,NY,000,01,0000001", "uSF1,NY,000,01,0000002", "uSF1,NY,000,02,0000003"])
    )


BAD = {
    "a value missing": (line(2, "1,2,3"), "it has 3 values, its segment has 4 items"),
    "a value too many": (line(2, "1,2,3,4,5"), "it has 5 values, its segment has 4 items"),
    "no number": (line(2, "1,2,x3,4"), "column 8 is 'x3', no number"),
    "an empty value": (line(2, "1,,3,4"), "column 7 is '', no number"),
    "too many decimals": (line(2, "1,2,3,0.1234567"), "column 9 is '0.1234567', no number of up to 18 digits and 6 decimals"),
    "an unknown segment": (line(2, segment="77"), "its column 4 is '77', no segment of the dictionary"),
    "an empty line": ("\r\n", "its column 4 is '', no segment of the dictionary"),
    "the same place twice": (line(1), "its first 5 columns are those of line 1"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_line_is_refused_by_its_number_or_left_out(census, what):
    bad, message = BAD[what]
    found = census([line(1), bad, line(3), line(4)])
    with pytest.raises(UsageError) as refused:
        data.load(found, 3, report_bad=False)
    assert f"{found.path}, line 2: {message}" in str(refused.value)
    assert "--bad-lines report" in str(refused.value)
    load = data.load(found, 3, report_bad=True)
    assert (load.lines, load.skip, load.expected.rows) == (3, (2,), 12)
    assert load.bad[0].startswith(f"line 2: {message}")


def test_a_bad_line_behind_those_that_are_asked_for_does_no_harm(census):
    assert data.load(census([line(1), line(2), "cut"]), 2, report_bad=False).lines == 2


@pytest.mark.parametrize(("rest", "message"), [("uSF1,NY,000,01,0000003,1,2", "it has 2 values"), (line(3).strip(), "no end")])
def test_a_file_that_is_cut_off_is_named_by_the_line_where_it_ends(census, rest, message):
    found = census([line(1), line(2), rest])
    with pytest.raises(UsageError, match=rf"line 3: .*(cut off here.*{message}|{message}.*cut off here)"):
        data.load(found, None, report_bad=False)


def test_an_archive_that_is_cut_off_is_named(census):
    found = census([line(number, "1,2,3,4") for number in range(1, 2000)], packed=True)
    whole = found.path.read_bytes()
    found.path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UsageError, match=r"ny\.uf1\.zip can't be read: .*cut off"):
        data.load(found, None, report_bad=False)


def test_fewer_lines_than_asked_are_counted(census):
    with pytest.raises(UsageError, match=r"--lines: .*ny\.uf1 has 2 lines, not 3"):
        data.load(census([line(1), line(2)]), 3, report_bad=False)
    with pytest.raises(UsageError, match="has 1 good lines, and 1 bad, not 2"):
        data.load(census([line(1), "bad\n"]), 2, report_bad=True)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("dictionary.json", "[", "dictionary.json can't be read"),
        ("dictionary.json", None, "dictionary.json can't be read"),
        (
            "segments.json",
            '[{"segment": "01", "starting_matrix": "A1", "ending_matrix": "Z9"}]',
            "segment 01 goes from A1 to Z9",
        ),
        ("ny.uf1", None, "has no data file"),
    ],
)
def test_a_folder_that_lacks_something_says_what(census, name, text, message):
    folder = census([line(1)]).path.parent
    data.read.cache_clear()
    (folder / name).write_text(text) if text else (folder / name).unlink()
    with pytest.raises(UsageError, match=f"--data: .*{message}"):
        data.read(folder)


def test_a_made_census_has_the_shape_of_the_real_one():
    made = data.made(3, 30)
    assert made == data.made(3, 30)
    assert made.path.read_text() != data.made(4, 30).path.read_text()
    items = made.items()
    assert (len(made.matrices), len(items), len(items["01"])) == (286, 39, 222)
    load = data.load(made, 30, report_bad=False)
    assert (load.lines, load.columns, load.expected.rows) == (30, 222, 6660)


@pytest.mark.skipif(not CENSUS.exists(), reason="needs the census's files beside the project")
def test_the_real_census_is_read():
    real = data.read(CENSUS)
    items = real.items()
    assert (len(real.matrices), len(items["01"]), sum(map(len, items.values()))) == (286, 222, 8113)
    load = data.load(real, 100, report_bad=False)
    assert (load.lines, load.columns, load.expected.rows) == (100, 222, 22_200)


def test_looking_through_a_long_file_takes_no_more_memory():
    script = (
        "import resource, sys; from iobound.lab.census import data; lines = int(sys.argv[1])\n"
        "data.load(data.made(1, lines), lines, report_bad=False)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = [
        int(subprocess.run([sys.executable, "-c", script, str(lines)], capture_output=True, check=True).stdout)
        for lines in (100, 3000)
    ]
    assert peaks[1] < 1.1 * peaks[0]
