"""Every entrance of the package takes the same kinds of tables, and refuses in the same words."""

import ast
import copy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

import rational_anova as ra
import rational_anova.tables
from rational_anova import RANClassifier, RANRegressor, Topology, dynamics
from rational_anova.discovery import prepare

RNG = np.random.default_rng(0)
NAMES = ["a", "b", "c"]
X = RNG.integers(-16, 16, (40, 3)) / 4  # numbers that bfloat16 has, too
Y = X[:, 0] + X[:, 1] * X[:, 2]
torch.manual_seed(0)
NET = ra.RAN(3, 1, "all", (2, 2), dtype=torch.float64)


def fit(table, y):
    net = copy.deepcopy(NET)
    ra.fit(net, (table, y), optimizer="adam", epochs=1, seed=0)
    return torch.cat([p.detach().flatten() for p in net.parameters()]).numpy()


def auto_rational(table, y):
    net = copy.deepcopy(NET)
    net.auto_rational(table, y)
    return torch.cat([p.detach().flatten() for p in net.parameters()]).numpy()


def classes(table, y):
    labels = np.asarray(y.detach() if isinstance(y, torch.Tensor) else y, float) > 0
    return RANClassifier(refinements=0, pairs=0).fit(table, labels).predict_proba(table)


NUMERIC = {
    "fit": fit,
    "auto_rational": auto_rational,
    "symbolic_formula": lambda table, y: str(NET.symbolic_formula(table, names=NAMES)),
    "Topology.residual": lambda table, y: Topology.residual(table, y, 1).pairs,
    "Topology.correlation": lambda table, y: Topology.correlation(table, y, 1).pairs,
    "Topology.gradient": lambda table, y: (
        Topology.gradient(lambda x: x[:, 0] * x[:, 1], table, 1).pairs
    ),
    "ntk": lambda table, y: dynamics.ntk(NET, table, X[:2]).total,
    "influence": lambda table, y: dynamics.influence(NET, table, y, X[:2], 0.01).true,
}
ENTRANCES = {
    **NUMERIC,
    "discover": lambda table, y: prepare(table, y).X,
    "RANRegressor": lambda table, y: (
        RANRegressor(refinements=0, pairs=0).fit(table, y).predict(table)
    ),
    "RANClassifier": classes,
}


class Foreign:
    """A table of another library, known by `to_pandas` alone."""

    def __init__(self, frame):
        self.frame = frame

    def to_pandas(self):
        return self.frame


class Interchanged:
    """A table known by the interchange protocol alone."""

    def __init__(self, frame):
        self.frame = frame

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self.frame.__dataframe__(nan_as_null, allow_copy)


FRAME = pd.DataFrame(X, columns=NAMES)
KINDS = {
    "frame": FRAME,
    "frame of several dtypes": FRAME.astype({"a": np.float32, "b": "Float64", "c": object}),
    "dict": {name: X[:, k] for k, name in enumerate(NAMES)},
    "dict of tensors": {name: torch.tensor(X[:, k], requires_grad=True) for k, name in enumerate(NAMES)},
    "rows": X.tolist(),
    "records": FRAME.to_dict("records"),
    "structured": FRAME.to_records(index=False),
    "objects": X.astype(object),
    "float16": X.astype(np.float16),
    "tensor": torch.tensor(X),
    "tensor with a gradient": torch.tensor(X, requires_grad=True) * 1,
    "bfloat16": torch.tensor(X).bfloat16(),
    "to_pandas": Foreign(FRAME),
}  # fmt: skip


@pytest.fixture(scope="module", params=ENTRANCES)
def entrance(request):
    """An entrance, and what it makes of an array."""
    return ENTRANCES[request.param], ENTRANCES[request.param](X, Y)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_tables(entrance, kind):
    enter, expected = entrance
    found = enter(KINDS[kind], Y)
    if isinstance(expected, str | tuple):
        assert found == expected
    else:
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "y", [pd.Series(Y, name="out"), Y.tolist(), torch.tensor(Y, requires_grad=True) * 1, pd.array(Y)],
    ids=["series", "list", "tensor with a gradient", "array of pandas"],
)  # fmt: skip
def test_kinds_of_targets(entrance, y):
    enter, expected = entrance
    found = enter(X, y)
    if isinstance(expected, str | tuple):
        assert found == expected
    else:
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-9, atol=1e-12)


def test_interchange_protocol():
    np.testing.assert_array_equal(prepare(Interchanged(FRAME), Y).X, X)


def with_cell(value, dtype=object):
    frame = FRAME.astype({"b": dtype})
    frame.loc[3, "b"] = value
    return frame


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize(
    ("table", "kind", "message"),
    [
        (FRAME.assign(b=list("xy") * 20), TypeError,
         "column 'b' of X must be numbers: it is text with 2 different values, such as 'x' at row 0"),
        (with_cell("?"), ValueError,
         "column 'b' of X must be numbers: it has text among its numbers, such as '[?]' at row 3"),
        (FRAME.assign(b=pd.date_range("2024", periods=40)), TypeError, "column 'b' of X .* dates or times"),
        (FRAME.assign(b=1j), TypeError, "column 'b' of X must be numbers: it has complex"),
        (X * 1j, TypeError, "must be numbers: it has complex"),
        (with_cell(np.nan, float), ValueError, "X has 1 values that are not finite, the first is nan at row 3, column 1"),
        (with_cell(None), ValueError, "X has 1 values that are not finite, the first is nan at row 3, column 1"),
        (with_cell(np.inf, float), ValueError, "X has 1 values that are not finite, the first is inf at row 3, column 1"),
    ],
    ids=["text", "a word", "dates", "complex column", "complex", "nan", "None", "inf"],
)  # fmt: skip
def test_what_is_no_number_is_named(name, table, kind, message):
    with pytest.raises(
        kind, match=message.replace("of X", "of (X|x_o|x_u)").replace("X has", "(X|x_o|x_u) has")
    ):
        NUMERIC[name](table, Y)


@pytest.mark.parametrize("name", ENTRANCES)
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (FRAME.set_axis(["a", "a", "c"], axis=1), "two columns are called 'a'; rename one of them"),
        ({"a": X[:, 0], "b": X[:5, 1], "c": X[:, 2]}, "is a dict whose columns do not fit together"),
        (FRAME.assign(b=X[:, 1] + 1j), "[Cc]omplex"),
        (scipy.sparse.dok_matrix(X), "must be an array, a list or a DataFrame|Sparse data was passed"),
    ],
    ids=["twice", "lengths", "complex", "sparse"],
)  # fmt: skip
def test_what_is_no_table_is_refused_everywhere(name, table, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ENTRANCES[name](table, Y)


def test_text_that_reads_as_numbers_is_numbers():
    texts = FRAME.astype(str)
    np.testing.assert_array_equal(prepare(texts, Y).X, X)
    assert Topology.residual(texts, Y, 1).pairs == Topology.residual(X, Y, 1).pairs
    np.testing.assert_array_equal(fit(texts, Y), fit(X, Y))


def test_whole_targets_of_pandas_stay_whole():
    net = ra.RAN(3, 2, "all", (2, 2), dtype=torch.float64)
    y = pd.Series((Y > 0).astype(int))
    for column in (y, y.astype("Int64"), y.astype("int8")):
        found = copy.deepcopy(net)
        history = ra.fit(found, (X, column), optimizer="adam", epochs=1)
        assert history.loss == "multiclass"


def test_pandas_and_torch_wait_until_there_is_a_table():
    for path in Path(ra.tables.__file__).parent.glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            module = node.module if isinstance(node, ast.ImportFrom) else ""
            assert not {"pandas", "torch"} & {*names, module.split(".")[0]}, path
            assert module != "symbols", path  # it brings sympy
