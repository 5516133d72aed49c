"""Tables as they come: every kind of column, gaps, odd names, odd scales, and clear errors."""

import datetime

import numpy as np
import pandas as pd
import pytest

from rational_anova import RANClassifier, RANRegressor

N = 120
RNG = np.random.default_rng(0)
X = RNG.normal(size=N)
Z = RNG.normal(size=N)
G = RNG.choice(["a", "b", "c"], N)
Y = X + 0.1 * RNG.normal(size=N)
TIMES = pd.date_range("2020-01-01", periods=N, freq="7h")
BOTH = [RANRegressor, RANClassifier]


def gap(values, dtype, at=3):
    column = pd.Series(values, dtype=dtype)
    column[at] = None
    return column


def classes(cls, y=Y):
    return y if cls is RANRegressor else np.where(y > 0, "p", "q")


def fitted(cls, frame, y=None, **options):
    return cls(refinements=0, **options).fit(frame, classes(cls) if y is None else y)


def outcome(model, frame):
    """Predictions as finite numbers, whatever they are of."""
    numbers = (
        model.predict(frame) if isinstance(model, RANRegressor) else model.predict_proba(frame)
    )
    assert np.isfinite(numbers).all()
    assert len(numbers) == len(frame)
    return numbers


COLUMNS = {
    "category": pd.Categorical(G),
    "category with gaps": gap(G, "category"),
    "category of numbers": pd.Categorical(RNG.integers(0, 4, N)),
    "ordered": pd.Categorical(G, ["c", "b", "a"], ordered=True),
    "intervals": pd.cut(Z, 4),
    "object": gap(G, object),
    "string": gap(G, "string"),
    "mixed": pd.Series([1, "1", 2.5, None, True, "b"] * (N // 6), dtype=object),
    "bool": X > 0,
    "boolean": gap(X > 0, "boolean"),
    "Int64": gap(RNG.integers(0, 9, N), "Int64"),
    "Float64": gap(Z, "Float64"),
    "float32": Z.astype(np.float32),
    "uint8": RNG.integers(0, 200, N).astype(np.uint8),
    "datetime": TIMES,
    "datetime with gaps": gap(TIMES, "datetime64[ns]"),
    "datetime with zone": TIMES.tz_localize("UTC").tz_convert("Asia/Tokyo"),
    "period": TIMES.to_period("D"),
    "missing number": np.full(N, np.nan),
    "missing text": pd.Series([None] * N, dtype=object),
    "missing date": pd.Series([pd.NaT] * N),
    "constant": np.full(N, 3.0),
    "constant text": ["k"] * N,
    "sparse": pd.arrays.SparseArray(np.where(Z > 1, Z, 0)),
    "timestamps": TIMES.as_unit("ns").asi8,
}


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_every_kind(cls, name):
    frame = pd.DataFrame({"x": X, "column": COLUMNS[name]})
    model = fitted(cls, frame)
    together = outcome(model, frame)
    np.testing.assert_allclose(outcome(model, frame[5:9]), together[5:9], rtol=1e-9, atol=1e-12)
    assert model.score(frame, classes(cls)) > 0.8
    alone = fitted(cls, frame[["column"]])
    outcome(alone, frame[["column"]])


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
def test_backends_of_pandas(backend):
    if backend == "pyarrow":
        pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"x": X, "g": G, "t": TIMES})
    plain = fitted(RANRegressor, frame)
    other = frame.convert_dtypes(dtype_backend=backend)
    np.testing.assert_allclose(
        outcome(fitted(RANRegressor, other), other), outcome(plain, frame), rtol=1e-9
    )


def test_dates_have_parts():
    model = fitted(RANRegressor, pd.DataFrame({"t": TIMES}))
    assert [f.part for f in model.features_] == ["day", "month", "weekday", "hour"]
    assert [f.name for f in model.features_][:2] == ["t", "t (month)"]


def test_objects_that_are_numbers_or_dates():
    text = pd.DataFrame({
        "number": pd.Series([1.5, None, *X[2:]], dtype=object),
        "date": pd.Series([datetime.date(2020, 1, 1) + datetime.timedelta(k) for k in range(N)], dtype=object),
    })  # fmt: skip
    model = fitted(RANRegressor, text)
    assert {f.kind for f in model.features_ if f.column == 0} == {"number"}
    assert {f.kind for f in model.features_ if f.column == 1} == {"date"}
    outcome(model, text)


# -- what is new at prediction


@pytest.mark.parametrize("cls", BOTH)
def test_constant_in_training_but_not_later(cls):
    model = fitted(cls, pd.DataFrame({"x": X, "a": 3.0, "k": "k"}))
    before = outcome(model, pd.DataFrame({"x": X, "a": 3.0, "k": "k"}))
    after = outcome(model, pd.DataFrame({"x": X, "a": Z, "k": G}))
    np.testing.assert_allclose(after, before, rtol=1e-12)


@pytest.mark.parametrize("cls", BOTH)
def test_unseen_levels_are_all_alike(cls):
    model = fitted(cls, pd.DataFrame({"x": X, "g": G}))
    new = outcome(model, pd.DataFrame({"x": 0.5, "g": ["new", "newer", 7, None]}))
    np.testing.assert_array_equal(new, np.repeat(new[:1], 4, 0))


@pytest.mark.parametrize("cls", BOTH)
def test_a_gap_where_there_was_none(cls):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(3, 1, 400)})
    y = 2 * frame["x"] + 0.1 * rng.normal(size=400)
    model = fitted(cls, frame, y if cls is RANRegressor else np.where(y > 6, "p", "q"))
    (blank,) = outcome(model, pd.DataFrame({"x": [np.nan]}))
    if cls is RANRegressor:
        assert abs(blank - y.mean()) < 0.2
    else:
        assert 0.2 < blank[0] < 0.8


def test_beyond_the_range_effects_stay():
    model = fitted(RANRegressor, pd.DataFrame({"x": X}))
    # One row at a time: in a table of several, BLAS rounds the last rows in another order.
    ends = [outcome(model, pd.DataFrame({"x": [x]}))[0] for x in (X.max(), 1e9, 1e300)]
    np.testing.assert_array_equal(ends, ends[:1] * 3)


def test_numbers_as_text_are_read_and_words_are_not():
    model = fitted(RANRegressor, pd.DataFrame({"x": X, "g": G}))
    text = outcome(model, pd.DataFrame({"x": ["1.5"], "g": ["a"]}))
    assert text == outcome(model, pd.DataFrame({"x": [1.5], "g": ["a"]}))
    with pytest.raises(ValueError, match="column 'x' was a number .* has 'much' now"):
        model.predict(pd.DataFrame({"x": ["1", "much"], "g": ["a", "a"]}))


# -- errors that name what is wrong


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("kind", ["float", "Float64", "object", "array"])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_named(cls, kind, value):
    bad = X.copy()
    bad[7] = value
    good, wrong = (pd.DataFrame({"z": Z, "bad": pd.Series(v).astype("float")}) for v in (X, bad))
    name = "bad"
    if kind == "array":
        good, wrong, name = good.to_numpy(), wrong.to_numpy(), "x1"
    else:
        wrong["bad"] = wrong["bad"].astype(kind)
    with pytest.raises(ValueError, match=f"column '{name}' contains infinity"):
        fitted(cls, wrong)
    model = fitted(cls, good)
    with pytest.raises(ValueError, match=f"column '{name}' contains infinity"):
        model.predict(wrong)


FRAMES = {
    "empty": (pd.DataFrame({"x": []}), "0 sample"),
    "no columns": (pd.DataFrame(index=range(N)), "0 feature"),
    "twice": (pd.DataFrame(np.c_[X, Z], columns=["a", "a"]), "two columns are called 'a'"),
    "names of two kinds": (pd.DataFrame(np.c_[X, Z], columns=["a", 1]), "names"),
    "complex": (pd.DataFrame({"x": X + 1j}), "omplex"),
    "lists": (pd.DataFrame({"x": X, "cell": [[1, 2]] * N}), "column 'cell'"),
    "one dimension": (X, "Expected 2D array"),
    "three dimensions": (np.zeros((N, 2, 2)), "dim 3"),
}


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("name", FRAMES)
def test_bad_tables(cls, name):
    frame, message = FRAMES[name]
    with pytest.raises((ValueError, TypeError), match=message):
        fitted(cls, frame, classes(cls)[: len(frame)])


def hole(values, dtype=object):
    result = pd.Series(values, dtype=dtype)
    result[4] = None
    return result


TARGETS = {
    "NaN": (
        RANRegressor,
        np.where(X > 2, np.nan, Y) + np.where(np.arange(N) == 4, np.nan, 0),
        "row 4",
    ),
    "infinity": (RANRegressor, np.where(np.arange(N) == 4, np.inf, Y), "row 4"),
    "text": (RANRegressor, G, "must be numbers"),
    "three dimensions": (RANRegressor, np.zeros((N, 2, 2)), "dim 3"),
    "short": (RANRegressor, Y[:5], "inconsistent"),
    "none": (RANRegressor, None, "requires y"),
    "one class": (RANClassifier, ["p"] * N, "two classes or more"),
    "numbers": (RANClassifier, Y, "continuous"),
    "class NaN": (RANClassifier, np.where(np.arange(N) == 4, np.nan, X > 0), "row 4"),
    "class None": (RANClassifier, hole(G), "row 4"),
    "class NA": (RANClassifier, hole(G, "string"), "row 4"),
    "truth NA": (RANClassifier, hole(X > 0, "boolean"), "row 4"),
}


@pytest.mark.parametrize("name", TARGETS)
def test_bad_targets(name):
    cls, y, message = TARGETS[name]
    with pytest.raises(ValueError, match=message):
        cls().fit(pd.DataFrame({"x": X}), y)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-np.ones(N), "Negative"),
        (np.full(N, np.nan), "NaN"),
        (np.ones(3), "shape"),
        (np.zeros(N), "zero"),
    ],
)
def test_bad_weights(cls, weight, message):
    with pytest.raises(ValueError, match=message):
        cls().fit(pd.DataFrame({"x": X}), classes(cls), sample_weight=weight)


@pytest.mark.parametrize("cls", BOTH)
def test_names_that_are_not_text(cls):
    for names in ([0, 1], [2020, 2021], pd.to_datetime(["2020", "2021"]), [("a", 1), ("a", 2)]):
        frame = pd.DataFrame(np.c_[X, Z]).set_axis(pd.Index(names), axis=1)
        model = fitted(cls, frame)
        outcome(model, frame)
        assert [f.name for f in model.features_] == [str(name) for name in frame.columns]


# -- few rows, many columns, odd scales


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_few_rows(rows):
    frame = pd.DataFrame({"x": X[:rows], "g": G[:rows], "t": TIMES[:rows]})
    model = RANRegressor().fit(frame, Y[:rows])
    predicted = outcome(model, frame)
    assert np.ptp(predicted) <= np.ptp(Y[:rows]) + 1e-9
    if rows > 1:
        labels = np.where(np.arange(rows) == 1, "p", "q")
        outcome(RANClassifier().fit(frame, labels), frame)


@pytest.mark.parametrize("cls", BOTH)
def test_more_columns_than_rows(cls):
    wide = RNG.normal(size=(20, 50))
    outcome(fitted(cls, wide, classes(cls)[:20]), wide)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("scale", [1e12, 1e-12, 1e150, 1e-150])
def test_scales_of_inputs_do_not_matter(cls, scale):
    frame = pd.DataFrame({"x": X * scale, "z": Z})
    model = fitted(cls, frame)
    outcome(model, frame)
    assert model.score(frame, classes(cls)) > 0.9


@pytest.mark.parametrize("scale", [1e12, 1e-12, 1e100, 1e-100])
def test_scales_of_targets_do_not_matter(scale):
    frame = pd.DataFrame({"x": X})
    usual = outcome(fitted(RANRegressor, frame), frame)
    scaled = outcome(fitted(RANRegressor, frame, Y * scale), frame)
    np.testing.assert_allclose(scaled / scale, usual, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("value", [0.0, 5.0, -1e9])
def test_constant_target(value):
    frame = pd.DataFrame({"x": X, "g": G})
    model = fitted(RANRegressor, frame, np.full(N, value))
    np.testing.assert_allclose(outcome(model, frame), value, rtol=1e-12)
    _, std = model.predict(frame, return_std=True)
    assert np.isfinite(std).all()


@pytest.mark.parametrize(
    "y",
    [X > 0, pd.Series(X > 0, dtype="boolean"), pd.Series(np.where(X > 0, "p", "q"), dtype="string"),
     pd.Series(pd.Categorical(np.where(X > 0, "p", "q"))), pd.Series((X > 0) * 7, dtype="Int64"),
     np.digitize(X, [-0.5, 0.5])],
    ids=["bool", "boolean", "string", "category", "Int64", "three"],
)  # fmt: skip
def test_classes_of_every_kind(y):
    frame = pd.DataFrame({"x": X})
    model = fitted(RANClassifier, frame, y)
    assert (model.predict(frame) == np.asarray(y)).mean() > 0.9
    assert model.predict(frame).dtype == model.classes_.dtype
    np.testing.assert_allclose(outcome(model, frame).sum(1), 1)


def test_a_class_of_one_row():
    y = np.array(["a", "b", "c"])[np.digitize(X, [-0.5, 0.5])].astype("<U4")
    y[0] = "rare"
    frame = pd.DataFrame({"x": X, "g": G})
    model = fitted(RANClassifier, frame, y)
    assert model.classes_.tolist() == ["a", "b", "c", "rare"]
    assert (model.predict(frame) == y).mean() > 0.8
    assert outcome(model, frame)[:, 3].max() < 0.9


def test_a_category_of_very_many_levels():
    rows = 50_000
    y = np.random.default_rng(3).normal(size=rows)
    model = RANRegressor().fit(pd.DataFrame({"t": [f"name {k}" for k in range(rows)]}), y)
    predicted = outcome(model, pd.DataFrame({"t": ["name 1", "nobody"]}))
    assert np.abs(predicted - y.mean()).max() < 1


def test_whole_weights_that_are_amounts_are_relative():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=200)
    plain = RANRegressor().fit(X, y)
    heavy = RANRegressor().fit(X, y, np.full(200, 1e6))
    np.testing.assert_allclose(heavy.predict(X), plain.predict(X))


def test_levels_as_numbers_and_as_text_are_the_same():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 4, 300)
    frame = pd.DataFrame({"zip": pd.Categorical(code), "x": rng.normal(size=300)})
    model = RANRegressor().fit(frame, code**2 + frame["x"])
    text = frame.assign(zip=frame["zip"].astype(str))
    np.testing.assert_array_equal(model.predict(text), model.predict(frame))


def test_a_monotone_input_in_a_pair_that_is_asked_for():
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(ValueError, match="x0 x x1, but inputs in monotone take part in no pair"):
        RANRegressor(monotone={"x0": 1}, pairs=[("x0", "x1")]).fit(X, X[:, 0])


@pytest.mark.parametrize("pairs", ["all", "none"])
def test_words_for_pairs(pairs):
    with pytest.raises(ValueError, match="pairs must be 'auto', a number, or a list"):
        RANRegressor(pairs=pairs).fit(np.eye(5), np.arange(5.0))


def test_prose_gets_a_hint():
    rng = np.random.default_rng(0)
    words = np.array(["red", "green", "big", "small", "old", "new", "fast"])
    text = [" ".join(rng.choice(words, 6)) for _ in range(120)]
    table = pd.DataFrame({"a": rng.normal(size=120), "text": text})
    with pytest.warns(UserWarning, match="'text' has .* different texts of 6 words"):
        RANRegressor(pairs=0, refinements=0).fit(table, table["a"])
    names = pd.DataFrame({"a": table["a"], "id": [f"row {k}" for k in range(120)]})
    RANRegressor(pairs=0, refinements=0).fit(names, table["a"])  # without a warning
