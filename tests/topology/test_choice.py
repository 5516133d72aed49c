"""The ways to choose a topology: none, all, listed, random, by correlation, on a grid."""

import itertools
import math
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rational_anova.topology import Topology, max_pairs

unhurried = settings(deadline=None)  # the machine may be busy


def every_pair(features):
    return tuple(itertools.combinations(range(features), 2))


# --- none, all, of


@unhurried
@given(st.integers(1, 40))
def test_all_and_none(features):
    assert Topology.all(features).pairs == every_pair(features)
    assert Topology.none(features) == Topology(features)


def test_of_infers_the_features():
    assert Topology.of([(5, 1), (0, 2)]).features == 6
    assert Topology.of([(1, 0)], features=4, mains=[3]) == Topology(4, [(0, 1)], [3])
    assert Topology.of([], features=2) == Topology.none(2)
    with pytest.raises(ValueError, match="features must be given when pairs is empty"):
        Topology.of([])
    with pytest.raises(ValueError, match=r"pair \(-2, -1\) has an index outside"):
        Topology.of(np.array([[-2, -1]]))


def test_small_numpy_integers_do_not_overflow():
    assert Topology.all(np.int8(100)) == Topology.all(100)
    assert Topology.random(np.int8(100)) == Topology.random(100)
    assert Topology.grid(np.int8(20), np.int8(20)) == Topology.grid(20, 20)


# --- random


@unhurried
@given(st.integers(1, 30), st.data())
def test_random_is_a_sorted_subset_fixed_by_the_seed(features, data):
    size = data.draw(st.integers(0, max_pairs(features)))
    seed = data.draw(st.integers(0, 2**64))
    topology = Topology.random(features, size, seed)
    assert topology.size == size
    assert topology.pairs == tuple(sorted(topology.pairs))
    assert set(topology.pairs) <= set(every_pair(features))
    assert topology == Topology.random(features, size, seed)


def test_random_depends_on_the_seed_and_defaults_to_d():
    assert len({Topology.random(50, seed=seed) for seed in range(20)}) == 20
    assert Topology.random(50).size == 50
    assert Topology.random(2).size == 1


@pytest.mark.parametrize("seed", [3, np.int32(3), np.array(3), torch.tensor(3)])
def test_random_seed_may_be_any_integer(seed):
    assert Topology.random(50, seed=seed) == Topology.random(50, seed=3)


@pytest.mark.parametrize(
    "seed", [None, "0", 1.5, True, torch.tensor(1.5), torch.tensor([1, 2]), np.array([1])]
)
def test_random_seed_of_wrong_type(seed):
    with pytest.raises(TypeError, match="seed must be an integer, got"):
        Topology.random(5, seed=seed)
    with pytest.raises(ValueError, match="seed must be >= 0, got -1"):
        Topology.random(5, seed=-1)


def test_random_is_uniform():
    draws = [Topology.random(5, 3, seed).pairs for seed in range(2000)]
    counts = [sum(pair in pairs for pairs in draws) for pair in every_pair(5)]
    assert min(counts) > 500  # 600 expected, standard deviation 20
    assert max(counts) < 700


def test_large_sizes():
    wide = Topology.random(100_000, size=1000)
    assert wide.size == 1000
    assert wide.index.max() > 90_000
    image = Topology.all(784)
    assert image.size == 306_936
    assert image == Topology.random(784, "all", seed=5)
    assert pickle.loads(pickle.dumps(image)) == image


# --- correlation


def brute_force(X, size, score):
    ranked = sorted(every_pair(X.shape[1]), key=lambda pair: -score(X[:, pair[0]], X[:, pair[1]]))
    return tuple(sorted(ranked[:size]))


def correlate(a, b):
    return abs(np.corrcoef(a, b)[0, 1])


def interaction(X, y):
    A = np.column_stack([np.ones(len(X)), X])
    residual = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    return lambda a, b: correlate((a - a.mean()) * (b - b.mean()), residual)


@unhurried
@given(st.integers(0, 2**32), st.integers(2, 8), st.integers(0, 6))
def test_correlation_is_the_brute_force_ranking(seed, features, size):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, features)) @ rng.normal(size=(features, features)) + 5
    size = min(size, max_pairs(features))
    assert Topology.correlation(X, size=size).pairs == brute_force(X, size, correlate)
    y = rng.normal(size=30) + X[:, 0] * X[:, 1]
    expected = brute_force(X, size, interaction(X, y))
    assert Topology.correlation(X, y, size=size).pairs == expected


def test_correlation_with_a_target_finds_the_interaction_behind_linear_terms():
    X = np.random.default_rng(0).normal(loc=3, size=(500, 6)) * [1, 10, 0.1, 1, 5, 1]
    y = 100 * X[:, 0] - 7 * X[:, 3] + X[:, 1] * X[:, 4] + 400 * X[:, 2] * X[:, 5]
    assert Topology.correlation(X, y, size=2).pairs == ((1, 4), (2, 5))


def test_correlation_on_images():
    X = np.random.default_rng(0).normal(size=(5000, 784))
    X[:, 9] = X[:, 8] - 0.1 * X[:, 7]
    y = X[:, 3] * X[:, 700] + X[:, 5]
    assert Topology.correlation(X, size=1).pairs == ((8, 9),)
    assert Topology.correlation(X, y, size=1).pairs == ((3, 700),)


@pytest.mark.parametrize("constant", [0.0, 0.1, -1e300])
def test_constant_columns_score_zero(constant):
    X = np.random.default_rng(0).normal(size=(40, 4))
    X[:, 1] = constant
    y = X[:, 0] * X[:, 2] + 0.1 * X[:, 0] * X[:, 3] + 0.1 * X[:, 2] * X[:, 3]
    for target in (None, y):
        assert Topology.correlation(X, target, size=3).pairs == ((0, 2), (0, 3), (2, 3))
    assert Topology.correlation(X[:, [1, 1, 1]], size=2).pairs == ((0, 1), (0, 2))


def test_a_constant_product_scores_zero():
    signs = np.array([-1.0, 1, -1, 1, -1, 1])
    X = np.column_stack([signs, -signs, [3, 1, 4, 1, 5, 9]])
    y = np.array([2.0, 7, 1, 8, 2, 8])
    assert Topology.correlation(X, y, size=2).pairs == ((0, 2), (1, 2))


def test_ties_go_to_the_earlier_pair():
    x = np.random.default_rng(0).normal(size=50)
    X = np.column_stack([x, -3 * x, x / 7 + 1, 1e6 * x, x + 0.1])
    assert Topology.correlation(X, size=3).pairs == ((0, 1), (0, 2), (0, 3))
    assert Topology.correlation(X, x**2 + x, size=3).pairs == ((0, 1), (0, 2), (0, 3))


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e200, 1.7e308])
def test_correlation_at_the_ends_of_the_range(scale):
    X = np.array([[0.0, 1, 0], [0.1, 0, 0.2], [0.2, 1, 0.4], [0.4, 0.3, 1], [0.3, -0.5, 0.2]])
    assert Topology.correlation(X * scale, size=1).pairs == ((0, 2),)
    y = X[:, 0] * X[:, 1]
    assert Topology.correlation(X * scale, y * scale, size=1).pairs == ((0, 1),)


class Frame:
    """What a DataFrame is to numpy."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


def test_correlation_reads_any_table():
    X = np.random.default_rng(0).integers(-5, 6, size=(40, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    expected = Topology.correlation(X, size=2), Topology.correlation(X, y, size=2)
    for wrap in (
        np.float32,
        lambda v: v.tolist(),
        lambda v: v.astype(object),
        Frame,
        torch.tensor,
        lambda v: torch.tensor(v, dtype=torch.bfloat16, requires_grad=True),
    ):
        found = Topology.correlation(wrap(X), size=2), Topology.correlation(wrap(X), wrap(y), 2)
        assert found == expected


def test_correlation_of_one_column():
    assert Topology.correlation([[1.0], [2.0]]) == Topology.none(1)


@pytest.mark.parametrize(
    ("X", "y", "kind", "message"),
    [
        ([1.0, 2.0], None, ValueError, r"X must have shape \(rows, features\), got \(2,\)"),
        (np.ones((2, 2, 2)), None, ValueError, r"got \(2, 2, 2\)"),
        ([[1.0, 2.0]], None, ValueError, r"at least 2 rows .* got shape \(1, 2\)"),
        (np.ones((3, 0)), None, ValueError, r"1 column, got shape \(3, 0\)"),
        (
            [[1, 2], [3, math.nan]],
            None,
            ValueError,
            "X has 1 values that are not finite, the first is nan at row 1, column 1; drop",
        ),
        ([[1, -math.inf], [3, 4]], None, ValueError, "-inf at row 0, column 1"),
        ([["a", "b"], ["c", "d"]], None, TypeError, "column 0 of X must be numbers: it is text"),
        ([[1, 2], [3]], None, ValueError, "X must be a table, every row of one length"),
        ([[1j, 2], [3, 4]], None, TypeError, "column 0 of X must be numbers: it has complex"),
        (
            [[None, 2], [3, 4]],
            None,
            ValueError,
            "X has 1 values that are not finite, the first is nan at row 0, column 0",
        ),
        ([[1, 2], [3, 4]], [1.0], ValueError, r"one value for each row of X \(2\), got 1"),
        ([[1, 2], [3, 4]], [[1], [2]], ValueError, r"y must have shape \(rows,\), got \(2, 1\)"),
        (
            [[1, 2], [3, 4]],
            [1, math.inf],
            ValueError,
            "y has 1 values that are not finite, the first is inf at row 1",
        ),
        ([[1, 2], [3, 4]], ["a", "b"], TypeError, "y must be .* encode categories and labels"),
        ([[1, 2], [3, 5]], [1, 2], ValueError, "y is a linear function of the 2 columns"),
        ([[1, 2], [3, 5]], [1, 1], ValueError, "give more rows, or y=None"),
    ],
)
def test_bad_tables(X, y, kind, message):
    with pytest.raises(kind, match=message):
        Topology.correlation(X, y)


# --- grid


@unhurried
@given(
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from([0, 0.9, 1, 1.5, 2, 3, 9]) | st.integers(1, 20).map(math.sqrt),
)
def test_grid_is_the_brute_force_neighbourhood(height, width, channels, radius):
    places = list(itertools.product(range(channels), range(height), range(width)))
    near = [
        (i, j)
        for i, j in every_pair(len(places))
        if math.dist(places[i][1:], places[j][1:]) <= radius
    ]
    topology = Topology.grid(height, width, channels, radius)
    assert topology.features == len(places)
    assert topology.pairs == tuple(near)


def test_grid_counts():
    assert Topology.grid(28, 28).size == 2 * 28 * 27
    assert Topology.grid(28, 28, radius=math.sqrt(2)).size == 2 * 28 * 27 + 2 * 27**2
    assert Topology.grid(2, 3, channels=2, radius=0).pairs == tuple((k, k + 6) for k in range(6))
    assert Topology.grid(28, 28, radius=100) == Topology.all(784)


def test_grid_sample():
    full = Topology.grid(8, 8, radius=2)
    some = Topology.grid(8, 8, radius=2, size="0.5d", seed=1)
    assert some.size == 32
    assert set(some.pairs) < set(full.pairs)
    assert some.pairs == tuple(sorted(some.pairs))
    assert some == Topology.grid(8, 8, radius=2, size=32, seed=torch.tensor(1))
    assert some != Topology.grid(8, 8, radius=2, size=32, seed=2)
    assert Topology.grid(8, 8, radius=2, size="d^2") == full
    assert Topology.grid(8, 8, radius=2, size="none") == Topology.none(64)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"height": 0}, ValueError, "height must be >= 1, got 0"),
        ({"width": 1.5}, TypeError, r"width must be an integer, got 1\.5"),
        ({"channels": 0}, ValueError, "channels must be >= 1, got 0"),
        ({"radius": -1}, ValueError, "radius must be >= 0, got -1"),
        ({"radius": math.inf}, ValueError, "radius must be finite, got inf"),
        ({"radius": "1"}, TypeError, "radius must be a real number, got '1'"),
        ({"size": 5}, ValueError, "size must be at most 4 for features=4, got 5"),
        ({"size": 1, "seed": 0.5}, TypeError, r"seed must be an integer, got 0\.5"),
    ],
)
def test_bad_grid(arguments, kind, message):
    with pytest.raises(kind, match=message):
        Topology.grid(**{"height": 2, "width": 2, **arguments})
