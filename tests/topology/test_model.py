"""Topologies chosen by a target or a model: residual screening and gradient coupling."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from rational_anova.networks import MLP, RAN, DeepRAN
from rational_anova.topology import Topology, coupling

PLANTED = ((1, 2), (4, 7), (8, 11))


def chain(rng, rows, features, correlation):
    """Gaussian columns, each correlated with the one before it."""
    X = rng.normal(size=(rows, features))
    for k in range(1, features):
        X[:, k] = correlation * X[:, k - 1] + math.sqrt(1 - correlation**2) * X[:, k]
    return X


def noisy(rng, values, share=0.1):
    return values + share * values.std() * rng.normal(size=len(values))


# --- residual: what it finds


@pytest.mark.parametrize("correlation", [0, 0.7])
@pytest.mark.parametrize("features", [4, 20, 50])
def test_residual_finds_the_needle(features, correlation):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = chain(rng, 1000, features, correlation)
        y = noisy(rng, np.sin(X).sum(axis=1) + X[:, 1] * X[:, 2])
        assert Topology.residual(X, y, size=1).pairs == ((1, 2),), seed


def tails(rng, rows, features, correlation):
    return rng.standard_t(3, size=(rows, features))


@pytest.mark.parametrize(("table", "correlation"), [(chain, 0), (chain, 0.7), (tails, None)])
def test_residual_finds_pairs_that_are_no_products(table, correlation):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = table(rng, 1000, 20, correlation)
        y = np.sin(X).sum(axis=1) + X[:, 1] * X[:, 2]
        y += 3 / (1 + (X[:, 4] - X[:, 7]) ** 2) + 2 * np.exp(-(X[:, 8] ** 2)) * X[:, 11]
        assert Topology.residual(X, noisy(rng, y), size=3).pairs == PLANTED, seed


def test_residual_passes_over_the_shadows_of_a_strong_pair():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = chain(rng, 2000, 12, 0.9)
        y = noisy(rng, 5 * X[:, 1] * X[:, 2] + X[:, 7] * X[:, 9] / 2, 0.02)
        assert Topology.residual(X, y, size=2).pairs == ((1, 2), (7, 9)), seed


def test_residual_of_heavy_tails_and_of_outliers_in_the_target():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.standard_t(2, size=(1000, 20))
        y = np.sin(X).sum(axis=1) + X[:, 1] * X[:, 2]
        assert Topology.residual(X, noisy(rng, y), size=1).pairs == ((1, 2),), seed
        X = rng.normal(size=(1000, 20))
        y = np.sin(X).sum(axis=1) + X[:, 1] * X[:, 2]
        y += rng.standard_t(1.5, size=1000)
        assert Topology.residual(X, y, size=1).pairs == ((1, 2),), seed


def test_residual_of_columns_with_few_values():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1000, 12))
        X[:, ::2] = X[:, ::2] > 0
        X[:, 5] = rng.integers(0, 5, size=1000)
        y = 2.0 * (X[:, 0] != X[:, 2]) + X[:, 1] * X[:, 4] + np.sin(X[:, 3] * X[:, 7])
        y = noisy(rng, y + (X[:, 5] == 2) * X[:, 11] + X[:, 6], 0.3)
        expected = ((0, 2), (1, 4), (3, 7), (5, 11))
        assert Topology.residual(X, y, size=4).pairs == expected, seed


def test_residual_of_classes():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1000, 20))
        label = (X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=1000) > 0) + 1 * (X[:, 0] > 0.5)
        assert Topology.residual(X, np.eye(3)[label], size=1).pairs == ((1, 2),), seed
        rare = X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=1000) > 2
        expected = Topology.residual(X, rare, size=1)
        assert expected.pairs == ((1, 2),), seed
        # two indicators say the same, and a class that does not occur says nothing
        assert Topology.residual(X, np.eye(3)[rare.astype(int)], size=1) == expected


def test_residual_of_several_targets_in_different_units():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 8))
    Y = np.column_stack([1e6 * X[:, 0] * X[:, 3], 1e-6 * X[:, 2] * X[:, 5], np.ones(500)])
    Y[:, :2] *= 1 + 0.1 * rng.normal(size=(500, 2))
    assert Topology.residual(X, Y, size=2).pairs == ((0, 3), (2, 5))


def test_residual_with_few_rows():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(100, 50))
        y = noisy(rng, X[:, 0] + X[:, 1] * X[:, 2])
        assert Topology.residual(X, y, size=1).pairs == ((1, 2),), seed


def test_residual_of_main_effects_and_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 10))
    y = noisy(rng, np.sin(X).sum(axis=1))
    assert Topology.residual(X, y).size == 10
    assert Topology.residual(X, y, "all") == Topology.all(10)
    assert Topology.residual(X, y, "none") == Topology.none(10)


def test_residual_of_a_wide_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 200))
    expected = tuple((3 * k, 3 * k + 1) for k in range(20))
    y = np.sin(X).sum(axis=1) + sum(X[:, i] * X[:, j] for i, j in expected)
    found = Topology.residual(X, noisy(rng, y), "2d").pairs
    assert len(found) == 400
    assert set(expected) <= set(found)


# --- residual: rules


def example(rows=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 6))
    return X, X[:, 0] + X[:, 1] * X[:, 4] + X[:, 2] * X[:, 3] ** 2 + 0.1 * rng.normal(size=rows)


def test_residual_is_sorted_nested_and_repeatable():
    X, y = example()
    chosen = [Topology.residual(X, y, size) for size in range(16)]
    assert chosen[2].pairs == ((1, 4), (2, 3))
    for size, topology in enumerate(chosen):
        assert topology == Topology.residual(X.copy(), y.copy(), size)
        assert topology.pairs == tuple(sorted(topology.pairs))
        assert len(topology.pairs) == size


def test_residual_does_not_depend_on_units_or_monotone_maps():
    X, y = example()
    expected = Topology.residual(X, y, 4)
    assert Topology.residual(X * [1e-300, 1e300, 1, 7, 1e-9, 1], 1e200 * y - 5, 4) == expected
    assert Topology.residual(np.exp(3 * X), y, 2) == Topology.residual(X, y, 2)


def test_residual_puts_constant_columns_last():
    X, y = example()
    X[:, 0] = 3.0
    rest = ((1, 2), (1, 3), (1, 4), (1, 5), (2, 3), (2, 4), (2, 5), (3, 4), (3, 5), (4, 5))
    assert Topology.residual(X, y, 10).pairs == rest
    assert Topology.residual(X, y, 11).pairs == ((0, 1), *rest)


def test_residual_ties_go_to_the_earlier_pair():
    X, _ = example()
    y = X[:, 0] * X[:, 1]
    X = np.column_stack([X[:, 0], X[:, 1], -2 * X[:, 1], X[:, 1] + 5, X[:, 2]])
    assert Topology.residual(X, y, 1).pairs == ((0, 1),)


def test_residual_reads_any_table():
    X, y = example()
    X, y = np.round(4 * X), np.round(4 * y)
    expected = Topology.residual(X, y, 3)
    for wrap in (lambda v: v.astype(int), lambda v: v.tolist(), lambda v: v.astype(object)):
        assert Topology.residual(wrap(X), wrap(y), 3) == expected
    assert Topology.residual(torch.tensor(X), torch.tensor(y, requires_grad=True), 3) == expected
    assert Topology.residual(X, y[:, None], 3) == expected


def test_residual_weights_are_copies_of_rows():
    X, y = example()
    other = np.random.default_rng(1).normal(size=(300, 6))
    both = np.concatenate([X, other])
    target = np.concatenate([y, 9 * other[:, 0] * other[:, 5]])
    weight = np.repeat([2.0, 0.0], 300)
    assert Topology.residual(both, target, 2).pairs != ((1, 4), (2, 3))
    assert Topology.residual(both, target, 2, weight=weight) == Topology.residual(X, y, 2)
    few = np.where(np.arange(600) < 300, 1.0, 1e-4)
    assert Topology.residual(both, target, 2, weight=few).pairs == ((1, 4), (2, 3))


def test_residual_of_one_column_and_of_two_rows():
    assert Topology.residual([[1.0], [2.0], [4.0], [3.0]], [1, 2, 1, 5]) == Topology.none(1)
    assert Topology.residual([[1.0, 2.0], [2.0, 5.0]], [1, 2]).size == 1


@pytest.mark.parametrize(
    ("X", "y", "kind", "message"),
    [
        ([1.0, 2.0], [1, 2], ValueError, r"X must have shape \(rows, features\), got \(2,\)"),
        ([[1, 2], [3, math.nan]], [1, 2], ValueError, "nan at row 1, column 1; drop"),
        ([["a", "b"], ["c", "d"]], [1, 2], TypeError, "column 0 of X must be numbers"),
        ([[1, 2], [3, 4]], [1.0], ValueError, r"one value for each row of X \(2\), got 1"),
        ([[1, 2], [3, 4]], np.ones((2, 1, 1)), ValueError, r"\(rows, targets\), got \(2, 1, 1\)"),
        ([[1, 2], [3, 4]], np.ones((2, 0)), ValueError, r"got \(2, 0\)"),
        ([[1, 2], [3, 4]], 3.0, TypeError, r"y must be an array, .* got 3\.0"),
        (
            [[1, 2], [3, 4]],
            [1, math.inf],
            ValueError,
            "y has 1 values that are not finite, the first is inf at row 1",
        ),
        ([[1, 2], [3, 4]], ["a", "b"], TypeError, "y must be .* encode categories and labels"),
        ([[1, 2], [3, 5]], [1, 1], ValueError, "explain y entirely on these 2 rows"),
    ],
)
def test_bad_tables_for_residual(X, y, kind, message):
    with pytest.raises(kind, match=message):
        Topology.residual(X, y)


def test_residual_refuses_a_target_of_main_effects_alone():
    X, _ = example()
    with pytest.raises(ValueError, match="main effects of the 6 columns .* 300 rows, .*none"):
        Topology.residual(X, 3 * X[:, 0] - X[:, 1])
    signs = np.sign(X)
    with pytest.raises(ValueError, match="explain y entirely"):
        Topology.residual(signs, np.column_stack([signs[:, 0], signs[:, 1] + signs[:, 2]]))


@pytest.mark.parametrize(
    ("weight", "kind", "message"),
    [
        ([1.0], ValueError, r"weight must have one value for each row of X \(2\), got 1"),
        ([[1.0], [2.0]], ValueError, r"weight must have shape \(rows,\), got \(2, 1\)"),
        ([1.0, -2.0], ValueError, r"weight must not be negative, got -2\.0"),
        ([1.0, 0.0], ValueError, "weight must be positive for at least 2 rows"),
        ("ab", TypeError, "weight must be an array, .* got 'ab'"),
    ],
)
def test_bad_weights(weight, kind, message):
    with pytest.raises(kind, match=message):
        Topology.residual([[1.0, 2.0], [3.0, 5.0]], [1, 2], weight=weight)


# --- gradient coupling


def known(x):
    return torch.sin(x[:, 0] * x[:, 1]) + x[:, 1] ** 2 * x[:, 3] + torch.exp(x[:, 2]) + 5 * x[:, 0]


def known_coupling(x):
    a, b = x[:, 0], x[:, 1]
    matrix = torch.zeros(4, 4, dtype=torch.float64)
    matrix[0, 1] = (torch.cos(a * b) - a * b * torch.sin(a * b)).abs().mean()
    matrix[1, 3] = (2 * b).abs().mean()
    return matrix + matrix.T


def test_coupling_is_the_mean_size_of_the_second_derivatives():
    X = torch.randn(100, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = known_coupling(X)
    assert torch.allclose(coupling(known, X, scale=False), expected, rtol=1e-10, atol=1e-10)
    spread = X.std(0, correction=0)
    expected = expected * spread[:, None] * spread
    assert torch.allclose(coupling(known, X), expected, rtol=1e-10, atol=1e-10)
    assert Topology.gradient(known, X, 2).pairs == ((0, 1), (1, 3))
    assert Topology.gradient(known, X * torch.tensor([1e-3, 1, 1, 1]), 1).pairs == ((1, 3),)


def test_coupling_is_the_same_in_blocks(monkeypatch):
    X = torch.randn(100, 4, dtype=torch.float64)
    expected = coupling(known, X)
    monkeypatch.setattr("rational_anova.topology._coupling._NUMBERS", 300)
    assert torch.allclose(coupling(known, X), expected, rtol=1e-12)


def test_coupling_of_several_outputs():
    X = np.random.default_rng(0).normal(size=(50, 3))

    def model(x):
        return torch.stack([x[:, 0] * x[:, 1], 3 * x[:, 0] * x[:, 2], -x[:, 0] * x[:, 1]], 1)

    matrix = coupling(model, X, scale=False)
    assert matrix.tolist() == [[0, 2, 3], [2, 0, 0], [3, 0, 0]]
    assert coupling(model, X, scale=False, output=0).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert Topology.gradient(model, X, 1, output=2).pairs == ((0, 1),)


def test_coupling_draws_rows_by_the_seed():
    X = np.random.default_rng(0).normal(size=(200, 4))
    assert torch.equal(coupling(known, X, rows=10), coupling(known, X, rows=10, seed=0))
    assert not torch.equal(coupling(known, X, rows=10), coupling(known, X, rows=10, seed=1))
    assert torch.equal(coupling(known, X), coupling(known, X, rows=None))
    assert torch.equal(coupling(known, X, rows=999), coupling(known, X, rows=None))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradient_finds_the_pairs_of_a_network(dtype):
    torch.manual_seed(0)
    net = RAN(6, topology=Topology.of([(1, 4), (0, 5)], features=6), dtype=dtype, noise=0.3)
    X = torch.randn(80, 6, dtype=torch.float64)
    matrix = coupling(net, X)
    assert matrix.dtype == torch.float64
    assert Topology.gradient(net, X.numpy(), 2).pairs == ((0, 5), (1, 4))
    rest = matrix.clone()
    rest[[0, 5, 1, 4], [5, 0, 4, 1]] = 0
    assert float(matrix[0, 5]) > 0
    assert not rest.any()


def networks():
    smooth = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Dropout(0.5))
    return [
        RAN(4, 2, topology="all", noise=0.3),
        DeepRAN(4, 2, width=6, noise=0.3),
        MLP(4, 2, (8,)),
        nn.Sequential(smooth, nn.Linear(8, 1), nn.Flatten(0)),
    ]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("number", range(4))
def test_coupling_of_networks_is_the_hessian(number, dtype):
    torch.manual_seed(0)
    net = networks()[number].to(dtype).train()
    next(iter(net.children())).eval()  # a mixed mode must come back as it was
    modes = [module.training for module in net.modules()]
    X = torch.randn(40, 4, dtype=dtype)
    matrix = coupling(net, X, scale=False)
    assert [module.training for module in net.modules()] == modes
    assert all(p.grad is None and p.requires_grad for p in net.parameters())
    net.eval()
    hessians = [torch.func.hessian(lambda x: net(x[None]).reshape(-1))(row) for row in X]
    expected = torch.stack(hessians).abs().sum(1).mean(0).double().fill_diagonal_(0)
    tolerance = 1e-10 if dtype == torch.float64 else 1e-4
    assert torch.allclose(matrix, expected, rtol=tolerance, atol=tolerance)


def test_gradient_of_a_fitted_probe():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    y = torch.tensor(X[:, 0] + 2 * X[:, 1] * X[:, 3], dtype=torch.float32)[:, None]
    torch.manual_seed(0)
    net, inputs = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1)), torch.tensor(X)
    optimiser = torch.optim.Adam(net.parameters(), 0.02)
    for _ in range(300):
        optimiser.zero_grad()
        nn.functional.mse_loss(net(inputs.float()), y).backward()
        optimiser.step()
    assert Topology.gradient(net, X, 1).pairs == ((1, 3),)


def test_constant_columns_couple_with_none():
    X = np.random.default_rng(0).normal(size=(20, 4))
    X[:, 0] = 0.1
    assert Topology.gradient(known, X, 1).pairs == ((1, 3),)
    assert not coupling(known, X)[0].any()
    X[:, 1] = 0.1
    with pytest.raises(ValueError, match="couples no two inputs"):
        Topology.gradient(known, X, 1)
    assert Topology.gradient(known, X, 0) == Topology.none(4)


@pytest.mark.parametrize(
    "model", [nn.Linear(4, 2), MLP(4, 1, (8, 8), "relu"), lambda x: x[:, 0].abs()]
)
def test_piecewise_linear_models_are_refused(model):
    X = np.random.default_rng(0).normal(size=(20, 4))
    for choose in (coupling, Topology.gradient):
        with pytest.raises(ValueError, match=r"piecewise linear, as a ReLU network is; fit one"):
            choose(model, X)


def test_additive_models_couple_nothing():
    X = np.random.default_rng(0).normal(size=(20, 4))
    assert not coupling(lambda x: torch.sin(x).sum(1), X).any()
    with pytest.raises(ValueError, match="couples no two inputs"):
        Topology.gradient(lambda x: torch.sin(x).sum(1), X)


@pytest.mark.parametrize(
    ("model", "options", "kind", "message"),
    [
        (lambda x: x.sum(), {}, ValueError, r"\(n,\) or \(n, outputs\), got \(\) for one row"),
        (lambda x: x[:, :, None], {}, ValueError, r"got \(1, 4, 1\)"),
        (lambda x: 3.0, {}, ValueError, "got float for one row"),
        (lambda x: (x[:, 0] * x[:, 1]).sqrt(), {}, ValueError, "x_0 and x_0 is not finite"),
        (known, {"output": 1}, ValueError, "output must be below 1, .* got 1"),
        (known, {"output": -1}, ValueError, "output must be >= 0, got -1"),
        (known, {"rows": 0}, ValueError, "rows must be >= 1, got 0"),
        (known, {"rows": 1.5}, TypeError, r"rows must be an integer, got 1\.5"),
        (known, {"seed": -1}, ValueError, "seed must be >= 0, got -1"),
    ],
)
def test_bad_arguments_for_gradient(model, options, kind, message):
    X = np.random.default_rng(0).normal(size=(20, 4))
    with pytest.raises(kind, match=message):
        Topology.gradient(model, X, **options)
    with pytest.raises(ValueError, match="X has 1 values that are not finite, the first is nan"):
        Topology.gradient(model, [[1.0, math.nan], [2.0, 3.0]])


def test_gradient_of_a_wide_model():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(200, 16), nn.GELU(), nn.Linear(16, 1))
    assert Topology.gradient(net, torch.randn(2000, 200), "2d", rows=50).size == 400
