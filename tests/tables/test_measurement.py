"""Errors of measurement and groups: as people give them, and what is refused."""

import numpy as np
import pandas as pd
import pytest
import torch

from rational_anova.tables import prepare

T = np.array([280.0, 300, 320, 350, 290, 310])
V = np.array([0.1, 0.2, 0.15, 0.4, 0.35, 0.22])
P = T / V
E = np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.3])
RUN = ["a", "a", "b", "b", "b", "a"]


def frame(**more):
    return pd.DataFrame({"T": T, "V": V, "P": P, **more})


# ---- errors of the target


@pytest.mark.parametrize(
    "sigma", [E, E.tolist(), pd.Series(E), pd.Series(E, name="e"), torch.tensor(E), "e", E[:, None]]
)
def test_sigma(sigma):
    table = prepare(frame(e=E), "P", sigma=sigma)
    np.testing.assert_array_equal(table.sigma, E)
    assert table.x_sigma is table.groups is None
    assert prepare(frame(), "P", sigma=pd.Series(E, name="V")).names.columns == ("T", "V")
    plain = isinstance(sigma, str) or getattr(sigma, "name", None) == "e"
    assert ("e" in table.names.columns) != plain, "the column of the errors is no input"


def test_one_sigma_for_all_rows():
    table = prepare(T, P, sigma=0.5)
    np.testing.assert_array_equal(table.sigma, np.full(6, 0.5))
    assert prepare(T, P).sigma is None


def test_a_column_of_an_array_by_its_name():
    table = prepare(np.stack([T, E], 1), P, names=["T", "e"], sigma="e")
    assert table.names.columns == ("T",)
    np.testing.assert_array_equal(table.sigma, E)


@pytest.mark.parametrize(
    ("sigma", "message"),
    [
        (0, "sigma must be positive, got 0"),
        (np.nan, "sigma must be finite, got nan"),
        (True, "sigma must be a real number, got True"),
        ([1, 1, 0, 1, 1, 1], "sigma must be positive and finite, got 0 in row 3"),
        ([1, 1, 1, 1, -2, 1], "got -2 in row 5; correct it, or leave the row out"),
        ([1, np.inf, 1, 1, 1, 1], "got inf in row 2"),
        ("bad", r"sigma \(column 'bad'\) must be positive and finite, got -1 in row 1"),
        ("W", "sigma must be one of 'T', 'V', 'bad', got 'W'"),
        ("P", "sigma must be one of 'T', 'V', 'bad', got 'P'"),
        (list("abcdef"), "sigma must be numbers: it is text"),
        ([1, 2], "X has 6 rows, but sigma has 2"),
        (pd.Series(E, index=[5, 4, 3, 2, 1, 0]), "X and sigma name the same rows in another order"),
    ],
)
def test_wrong_sigma(sigma, message):
    with pytest.raises((ValueError, TypeError), match=message):
        prepare(frame(bad=-1.0), "P", sigma=sigma)


# ---- errors of the inputs


def test_x_sigma():
    table = prepare(frame(e=E), "P", x_sigma={"V": "e"})
    assert table.names.columns == ("T", "V")
    np.testing.assert_array_equal(table.x_sigma, np.stack([np.zeros(6), E], 1))
    table = prepare(frame(), "P", x_sigma={"T": 0.5, "V": E})
    np.testing.assert_array_equal(table.x_sigma, np.stack([np.full(6, 0.5), E], 1))
    both = pd.DataFrame({"V": E, "T": 2 * E})
    np.testing.assert_array_equal(
        prepare(frame(), "P", x_sigma=both).x_sigma, np.stack([2 * E, E], 1)
    )
    assert prepare(frame(), "P", x_sigma={"T": 0}).x_sigma is None


@pytest.mark.parametrize("x_sigma", [0.5, np.full(6, 0.5), "e", {"T": 0.5}])
def test_x_sigma_of_the_only_input(x_sigma):
    table = prepare(frame(e=0.5), "P", names=["T"], x_sigma=x_sigma)
    np.testing.assert_array_equal(table.x_sigma, np.full((6, 1), 0.5))


@pytest.mark.parametrize(
    ("x_sigma", "message"),
    [
        (0.5, r'x_sigma must say of which input it is, as x_sigma=\{"T": ...\}; there are T, V'),
        ({"W": 1}, "x_sigma must be one of 'T', 'V', got 'W'"),
        ({"T": -1}, "x_sigma of T must be 0 or more, got -1"),
        ({"T": [1, 1, -3, 1, 1, 1]}, "x_sigma of T must be 0 or more, and finite, got -3 in row 3"),
        ({"T": [1, 1]}, "X has 6 rows, but x_sigma of T has 2"),
        ({"R": 1}, "x_sigma names 'R', which is left out: constant: 8.3"),
        ({"run": 1}, "x_sigma names 'run', which is no input"),
    ],
)
def test_wrong_x_sigma(x_sigma, message):
    with pytest.raises(ValueError, match=message):
        prepare(frame(R=8.3, run=RUN), "P", x_sigma=x_sigma, by="run")


# ---- groups


@pytest.mark.parametrize("by", ["run", RUN, np.array(RUN), pd.Series(RUN, name="run")])
def test_by(by):
    table = prepare(frame(run=RUN), "P", by=by)
    assert table.groups.tolist() == RUN
    assert table.groups.dtype.kind == "U"
    assert table.names.columns == ("T", "V")
    if isinstance(by, str | pd.Series):
        assert table.by == "run"
        assert table.notes == (), "the column is used: nothing was left out"
    else:
        assert table.by == "group"


def test_groups_of_numbers_are_no_input():
    table = prepare(frame(run=[1.0, 1, 2, 2, 2, 1]), "P", by="run")
    assert table.groups.tolist() == ["1", "1", "2", "2", "2", "1"]
    assert table.names.columns == ("T", "V")
    chosen = prepare(frame(run=RUN), "P", names=["T", "run"], by="run")
    assert chosen.names.columns == ("T",)


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (
            ["a"] * 6,
            "by='group' has one group only, 'a', in the 6 rows that can be used; leave by out",
        ),
        (list("abcdef"), "by='group' has 6 groups in 6 rows.*fewer levels, or leave by out"),
        (["a", "b", "c", "d", "a", "b"], "has 4 groups in 6 rows"),
        ("W", "by must be one of 'T', 'V', got 'W'"),
        (["a", "b"], "X has 6 rows, but by has 2"),
        (pd.Series(RUN, name="V"), "by is called 'V' as a column of X is, and has other values"),
    ],
)
def test_wrong_groups(by, message):
    with pytest.raises(ValueError, match=message):
        prepare(frame(), "P", by=by)


# ---- all together


def test_rows_with_gaps_are_left_out_together():
    more = {"e": [np.nan, *E, *E[1:]], "run": ["a", "", None, *RUN, "b", "b", "b"]}
    table = pd.DataFrame({"T": [*T, *T], "V": [*V, *V[:5], None], "P": [*P, *P], **more})
    found = prepare(table, "P", sigma="e", by="run", x_sigma={"T": [1.0] * 8 + [None] + [1.0] * 3})
    left = [3, 4, 5, 6, 7, 9, 10]
    np.testing.assert_array_equal(found.y, table["P"][left])
    np.testing.assert_array_equal(found.X, table[["T", "V"]].loc[left])
    np.testing.assert_array_equal(found.sigma, table["e"][left])
    assert found.groups.tolist() == table["run"][left].tolist()
    assert found.x_sigma.shape == (7, 2)
    assert found.notes == (
        "5 of 12 rows were left out: cells are missing (V: 1, e: 1, x_sigma of T: 1, run: 2).",
    )


def test_an_error_in_a_row_that_is_left_out_does_not_matter():
    table = prepare({"T": [*T, None]}, [*P, 1.0], sigma=[*E, 0.0])
    np.testing.assert_array_equal(table.sigma, E)


def test_a_column_of_text_says_how_to_use_it():
    table = prepare(frame(state=RUN), "P")
    assert table.dropped == {"state": "text"}
    assert table.notes == (
        "state was left out: it is text with 2 different values. To find one law with numbers for "
        'each of them, give by="state" (in the shell --by state); for a law of one of them alone, '
        "--where state=a.",
    )


def test_every_column_that_is_left_out_has_a_note():
    days = pd.date_range("2024-01-01", periods=6)
    table = prepare(
        frame(id=range(6), R=8.3, T2=T, state=RUN, name=list("abcdef"), day=days, empty=None), "P"
    )
    assert set(table.dropped) == {"id", "R", "T2", "state", "name", "day", "empty"}
    for name in table.dropped:
        assert any(note.startswith(f"{name} was left out") for note in table.notes), name


def test_columns_that_a_formula_needs_stay():
    whole = frame(R=8.3, T2=T, id=range(6), gap=[None, 1, 2, 3, 4, 5], state=RUN)
    table = prepare(whole, "P", needed=["T", "R", "T2", "id"])
    assert table.names.columns == ("T", "R", "T2", "id")
    assert (table.dropped, table.notes, len(table.y)) == ({}, (), 6)
    with pytest.raises(ValueError, match="column 'state' must be numbers"):
        prepare(whole, "P", needed=["T", "state"])


def test_a_prepared_table_has_them_already():
    table = prepare(frame(run=RUN), "P", by="run", sigma=0.1)
    assert prepare(table) is table
    for more in ({"sigma": 0.1}, {"by": RUN}, {"x_sigma": 1.0}):
        with pytest.raises(TypeError, match="and sigma, x_sigma and by"):
            prepare(table, **more)
