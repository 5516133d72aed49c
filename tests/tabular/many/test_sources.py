"""A table that comes in pieces makes the same model, bit by bit, whatever the pieces are."""

import numpy as np
import pytest

import rational_anova as ra

from .conftest import chunked

OPTIONS = {"pairs": 2, "refinements": 0}
INPUTS = ["a", "b", "c", "day", "n"]


def parquet(frame, folder, rows):
    """Write a frame to files of so many rows, in groups of 700."""
    folder.mkdir()
    for n, part in enumerate(chunked(frame, rows)):
        part.to_parquet(folder / f"part-{n:03d}.parquet", row_group_size=700, index=False)
    return folder


def dataset(frame, folder):
    import pyarrow.dataset

    return pyarrow.dataset.dataset(parquet(frame, folder / "d", 1100))


def lazy(frame, folder):
    return pytest.importorskip("polars").from_pandas(frame).lazy()


def relation(frame, folder):
    return pytest.importorskip("duckdb").from_df(frame)


def csv(frame, folder):
    frame.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


SOURCES = {
    "chunks of 37": lambda t, p: chunked(t, 37),
    "chunks of 1999": lambda t, p: chunked(t, 1999),
    "list of frames": lambda t, p: list(chunked(t, 500)),
    "function": lambda t, p: lambda: chunked(t, 450),
    "folder": lambda t, p: parquet(t, p / "f", 640),
    "file": lambda t, p: str(parquet(t, p / "g", 10**6) / "part-000.parquet"),
    "pyarrow": dataset,
    "polars": lazy,
    "duckdb": relation,
    "csv": csv,
}


@pytest.fixture(scope="module")
def expected(table):
    """What the model of the table in memory says."""
    from rational_anova.tabular.many import _mixin, _sums

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_mixin, "LARGE", 1000)
        patch.setattr(_sums, "BLOCK", 256)
        return ra.RANRegressor(**OPTIONS).fit(table[INPUTS], table["y"]).predict(table[INPUTS])


@pytest.mark.parametrize("source", SOURCES)
def test_the_same_bits_whatever_the_pieces(quick, table, expected, tmp_path, source):
    frame = table[[*INPUTS, "y"]]
    model = ra.RANRegressor(**OPTIONS).fit(SOURCES[source](frame, tmp_path), "y")
    assert (model.predict(table[INPUTS]) == expected).all()
    assert model.target_name_ == "y"
    assert list(model.feature_names_in_) == INPUTS


def test_csv_larger_than_what_is_read_at_once(quick, monkeypatch, table, expected, tmp_path):
    from rational_anova.tables import _pieces

    monkeypatch.setattr(_pieces, "SMALL_FILE", 0)
    monkeypatch.setattr(_pieces, "CHUNK", 500)
    model = ra.RANRegressor(**OPTIONS).fit(csv(table[[*INPUTS, "y"]], tmp_path), "y")
    assert (model.predict(table[INPUTS]) == expected).all()


@pytest.mark.parametrize("target", ["two", "three"])
def test_classes(quick, table, target):
    frame = table[[*INPUTS, target]]
    found = [
        ra.RANClassifier(**OPTIONS).fit(chunked(frame, size), target).predict_proba(table[INPUTS])
        for size in (111, 5000)
    ]
    assert (found[0] == found[1]).all()
    memory = ra.RANClassifier(**OPTIONS).fit(table[INPUTS], table[target])
    assert (memory.predict_proba(table[INPUTS]) == found[0]).all()
    assert memory.score(table[INPUTS], table[target]) > 0.75


def test_weights_are_rows_that_were_seen_so_often(quick, table):
    frame = table[[*INPUTS, "y", "weight"]]
    weighted = ra.RANRegressor(**OPTIONS).fit(chunked(frame, 700), "y", "weight")
    repeated = frame.loc[frame.index.repeat(frame["weight"])].drop(columns="weight")
    repeats = ra.RANRegressor(**OPTIONS).fit(chunked(repeated, 700), "y")
    # The parts that choose the terms are not the same.
    found = [model.predict(table[INPUTS]) for model in (weighted, repeats)]
    assert np.corrcoef(*found)[0, 1] > 0.999


def test_the_fit_in_pieces_is_as_good_as_the_one_at_once(table):
    X, y = table[INPUTS], table["y"]
    at_once = ra.RANRegressor(**OPTIONS).fit(X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rational_anova.tabular.many._mixin.LARGE", 1000)
        pieces = ra.RANRegressor(**OPTIONS).fit(X, y)
    errors = [np.mean((m.predict(X) - y) ** 2) for m in (at_once, pieces)]
    assert errors[1] < 1.05 * errors[0]


def test_a_small_table_in_pieces_is_fitted_at_once(table):
    frame = table[["a", "b", "c", "y"]][:400]
    pieces = ra.RANRegressor(**OPTIONS).fit(chunked(frame, 60), "y")
    memory = ra.RANRegressor(**OPTIONS).fit(frame[["a", "b", "c"]], frame["y"])
    assert (pieces.predict(frame[["a", "b", "c"]]) == memory.predict(frame[["a", "b", "c"]])).all()


@pytest.mark.parametrize(
    ("link", "power", "chosen"), [("auto", 2.0, "sqrt"), ("sqrt", 0.5, "sqrt"), ("log", 0.5, "log")]
)
def test_links_of_the_target(quick, table, link, power, chosen):
    frame = table[["a", "b", "y"]].assign(y=np.exp(power * table["y"]))
    model = ra.RANRegressor(link=link, **OPTIONS).fit(chunked(frame, 999), "y")
    assert model.link_.name == chosen
    miss = model.predict(frame[["a", "b"]]) - frame["y"]
    assert abs(miss.mean()) < 2 * miss.sem()  # else what the link takes from the mean is missing


def test_many_levels(quick, table):
    random = np.random.default_rng(1)
    shop = random.integers(0, 400, len(table))
    frame = table[["a", "y"]].assign(shop=[f"s{k}" for k in shop], y=table["y"] + shop / 100)
    found = [
        ra.RANRegressor(**OPTIONS).fit(chunked(frame, size), "y").predict(frame[["a", "shop"]])
        for size in (333, 4000)
    ]
    assert (found[0] == found[1]).all()
    assert np.corrcoef(found[0], frame["y"])[0, 1] > 0.5


def test_explanations_are_there(quick, table):
    model = ra.RANRegressor(**OPTIONS).fit(chunked(table[["a", "b", "y"]], 800), "y")
    shares = model.explain_global()["share"]
    assert shares.sum() == pytest.approx(1)
    assert model.explain_local(table[["a", "b"]][:3]) is not None
