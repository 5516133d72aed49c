"""Tables as people have them: read, and made into numbers with notes on what was left out."""

import datetime
import gzip
import sys

import numpy as np
import pandas as pd
import pytest
import torch

from rational_anova.tables import Table, as_text, prepare, read_table, rows_of, typed_columns

T = np.array([280.0, 300, 320, 350, 290, 310])
V = np.array([0.1, 0.2, 0.15, 0.4, 0.35, 0.22])
P = T / V


def same(table, X, y):
    assert isinstance(table, Table)
    assert table.X.dtype == table.y.dtype == np.float64
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, y)


def frame(**more):
    return pd.DataFrame({"T": T, "V": V, "P": P, **more})


# ---- files


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_read_separators(tmp_path, separator):
    path = tmp_path / "table.csv"
    frame(note=['a, "b"; c'] * 6).to_csv(path, sep=separator, index=False)
    found = read_table(path)
    pd.testing.assert_frame_equal(found[["T", "V", "P"]], frame(), check_exact=True)
    assert found["note"][0] == 'a, "b"; c'


def test_read_decimal_commas_and_marks(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes("T; V\r\n1,5;2\r\n\r\n-2,25;3\r\n".encode("utf-8-sig"))
    found = read_table(str(path))
    assert found.columns.tolist() == ["T", "V"]
    assert found["T"].tolist() == [1.5, -2.25]


def test_a_comma_in_every_row_is_that_of_decimals_beside_another_separator(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("rate, max;V\n205,859;86\n298,069;130\n")
    found = read_table(path)
    assert found.columns.tolist() == ["rate, max", "V"]
    assert found["rate, max"].tolist() == [205.859, 298.069]


def test_read_gzip_and_tsv(tmp_path):
    path = tmp_path / "table.tsv.gz"
    path.write_bytes(gzip.compress(b"T\tV\n1\t2\n3\t4\n"))
    assert read_table(path)["V"].tolist() == [2, 4]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match="damaged gzip"):
        read_table(path)


def test_read_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "table.parquet"
    frame().to_parquet(path)
    pd.testing.assert_frame_equal(read_table(path), frame(), check_exact=True)
    path.write_bytes(b"PAR1 broken")
    with pytest.raises(ValueError, match="damaged Parquet"):
        read_table(path)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    path = tmp_path / "table.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        read_table(path)


def test_read_keeps_every_bit(tmp_path):
    path = tmp_path / "table.csv"
    values = np.random.default_rng(0).normal(size=500) * 10.0 ** np.arange(-250, 250)
    path.write_text("x\n" + "\n".join(map(repr, values.tolist())))
    np.testing.assert_array_equal(read_table(path)["x"], values)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"T,V\n", "but no rows"),
        (b"1,2\n3,4\n", "no names of columns: its first row is 1, 2"),
        (b"T,T\n1,2\n", "two columns called 'T'"),
        (b"T,V\n1,2\n3,4,5\n", "line 3 has 3 cells, but the header names 2"),
        ("Température\n1\n".encode("latin-1"), "not text in UTF-8"),
        (b"PK\x03\x04...", "spreadsheet or an archive"),
        (b"T,V\n1,\x00\n", "not a text file"),
    ],
)
def test_files_that_are_no_table(tmp_path, content, message):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_table(path)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*missing.csv"):
        read_table(tmp_path / "missing.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_table(tmp_path)


def test_gaps_and_commas_at_the_end(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(",T,V,on,\n1,2,NA,True,\n2,,3,False,\n3,4\n4,5,6,true\n")
    found = read_table(path)
    assert found.columns.tolist() == ["Unnamed: 0", "T", "V", "on"]
    assert found["V"].isna().tolist() == [True, False, True, False]
    assert found["on"].tolist() == [True, False, None, True]
    table = prepare(pd.concat([found] * 2), T[[0, 1, 2, 3, 0, 1, 2, 3][:8]], names=["on"])
    assert table.X[:3, 0].tolist() == [1, 0, 1]
    path.write_text("on\nTrue\nfalse\n")
    assert read_table(path)["on"].tolist() == [True, False]


# ---- kinds of tables


@pytest.mark.parametrize("kind", [np.asarray, torch.tensor, np.ndarray.tolist])
def test_arrays(kind):
    X = np.stack([T, V], 1)
    table = prepare(kind(X), kind(P), names=["T", "V"], target="P")
    same(table, X, P)
    assert table.names.columns == ("T", "V")
    assert (table.target, table.notes, table.dropped, table.known) == ("P", (), {}, {})


def test_one_column_and_default_names():
    same(prepare(T, P), T[:, None], P)
    same(prepare(pd.Series(T, name="T"), P[:, None]), T[:, None], P)
    table = prepare(np.stack([T, V], 1), pd.Series(P))
    assert (table.names.columns, table.target) == (("x0", "x1"), "y")
    assert prepare({"y": T, "target": V}, P).target == "y0"
    same(prepare(torch.tensor(T).bfloat16(), P), torch.tensor(T).bfloat16().double()[:, None], P)


def test_frames():
    whole = prepare(frame(), "P")
    same(whole, np.stack([T, V], 1), P)
    assert whole.target == "P"
    same(prepare(frame(), "P", names=["V", "T"]), np.stack([V, T], 1), P)
    same(prepare(frame()[["T", "V"]], frame()[["P"]]), np.stack([T, V], 1), P)
    nullable = frame().convert_dtypes()
    same(prepare(nullable, "P"), np.stack([T, V], 1), P)
    shifted = frame().set_axis(range(10, 16))
    same(prepare(shifted[["T"]], frame()["P"].to_numpy()), T[:, None], P)
    same(prepare(shifted[["T"]], frame()["P"]), T[:, None], P)
    assert prepare(pd.DataFrame(np.stack([T, V], 1)), P).names.columns == ("0", "1")


def test_wrong_tables():
    with pytest.raises(ValueError, match="did you mean 'P'"):
        prepare(frame(), "p")
    with pytest.raises(ValueError, match="X has 6 rows, but y has 5"):
        prepare(T, P[:5])
    with pytest.raises(ValueError, match="2 columns, but names has 1"):
        prepare(np.stack([T, V], 1), P, names=["T"])
    with pytest.raises(ValueError, match="one column, got the shape"):
        prepare(T, np.stack([P, P], 1))
    with pytest.raises(ValueError, match="one column, got 2"):
        prepare(T, frame()[["P", "V"]])
    with pytest.raises(ValueError, match="rows and columns, got the shape"):
        prepare(np.zeros((6, 2, 2)), P)
    with pytest.raises(ValueError, match="every row of one length"):
        prepare([[1, 2], [3]], [1, 2])
    with pytest.raises(TypeError, match="an array, a list or a DataFrame, got 3"):
        prepare(3, P)
    with pytest.raises(TypeError, match="names must be a list"):
        prepare(T, P, names="T")
    with pytest.raises(ValueError, match="two columns are called 'T'"):
        prepare(np.stack([T, V], 1), P, names=["T", "T"])
    with pytest.raises(ValueError, match="two columns are called 'T'"):
        prepare(pd.DataFrame(np.stack([T, V], 1), columns=["T", "T"]), P)
    with pytest.raises(ValueError, match="do not fit together"):
        prepare({"T": T, "V": V[:3]}, P)
    with pytest.raises(ValueError, match="same rows in another order"):
        prepare(frame()[["T"]], frame()["P"].sort_values())
    with pytest.raises(ValueError, match="no input is left to find a law of P from: no columns"):
        prepare(frame()[["P"]], "P")


def test_a_prepared_table_is_taken_as_it_is():
    table = prepare(frame(), "P")
    assert prepare(table) is table
    with pytest.raises(TypeError, match="has y, names, target and constants already"):
        prepare(table, P)
    with pytest.raises(TypeError, match="y is missing"):
        prepare(frame())


# ---- cells


def test_missing_cells():
    X = frame().astype(object)
    X.loc[0, "T"], X.loc[1, "V"], X.loc[1, "P"] = None, "", np.nan
    X = pd.concat([X, frame()], ignore_index=True)
    table = prepare(X, "P")
    same(table, np.stack([[*T[2:], *T], [*V[2:], *V]], 1), [*P[2:], *P])
    assert table.notes == ("2 of 12 rows were left out: cells are missing (P: 1, T: 1, V: 1).",)
    with pytest.raises(
        ValueError, match=r"at least 5 rows, and 4 of 6 can be used, as cells.*V: 1"
    ):
        prepare(X[:6], "P")
    with pytest.raises(ValueError, match="at least 5 rows, and 4 of 4 can be used$"):
        prepare(T[:4], P[:4])


def test_columns_that_are_left_out_need_no_cells():
    table = prepare(frame(empty=[None] * 6, R=[8.3, None, 8.3, 8.3, 8.3, 8.3]), "P")
    same(table, np.stack([T, V], 1), P)
    assert table.dropped == {"empty": "empty", "R": "constant: 8.3"}
    assert "R was left out: it is 8.3 in every row." in table.notes


def test_text():
    table = prepare(
        frame(
            number=["1.5", " 2", "\N{MINUS SIGN}3e2", "4", "5", "7"], state=["a", "b"] * 3,
            planet=list("abcdef"), mixed=["1", "2", "<3", "4", "", "6"], day=["2024-01-02"] * 6,
        ),
        "P",
    )  # fmt: skip
    same(table, np.stack([T, V, [1.5, 2, -300, 4, 5, 7]], 1), P)
    assert set(table.dropped) == {"state", "planet", "mixed", "day"}
    notes = " ".join(table.notes)
    assert "state was left out: it is text with 2 different values." in notes
    assert "--where state=a" in notes
    assert "--where planet" not in notes
    assert "mixed was left out: it has text among its numbers, such as '<3' in row 3" in notes
    assert "day was left out: it holds dates" in notes
    with pytest.raises(ValueError, match="target 'state' must be numbers: it is text"):
        prepare(frame(state=["a", "b"] * 3), "state")


def test_a_few_words_among_numbers_are_missing_cells():
    words = [*map(str, V), *map(str, V)]
    words[8] = "0.384*"
    table = prepare({"T": [*T, *T], "V": words}, [*P, *P])
    np.testing.assert_array_equal(table.y, np.delete([*P, *P], 8))
    assert "V has text among its numbers, such as '0.384*' in row 9" in table.notes[0]
    assert table.notes[1] == "1 of 12 rows was left out: cells are missing (V: 1)."
    swapped = prepare({"T": [*T, *T]}, words)
    assert len(swapped.y) == 11


def test_dates_and_other_things():
    days = pd.date_range("2024-01-01", periods=6)
    table = prepare(
        frame(a=days, b=days.date, c=days - days[0], d=[datetime.time(3)] * 6, e=[[1]] * 6), "P"
    )
    assert table.dropped == {**dict.fromkeys("abcd", "dates"), "e": "no numbers"}
    with pytest.raises(ValueError, match="target 'y' must be numbers: it holds dates"):
        prepare(T, days)


def test_text_and_dates():
    table = pd.DataFrame({
        "iso": ["2024-05-31", None, "2024-06-01"], "time": ["2024-05-31T10:00Z", "2024-05-31T12:00+02:00", None],
        "almost": ["2024-05-31", "2024-13-01", None], "german": ["31.05.2024", "01.06.2024", None],
        "code": [7.0, 8.0, np.nan], "truth": [True, False, True],
    })  # fmt: skip
    found = typed_columns(table, ["code"], ["german"])
    kinds = [found[name].dtype.kind for name in table]
    assert kinds == ["M", "M", "O", "M", "O", "b"]
    assert found["time"][0] == found["time"][1] == pd.Timestamp("2024-05-31T10:00Z")
    assert found["code"].tolist()[:2] == ["7", "8"]
    assert as_text(pd.Series(["07", "7.0", "x", None, "inf", 0.5])).tolist() == [
        "7",
        "7",
        "x",
        None,
        "inf",
        "0.5",
    ]


def test_booleans_are_numbers():
    table = prepare(frame(on=[True, False] * 3, off=pd.array([None, True] * 3, dtype="boolean"))[:], "P",
                    names=["T", "on"])  # fmt: skip
    same(table, np.stack([T, [1, 0] * 3], 1), P)
    same(prepare(T, T > 300), T[:, None], T > 300)


def test_complex_and_infinite():
    with pytest.raises(TypeError, match="'x0' must be numbers: it has complex"):
        prepare(T + 1j, P)
    with pytest.raises(TypeError, match="'y' must be numbers: it has complex"):
        prepare(T, np.array([1j, *P[1:]], dtype=object))
    with pytest.raises(ValueError, match="column 'V' is infinite in row 3"):
        prepare(frame(V=[0.1, 0.2, np.inf, 0.1, 0.2, 0.3]), "P")
    with pytest.raises(ValueError, match="column 'y' is infinite in row 1"):
        prepare(T, [-np.inf, *P[1:]])


# ---- columns that say nothing new


@pytest.mark.parametrize(
    ("name", "values", "gone"),
    [
        ("rownames", range(1, 7), True), ("Unnamed: 0", range(6), True), ("", range(6), True),
        ("Index", [3, 5, 6, 8, 9, 20], True), ("obs", range(1, 7), True), ("t", range(1, 7), False),
        ("obs", [3, 5, 6, 8, 9, 20], False), ("id", [1.5, 2, 3, 4, 5, 6], False),
        ("id", [6, 2, 3, 4, 5, 1], False),
    ],
)  # fmt: skip
def test_row_numbers(name, values, gone):
    table = prepare(frame(**{name: values}), "P")
    assert table.dropped == ({name: "row number"} if gone else {})
    assert len(table.notes) == gone
    only = prepare(pd.DataFrame({name: values}), P)  # a sequence is a table, too
    assert only.names.columns == (name,)
    assert name in prepare(frame(**{name: values}), "P", names=["T", name]).names.columns


def test_constants_and_copies():
    table = prepare(frame(R=8.314, kind="gas", T2=T, celsius=T - 273.15, litre=1000 * V), "P")
    same(table, np.stack([T, V], 1), P)
    assert table.dropped == {
        "kind": "constant: gas", "R": "constant: 8.314", "T2": "copy of T",
        "celsius": "copy of T", "litre": "copy of V",
    }  # fmt: skip
    assert "T2 was left out: it is a copy of T in every row." in table.notes
    assert "celsius was left out: it is T - 273.15 in every row." in table.notes
    assert "litre was left out: it is 1000*V in every row." in table.notes


def test_of_two_copies_the_number_of_the_row_goes():
    n = np.arange(1.0, 21)
    table = prepare({"probe": n, "time": (n - 1) / 2}, np.exp(-n / 9), target="y")
    assert table.names.columns == ("time",)
    assert table.notes == ("probe was left out: it is 2*time + 1 in every row.",)


def test_target_among_inputs():
    table = prepare(frame(again=P), "P")
    assert table.names.columns == ("T", "V")
    assert "again was left out: it is a copy of the target P in every row." in table.notes
    also = prepare(frame(), frame()["P"])
    assert also.names.columns == ("T", "V")
    assert also.notes == ("P was left out of the inputs: it is the target.",)
    with pytest.raises(
        ValueError, match=r"no input is left to find a law of P from: again \(copy of P\)"
    ):
        prepare(frame(again=P)[["P", "again"]], "P")
    with pytest.raises(ValueError, match="called 'T' as the target is, and has other values"):
        prepare(frame(), P, target="T")


def test_linear_laws_are_laws():
    assert prepare(T, 2 * T + 1).names.columns == ("x0",)
    table = prepare(frame()[["T", "V"]], 1.8 * T - 459.67, target="F")
    assert table.names.columns == ("T", "V")
    assert "F is 1.8*T - 459.67 in every row. If T is only F in another unit" in table.notes[0]


def test_constant_target():
    same(prepare(T, np.full(6, 3.0)), T[:, None], np.full(6, 3.0))


def test_known_constants():
    assert prepare(T, P, constants={"R": 8.314, "n": 2}).known == {"R": 8.314, "n": 2.0}
    with pytest.raises(ValueError, match="constant 'T' has the name of a column"):
        prepare(frame(), "P", constants={"T": 1.0})
    with pytest.raises(TypeError, match="constant 'R' must be a real number, got '8'"):
        prepare(T, P, constants={"R": "8"})
    with pytest.raises(ValueError, match="constant 'R' must be finite"):
        prepare(T, P, constants={"R": np.nan})
    with pytest.raises(ValueError, match="a constant needs a name"):
        prepare(T, P, constants={" ": 1.0})


# ---- rows to predict


def test_rows_of():
    X = np.stack([T, V], 1)
    for rows in (X, X.tolist(), torch.tensor(X), frame(), frame()[["V", "T"]], {"V": V, "T": T}):
        np.testing.assert_array_equal(rows_of(rows, ["T", "V"]), X)
    for rows in (T, T[:, None], pd.Series(T), pd.Series(T, name="T"), T.tolist()):
        np.testing.assert_array_equal(rows_of(rows, ["T"]), T[:, None])
    assert rows_of(np.zeros((3, 0)), []).shape == (3, 0)
    assert np.isnan(rows_of([["1", ""]], ["T", "V"])).tolist() == [[False, True]]
    with pytest.raises(ValueError, match="no column 'n'; the law needs T, n"):
        rows_of(frame(), ["T", "n"])
    with pytest.raises(ValueError, match=r"rows of 2 columns \(T, V\), got the shape \(6,\)"):
        rows_of(T, ["T", "V"])
    with pytest.raises(ValueError, match="column 'V' must be numbers: it is text"):
        rows_of({"T": T, "V": list("abcdef")}, ["T", "V"])
    with pytest.raises(TypeError, match="complex"):
        rows_of(T + 1j, ["T"])
