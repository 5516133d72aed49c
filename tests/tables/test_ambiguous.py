"""Files of tables that may mean two things: nothing is lost or misread in silence."""

import gzip
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rational_anova.tables import (
    NOTES,
    as_array,
    as_text,
    prepare,
    read_table,
    screened,
    stray_text,
)

LINES = ["x,z,y", *(f"{k}.5,{k},{2 * k}" for k in range(60))]


def written(tmp_path, lines, name="table.csv"):
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return path


def quoted(*places):
    """The lines with a quote before (or after) the second cell of some of them."""
    lines = list(LINES)
    for line, before in places:
        cells = lines[line].split(",")
        cells[1] = f'"{cells[1]}' if before else f'{cells[1]}"'
        lines[line] = ",".join(cells)
    return lines


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ([(10, True)], "begins in line 11; a quote may be missing"),
        ([(10, True), (40, False)], "hold lines 11 to 41, each of which looks like a row"),
        ([(10, True), (40, True)], "begins in line 11"),
        ([(10, True), (11, False)], "hold lines 11 to 12"),
    ],
)
def test_stray_quotes_swallow_no_rows(tmp_path, places, message):
    with pytest.raises(ValueError, match=message):
        read_table(written(tmp_path, quoted(*places)))


def test_cells_of_several_lines_are_read(tmp_path):
    lines = [*LINES[:3], '9,"first line\nsecond, with a comma\nthird",7', *LINES[3:]]
    found = read_table(written(tmp_path, lines))
    assert len(found) == 61
    assert found["z"][2] == "first line\nsecond, with a comma\nthird"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 12)), max_size=4))
def test_no_row_is_lost_whatever_quotes_are_put_in(tmp_path_factory, places):
    lines = list(LINES)
    for line, at in places:
        lines[line] = lines[line][:at] + '"' + lines[line][at:]
    try:
        found = read_table(written(tmp_path_factory.mktemp("quotes"), lines))
    except ValueError:
        return
    assert len(found) == 60


def test_a_comma_may_be_of_thousands(tmp_path):
    with pytest.raises(ValueError, match="'24,257', which may be 24.257 or 24257"):
        read_table(written(tmp_path, ["a\tb", "24,257\t1", "31,002\t2"]))
    sure = read_table(written(tmp_path, ["a\tb", "24,257\t1", "31,02\t2"]))
    assert sure["a"].tolist() == [24.257, 31.02]
    usual = read_table(written(tmp_path, ["a;b", "24,257;1", "31,002;2"]))
    assert usual["a"].tolist() == [24.257, 31.002]
    assert "24,257 was read as 24.257" in usual.attrs[NOTES][0]
    words = read_table(written(tmp_path, ["a\tb", "24,257\t1", "none of it\t2"]))
    assert words["a"].tolist() == ["24,257", "none of it"]


def test_long_numbers_of_accounts_stay_apart(tmp_path):
    lines = ["id,y", "123456789012345678,1", "123456789012345679,2"]
    found = read_table(written(tmp_path, lines))
    assert found["id"].tolist() == ["123456789012345678", "123456789012345679"]
    assert "id was read as text" in found.attrs[NOTES][0]
    assert as_text(pd.Series([123456789012345678, 123456789012345679])).nunique() == 2
    exact = read_table(written(tmp_path, ["id,y", "9007199254740992,1", "100000000000000000,2"]))
    assert exact["id"].dtype == float


def test_rows_with_too_few_cells_are_noted(tmp_path):
    found = read_table(written(tmp_path, [*LINES, "3"]))
    assert "1 of 61 rows have fewer cells than the header" in found.attrs[NOTES][0]
    table = prepare(found, "y")
    assert any("fewer cells" in note for note in table.notes)


@pytest.mark.parametrize("content", [b"a,b\n1," + b"x" * 200_000 + b"\n", b',"Unnamed: 0"\n1,2\n'])
def test_odd_cells_and_names(tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="table.csv"):
        read_table(path)


def test_damaged_and_endless_files(tmp_path):
    packed = bytearray(gzip.compress("\n".join(LINES).encode()))
    packed[40] ^= 255
    path = tmp_path / "table.csv.gz"
    path.write_bytes(packed)
    with pytest.raises(ValueError, match="damaged gzip"):
        read_table(path)
    path.write_bytes(gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"3,4\n"))
    assert len(read_table(path)) == 2
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ValueError, match="a pipe or a device"):
            read_table(tmp_path / "pipe")


def test_what_is_masked_is_missing():
    values = np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    for given_as in (values, [values[0], values[1]], {"a": values[:, 0], "b": values[:, 1]}):
        np.testing.assert_array_equal(as_array(given_as), [[1, np.nan], [3, 4]])
    texts = np.ma.array(["a", "b"], mask=[True, False])
    assert prepare(
        {"x": [1.0, 2, 3, 4, 5, 6], "t": np.ma.concatenate([texts] * 3)}, np.arange(6.0) ** 2
    )


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e200, 1e308])
def test_numbers_at_the_ends_of_float64_are_refused(size):
    x = np.linspace(0.1, 1, 20)
    with pytest.raises(ValueError, match="in another unit"):
        prepare({"x": x * size}, x**2)
    with pytest.raises(ValueError, match="in another unit"):
        prepare({"x": x}, x**2 * size)


def test_very_many_columns_are_screened():
    X = np.random.default_rng(0).normal(size=(300, 400))
    table = screened(prepare(X, X[:, 7] + X[:, 300] ** 2), 30, kept=["x11"])
    assert len(table.names) == 30 == table.X.shape[1]
    assert {"x7", "x300", "x11"} <= set(table.names.columns)
    assert "370 of 400 columns were left out" in table.notes[-1]
    np.testing.assert_array_equal(table.X[:, table.names.columns.index("x300")], X[:, 300])


@pytest.mark.parametrize(("first", "last"), [(0, 8), (0, 3), (2, 8)])
def test_quotes_around_whole_lines_swallow_no_rows(first, last, tmp_path):
    """Where a quote closes at the end of a line, the row has one cell, and not those of the header."""
    lines = list(LINES)
    lines[10] = lines[10][:first] + '"' + lines[10][first:]
    lines[40] = lines[40][:last] + '"' + lines[40][last:]
    with pytest.raises(ValueError, match="quote"):
        read_table(written(tmp_path, lines))


def test_text_that_strayed_into_numbers_is_found():
    cells = [f"{k}.5" for k in range(60)]
    assert stray_text(pd.Series([*cells, '7.1"'], dtype=object)) == (60, '7.1"')
    assert stray_text(pd.Series(cells, dtype=object)) is None
    assert stray_text(pd.Series([*cells[:5], "a", "b"], dtype=object)) is None
    assert stray_text(pd.Series([1.0, np.nan])) is None


def test_a_name_with_half_a_character():
    with pytest.raises(ValueError, match=r"'\\ud800', which has half a character"):
        prepare(pd.DataFrame([[1.0]], columns=pd.Index(["\ud800"], dtype=object)), [1.0])
