"""Levenberg-Marquardt: Jacobians, optima that are known otherwise, covariance, admissibility."""

import numpy as np
import pytest
import torch
from scipy import optimize
from torch import nn
from torch.func import functional_call, jacrev, vmap

import rational_anova as ra
from rational_anova.training._losses import LOSSES
from rational_anova.training.data import Rows
from rational_anova.training.optimizers._jacobian import Vector, evaluate, jacobian_rows, normal

DOUBLE = torch.float64


def table(rows=60, features=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, features, generator=generator, dtype=DOUBLE)


def network(outputs=1, seed=0, features=3, **options):
    torch.manual_seed(seed)
    pairs = ra.Topology(features, [(0, 1), (0, 2)], mains=options.pop("mains", None))
    return ra.RAN(features, outputs, pairs, noise=0.2, dtype=DOUBLE, **options)


@pytest.mark.parametrize(
    "options",
    [{}, {"heads": 2}, {"gate": None}, {"outputs": 3}, {"mains": [1]}, {"mains": []},
     {"denominator": "sos", "base": "zero"}, {"denominator": "abs", "pair_base": "mean"}],
    ids=str,
)  # fmt: skip
def test_jacobian_by_hand_is_that_of_torch(options):
    net = network(**options)
    x = table(9)
    held = {k: v.detach() for k, v in net.named_parameters()}
    expected = vmap(jacrev(lambda p, row: functional_call(net, p, (row[None],))[0]), (None, 0))
    value, found = net.jacobian(x)
    torch.testing.assert_close(value, net(x).detach())
    for name, rows in expected(held, x).items():
        torch.testing.assert_close(found[name], rows, atol=1e-12, rtol=1e-10)


def scale(module, arguments):
    return (arguments[0] * 10,)


def test_levenberg_marquardt_differentiates_the_model_that_is_there():
    net = ra.RAN(2, topology="none", dtype=DOUBLE, noise=0.3)
    net.register_forward_pre_hook(scale)
    x = torch.randn(6, 2, dtype=DOUBLE)
    value, _ = jacobian_rows(net, Vector(net))(x)
    torch.testing.assert_close(value, net(x))


def test_jacobian_leaves_frozen_parameters_out():
    net = network()
    net.main.gate.requires_grad_(False)
    vector = Vector(net)
    _, rows = jacobian_rows(net, vector)(table(5))
    assert rows.shape == (5, 1, sum(p.numel() for p in net.parameters()) - 3)


@pytest.mark.parametrize("model", [ra.DeepRAN(3, 2, dtype=DOUBLE), ra.MLP(3, 2, (4,)).double()])
def test_any_model_has_a_jacobian(model):
    vector = Vector(model)
    value, rows = jacobian_rows(model, vector)(table(5))
    torch.testing.assert_close(value, model(table(5)))
    step = torch.randn(vector.size, generator=torch.Generator().manual_seed(1), dtype=DOUBLE)
    start, x = vector.get(), table(5)
    vector.set(start + 1e-6 * step)
    moved = model(x)
    vector.set(start - 1e-6 * step)
    torch.testing.assert_close(rows @ step, (moved - model(x)) / 2e-6, atol=1e-7, rtol=1e-5)


@pytest.mark.parametrize("name", list(LOSSES))
def test_sums_do_not_depend_on_chunks_and_weights_are_repetitions(name, monkeypatch):
    net, x = network(outputs=2), table()
    y = torch.randn(60, 2, dtype=DOUBLE)
    y = {"binary": (y > 0).double(), "multiclass": (y[:, 0] > 0).long()}.get(name, y)
    if name == "mae":  # its parabolas are cut off relative to the chunk's largest residual
        y = y + 10
    vector, loss = Vector(net), LOSSES[name]
    whole = normal(net, vector, Rows(x, y), loss, 2)
    monkeypatch.setattr("rational_anova.training.optimizers._jacobian._NUMBERS", 1)
    parts = normal(net, vector, Rows(x, y), loss, 2)
    weight = torch.tensor([2.0, 0.0, 1.0] * 20, dtype=DOUBLE)
    weighted = normal(net, vector, Rows(x, y, weight), loss, 2)
    index = torch.tensor([n for n in range(60) for _ in range(int(weight[n]))])
    repeated = normal(net, vector, Rows(x[index], y[index]), loss, 2)
    for one, two in ((whole, parts), (weighted, repeated)):
        for a, b in zip(one, two, strict=True):
            torch.testing.assert_close(torch.as_tensor(a), torch.as_tensor(b))
    assert whole.loss == pytest.approx(evaluate(net, Rows(x, y), loss, 2))


@pytest.mark.parametrize("kind", ["sos", "polynomial", "square"])
def test_a_law_with_its_own_denominator_is_found_to_rounding(kind):
    x = torch.linspace(-1, 1, 101, dtype=DOUBLE)[:, None]
    net = ra.RAN(1, 1, "none", (2, 2), denominator=kind, base="zero", gate=None, dtype=DOUBLE)
    history = ra.fit(net, (x, 1 / (1 + 25 * x**2)), optimizer="lm", restarts=4, restart_noise=0.5)
    assert history.training_loss < 1e-30
    far = torch.tensor([[-2.5], [2.0]], dtype=DOUBLE)
    torch.testing.assert_close(net(far), 1 / (1 + 25 * far**2), rtol=1e-12, atol=0)
    assert "exact" in history.stopped


def logits(x):
    return x[:, 0] - 0.5 * x[:, 1] * x[:, 2]


@pytest.mark.parametrize("outputs", [1, 3])
def test_gauss_newton_reaches_the_optimum_of_a_likelihood(outputs):
    """Linear logits: the optimum is unique, and L-BFGS of scipy finds it too."""
    x = table(200)
    generator = torch.Generator().manual_seed(1)
    noise = torch.rand(200, outputs, generator=generator, dtype=DOUBLE)
    if outputs == 1:
        y = torch.sigmoid(logits(x)) > noise[:, 0]
    else:
        y = (torch.stack([logits(x), x[:, 1], 0 * x[:, 0]], 1) - noise.log().neg().log()).argmax(1)
    net = torch.nn.Linear(3, outputs).double()
    history = ra.fit(net, (x, y), optimizer="lm")
    assert history.loss == ("binary" if outputs == 1 else "multiclass")

    def objective(v):
        w = torch.from_numpy(v).reshape(outputs, 4)
        f = x @ w[:, :3].T + w[:, 3]
        loss = LOSSES[history.loss]
        return float(loss.value(f, y.double()[:, None] if outputs == 1 else y).mean())

    best = optimize.minimize(objective, np.zeros(4 * outputs), method="BFGS")
    assert history.training_loss == pytest.approx(best.fun, abs=1e-9)


def test_ridge_is_the_closed_form():
    x, w = table(50), torch.tensor([1.0, -2.0, 0.5], dtype=DOUBLE)
    y = x @ w + 0.1 * torch.randn(50, generator=torch.Generator().manual_seed(0), dtype=DOUBLE)
    net = torch.nn.Linear(3, 1, bias=False).double()
    ra.fit(net, (x, y), optimizer="lm", weight_decay=0.3)
    exact = torch.linalg.solve(2 / 50 * x.T @ x + 0.3 * torch.eye(3), 2 / 50 * x.T @ y)
    torch.testing.assert_close(net.weight[0].detach(), exact, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("loss", ["mae", "huber"])
def test_robust_losses_ignore_an_outlier(loss):
    x, w = table(60), torch.tensor([1.0, -2.0, 0.5], dtype=DOUBLE)
    y = x @ w
    y[3] += 1000
    net = torch.nn.Linear(3, 1).double()
    ra.fit(net, (x, y), optimizer="lm", loss=loss)
    torch.testing.assert_close(
        net.weight[0].detach(), w, atol=1e-3 if loss == "mae" else 0.05, rtol=0
    )


def rational(x, a, b, c, e):
    return (a + b * x) / (1 + c * x + e * x**2)


def test_covariance_is_that_of_curve_fit():
    generator = np.random.default_rng(0)
    x = np.linspace(0, 4, 80)
    y = rational(x, 1, 2, 0.5, 0.3) + 0.01 * generator.normal(size=80)
    net = ra.Rational1d(1, (1, 2), "polynomial", "zero", gate=None, dtype=DOUBLE)
    history = ra.fit(net, (x, y), optimizer="lm")
    best, covariance = optimize.curve_fit(rational, x, y, [1, 1, 0.1, 0.1])
    found = torch.cat([net.numerator[:, 0], net.denominator[:, 0]]).detach().numpy()
    np.testing.assert_allclose(found, best, rtol=1e-5)
    np.testing.assert_allclose(history.covariance.matrix.numpy(), covariance, rtol=1e-3)
    stderr = history.covariance.stderr
    assert stderr["numerator"].shape == net.numerator.shape
    assert history.covariance.rank == 4


def test_weights_count_as_inverse_variances():
    generator = np.random.default_rng(0)
    x = np.linspace(0, 4, 80)
    sigma = np.where(x < 2, 0.01, 0.1)
    y = rational(x, 1, 2, 0.5, 0.3) + sigma * generator.normal(size=80)
    net = ra.Rational1d(1, (1, 2), "polynomial", "zero", gate=None, dtype=DOUBLE)
    history = ra.fit(net, (x, y, 1 / sigma**2), optimizer="lm")
    _, covariance = optimize.curve_fit(rational, x, y, [1, 1, 0.1, 0.1], sigma=sigma)
    np.testing.assert_allclose(history.covariance.matrix.numpy(), covariance, rtol=1e-3)


def test_what_the_data_do_not_determine_has_no_standard_error():
    """A gate in front of a numerator has one scale too many: both are unknown, their product not."""
    x = torch.linspace(-1, 1, 50, dtype=DOUBLE)[:, None]
    net = ra.Rational1d(1, (1, 1), "softplus", "zero", gate=1.0, dtype=DOUBLE)
    noise = torch.randn(50, 1, generator=torch.Generator().manual_seed(0), dtype=DOUBLE)
    history = ra.fit(net, (x, x + 0.01 * noise), optimizer="lm")
    assert history.covariance.rank < sum(p.numel() for p in net.parameters())
    assert history.covariance.stderr["gate"].isinf().all()


def test_polynomial_denominators_stay_positive_on_the_data():
    """Noise that a pole would fit: every accepted step keeps d > 0 on training rows."""
    x = torch.linspace(-1, 1, 40, dtype=DOUBLE)[:, None]
    y = torch.where(x.abs() < 0.05, torch.tensor(50.0, dtype=DOUBLE), torch.sin(5 * x))
    for seed in range(5):
        torch.manual_seed(seed)
        net = ra.RAN(1, 1, "none", (4, 4), denominator="polynomial", noise=0.3, dtype=DOUBLE)
        ra.fit(net, (x, y), optimizer="lm", epochs=60)
        assert (net.main.denominator_min(x) > 0).all()


def test_a_start_with_a_pole_in_the_data_is_brought_back():
    x = torch.linspace(-1, 1, 40, dtype=DOUBLE)[:, None]
    net = ra.RAN(1, 1, "none", (2, 2), denominator="polynomial", base="zero", dtype=DOUBLE)
    with torch.no_grad():
        net.main.denominator.fill_(-3.0)
    history = ra.fit(net, (x, 1 / (1 + x**2)), optimizer="lm")
    assert history.training_loss < 1e-25


def test_float32_models_are_fitted_in_float64_and_written_back():
    x = torch.linspace(-1, 1, 60)[:, None]
    net = ra.RAN(1, 1, "none", (2, 2), denominator="square", base="zero")
    history = ra.fit(net, (x, 1 / (1 + 4 * x**2)), optimizer="lm")
    assert net.main.numerator.dtype == torch.float32
    assert history.training_loss < 1e-13
    assert torch.nn.functional.mse_loss(net(x), 1 / (1 + 4 * x**2)) < 1e-12


def test_same_result_again():
    def once():
        net = network()
        return ra.fit(net, (table(), logits(table())), optimizer="lm", epochs=20), net

    (one, a), (two, b) = once(), once()
    assert one.training_loss == two.training_loss
    assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


def data(rows=80):
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(rows, 3, generator=generator, dtype=DOUBLE)
    return X, torch.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def full():
    torch.manual_seed(0)
    return ra.RAN(3, topology="all", noise=0.1, dtype=DOUBLE)


class Scaled(ra.RAN):
    def forward(self, x):
        return 10 * super().forward(x) + 3


def test_lm_does_not_use_the_formulas_of_another_model():
    torch.manual_seed(0)
    changed = Scaled(3, topology="all", noise=0.1, dtype=DOUBLE)
    tied = full()
    tied.pair.gate = tied.main.gate
    hooked = full()
    hooked.register_forward_hook(lambda module, inputs, output: 2 * output)
    X, _ = data(5)
    for net in (changed, tied, hooked):
        vector = Vector(net)
        _, rows = jacobian_rows(net, vector)(X)
        start = vector.get()
        step = torch.randn(vector.size, generator=torch.Generator().manual_seed(1), dtype=DOUBLE)
        vector.set(start + 1e-6 * step)
        high = net(X).detach()
        vector.set(start - 1e-6 * step)
        torch.testing.assert_close(rows @ step, (high - net(X)) / 2e-6, atol=1e-6, rtol=1e-5)


def linear(outputs=1):
    torch.manual_seed(0)
    return nn.Linear(3, outputs).double()


def stderr(data, outputs=1, loss="auto"):
    history = ra.fit(linear(outputs), data, optimizer="lm", loss=loss)
    return history.covariance.stderr["weight"]


@pytest.mark.parametrize("loss", ["mse", "binary"])
def test_rows_of_weight_zero_tell_nothing(loss):
    X, y = data()
    noise = torch.rand(80, generator=torch.Generator().manual_seed(3), dtype=DOUBLE)
    y = y + noise if loss == "mse" else (torch.sigmoid(X[:, 0]) > noise).double()
    weight = torch.cat([torch.ones(80), torch.zeros(80)])
    doubled = (torch.cat([X, X]), torch.cat([y, y]), weight)
    torch.testing.assert_close(stderr(doubled, loss=loss), stderr((X, y), loss=loss))


def test_standard_errors_of_several_binary_outputs_are_those_of_each():
    X, _ = data()
    noise = torch.rand(80, 3, generator=torch.Generator().manual_seed(3), dtype=DOUBLE)
    y = (torch.sigmoid(X) > noise).double()
    together = stderr((X, y), 3, "binary")
    for n in range(3):
        alone = stderr((X, y[:, n]), 1, "binary")
        torch.testing.assert_close(together[n], alone[0], rtol=1e-3, atol=0)


def test_the_training_loss_is_that_of_the_float32_model():
    x = torch.linspace(-1, 1, 50)[:, None]
    net = ra.RAN(1, 1, "none", (2, 2), denominator="square", base="zero")
    history = ra.fit(net, (x, 1 / (1 + 4 * x**2)), optimizer="lm")
    with torch.no_grad():
        own = (net(x) - 1 / (1 + 4 * x**2)).double().square().mean().item()
    assert history.training_loss == pytest.approx(own, rel=1e-3)


def test_lm_says_when_it_ends_far_above_a_constant():
    X, y = data()
    with pytest.warns(RuntimeWarning, match="scale the inputs to order one"):
        ra.fit(full(), (X * 1e4, y), optimizer="lm", epochs=2)
