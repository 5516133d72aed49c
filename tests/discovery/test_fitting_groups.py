"""One form, several experiments: R's numbers, known truths, every model of the noise."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from rational_anova.discovery.fitting import (
    CONSTANT,
    GIVEN,
    LOG_NORMAL,
    POISSON,
    PROPORTIONAL,
    Form,
    NoiseShape,
    Rows,
    fitted,
    fitted_groups,
)


def read(file, column, target, label):
    path = Path(os.environ.get("RAN_DATA", "nowhere")) / "science_laws" / file
    if not path.is_file():
        pytest.skip(f"no science_laws/{file} under RAN_DATA")
    with path.open(encoding="utf-8") as lines:
        table = list(csv.DictReader(lines))
    x, y = (np.array([float(row[name]) for row in table]) for name in (column, target))
    return Rows(x[:, None], y), np.array([row[label] for row in table])


MICHAELIS = Form.of("V*conc/(K + conc)", ["conc"])
BATEMAN = Form.of("a*(exp(-b*Time) - exp(-c*Time))", ["Time"])


def test_puromycin_as_r_does():
    """R's nls(rate ~ Vm[state]*conc/(K[state] + conc)), errors with one scale for both states."""
    rows, labels = read("datasets_Puromycin.csv", "conc", "rate", "state")
    fit = fitted_groups(MICHAELIS, rows, labels, own=["V", "K"])
    assert fit.groups == ("treated", "untreated")
    np.testing.assert_allclose(fit.values, [[212.68, 0.064121], [160.28, 0.047708]], rtol=1e-4)
    np.testing.assert_allclose(fit.errors, [[6.608, 0.00788], [6.896, 0.00828]], rtol=1e-3)
    assert fit.scale == pytest.approx(10.400, rel=1e-4)
    alone = fitted(MICHAELIS, rows.some(labels == "treated"), values=fit.values[0], polish=True)
    np.testing.assert_allclose(alone.values, fit.values[0], rtol=1e-6)
    np.testing.assert_allclose(np.sqrt(np.diag(alone.covariance)), [6.947, 0.00828], rtol=1e-3)


def test_puromycin_shares_what_the_enzyme_has():
    """R's nls(rate ~ (Vm + delV*(state == "treated"))*conc/(K + conc)): 166.60, 42.03, 0.05797."""
    rows, labels = read("datasets_Puromycin.csv", "conc", "rate", "state")
    fit = fitted_groups(MICHAELIS, rows, labels)
    assert (fit.shared, fit.own, fit.numbers) == (("K",), ("V",), 3)
    np.testing.assert_allclose(fit.values, [[208.63, 0.05797], [166.60, 0.05797]], rtol=1e-4)
    np.testing.assert_allclose(fit.errors[1], [5.807, 0.00591], rtol=2e-3)
    assert len(fit.compared) == 4
    assert fit.compared[0][0] == ("K",)
    assert fit.score == pytest.approx(fit.deviance + 3 * np.log(23))


def test_theophylline_keeps_its_rates_in_order():
    rows, labels = read("datasets_Theoph.csv", "Time", "conc", "Subject")
    fit = fitted_groups(BATEMAN, rows, labels)
    assert (fit.shared, fit.own) == (("b",), ("a", "c"))
    every = fitted_groups(BATEMAN, rows, labels, own=["a", "b", "c"])
    for found in (fit, every):
        a, b, c = found.values.T
        assert (a > 0).all()
        assert (b < c).all()
    for k, subject in enumerate(every.groups):
        alone = fitted(BATEMAN, rows.some(labels == subject), values=every.values[k], polish=True)
        np.testing.assert_allclose(alone.values, every.values[k], rtol=1e-4)


def test_theophylline_shrunk():
    rows, labels = read("datasets_Theoph.csv", "Time", "conc", "Subject")
    every = fitted_groups(BATEMAN, rows, labels, own=["a", "b", "c"])
    drawn = fitted_groups(BATEMAN, rows, labels, own=["a", "b", "c"], shrink=True)
    assert drawn.shrunk
    assert drawn.logged == ("a", "b", "c")
    assert (np.std(np.log(drawn.values), axis=0) < np.std(np.log(every.values), axis=0)).all()
    assert (drawn.errors < every.errors).all()
    np.testing.assert_allclose(np.log(drawn.typical[1:]), [-2.41, 0.43], atol=0.05)
    np.testing.assert_allclose(np.sqrt(drawn.between[2, 2]), 0.68, atol=0.05)


def test_dnase_by_run():
    rows, labels = read("datasets_DNase.csv", "conc", "density", "Run")
    fit = fitted_groups(Form.of("a/(1 + (b/conc)**c)", ["conc"]), rows, labels)
    assert (fit.shared, fit.own) == (("b",), ("a", "c"))
    np.testing.assert_allclose(fit.typical, [2.482, 4.551, 0.912], rtol=1e-3)
    assert fit.scale == pytest.approx(0.0247, rel=0.01)


def decays(groups=6, each=12, noise=0.02, spread=0.3, seed=0):
    """Decays that share their rate; the amplitudes are each group's own."""
    rng = np.random.default_rng(seed)
    x, labels = np.tile(np.linspace(0, 4, each), groups), np.repeat(np.arange(groups), each)
    amplitude = 3 * np.exp(spread * rng.normal(size=groups))
    y = amplitude[labels] * np.exp(-0.7 * x)
    return x[:, None], y, labels, amplitude, noise * rng.normal(size=len(y))


DECAY = Form.of("a*exp(-b*x)", ["x"])


@pytest.mark.parametrize("model", [CONSTANT, PROPORTIONAL, LOG_NORMAL, POISSON, GIVEN])
def test_every_model_of_the_noise(model):
    X, y, labels, amplitude, e = decays()
    if model in (PROPORTIONAL, LOG_NORMAL):
        rows = Rows(X, y * np.exp(e))
    elif model == POISSON:
        amplitude = 100 * amplitude
        rows = Rows(X, np.random.default_rng(1).poisson(100 * y).astype(float))
    else:
        rows = Rows(X, y + e, np.full(len(y), 0.02))
    for shrink in (False, True):
        fit = fitted_groups(DECAY, rows, labels, NoiseShape(model), own=["a"], shrink=shrink)
        assert (np.abs(fit.values[:, 0] - amplitude) < 4 * fit.errors[:, 0]).all()
        assert abs(fit.typical[1] - 0.7) < 4 * fit.errors[0, 1]
        assert np.isfinite(fit.deviance)
        assert np.std(fit.miss) == pytest.approx(1, abs=0.3)
    chosen = fitted_groups(DECAY, rows, labels, NoiseShape(model))
    assert (chosen.shared, chosen.own) == (("b",), ("a",))


def test_exact_rows_share_all_they_can():
    X, y, labels, amplitude, _ = decays()
    fit = fitted_groups(DECAY, Rows(X, y), labels)
    assert fit.shared == ("b",)
    np.testing.assert_allclose(fit.values[:, 0], amplitude, rtol=1e-7)
    same = fitted_groups(DECAY, Rows(X, 2 * np.exp(-0.7 * X[:, 0])), labels)
    assert same.own == ()
    np.testing.assert_allclose(same.typical, [2, 0.7], rtol=1e-8)


def test_order_of_rows_and_labels():
    X, y, labels, _, e = decays()
    names = np.array(["f", "b", "d", "a", "c", "e"])[labels]
    mixed = np.random.default_rng(0).permutation(len(y))
    straight = fitted_groups(DECAY, Rows(X, y + e), names, own=["a"])
    fit = fitted_groups(DECAY, Rows(X, y + e).some(mixed), names[mixed], own=["a"])
    assert straight.groups == ("f", "b", "d", "a", "c", "e")
    assert fit.groups == tuple(dict.fromkeys(names[mixed].tolist()))
    np.testing.assert_allclose(fit.miss, straight.miss[mixed], atol=1e-5)
    said = fit.predict(X, names)
    np.testing.assert_allclose((y + e - said) / fit.scale, straight.miss, atol=1e-5)
    np.testing.assert_allclose(fit.predict(X), DECAY.value(X, fit.typical))
    with pytest.raises(ValueError, match="group 'z' was not fitted"):
        fit.predict(X[:1], ["z"])


def test_groups_with_few_rows():
    X, y, labels, amplitude, e = decays(groups=8)
    few = (labels > 1) | (np.arange(len(y)) % 12 < 1)  # groups 0 and 1 have one row
    rows = Rows(X, y + e).some(few)
    fit = fitted_groups(DECAY, rows, labels[few])
    assert (fit.shared, fit.own) == (("b",), ("a",))
    assert (np.abs(fit.values[:, 0] - amplitude) < 4 * fit.errors[:, 0]).all()
    every = fitted_groups(DECAY, rows, labels[few], own=["a", "b"])
    assert np.isinf(every.errors[:2]).all()
    assert np.isfinite(every.errors[2:]).all()
    drawn = fitted_groups(DECAY, rows, labels[few], own=["a", "b"], shrink=True)
    assert np.isfinite(drawn.errors).all()
    np.testing.assert_allclose(drawn.values[:, 1], 0.7, atol=0.05)


def test_shrinkage_helps_where_rows_are_few_and_finds_the_spread():
    better, spreads = [], []
    for seed in range(5):
        X, y, labels, amplitude, e = decays(20, 4, noise=0.6, spread=0.2, seed=seed)
        rows = Rows(X, y + e)
        plain = fitted_groups(DECAY, rows, labels, own=["a"])
        drawn = fitted_groups(DECAY, rows, labels, own=["a"], shrink=True, values=plain.values)
        errors = [np.sum((fit.values[:, 0] - amplitude) ** 2) for fit in (plain, drawn)]
        better.append(errors[1] < errors[0])
        spreads.append([plain.spread["a"], drawn.spread["a"]])
    assert np.mean(better) > 0.8
    np.testing.assert_allclose(np.mean(spreads, axis=0), 0.6, atol=0.2)


def test_shrinkage_of_lines_is_the_linear_mixed_model():
    """Where the form is linear nothing is approximated: the optimum of the restricted likelihood."""
    rng = np.random.default_rng(5)
    x, labels = np.tile(np.linspace(-1, 2, 6), 12), np.repeat(np.arange(12), 6)
    own = rng.multivariate_normal([0.2, -0.1], [[1.0, 0.5], [0.5, 0.8]], 12)
    y = own[labels, 0] + own[labels, 1] * x + 1.5 * x**2 + 0.7 * rng.normal(size=len(x))
    form = Form.of("a + b*x + c*x**2", ["x"])
    fit = fitted_groups(form, Rows(x[:, None], y), labels, shared=["c"], shrink=True)
    A = np.column_stack([np.ones_like(x), x, x**2])
    same = labels[:, None] == labels

    def parts(p):
        factor = np.array([[np.exp(p[0]), 0], [p[1], np.exp(p[2])]])
        V = same * (A[:, :2] @ factor @ factor.T @ A[:, :2].T) + np.exp(2 * p[3]) * np.eye(len(x))
        gram = A.T @ np.linalg.solve(V, A)
        return factor, V, gram, np.linalg.solve(gram, A.T @ np.linalg.solve(V, y))

    def restricted(p):
        _, V, gram, means = parts(p)
        left = y - A @ means
        return sum(np.linalg.slogdet(M)[1] for M in (V, gram)) + left @ np.linalg.solve(V, left)

    best = minimize(restricted, [0, 0.5, 0, -0.3], method="BFGS", options={"gtol": 1e-4})
    factor, V, gram, means = parts(best.x)
    np.testing.assert_allclose(fit.between, factor @ factor.T, rtol=0.01)
    np.testing.assert_allclose(fit.typical, means, rtol=1e-3)
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(gram), rtol=0.01)
    assert fit.scale == pytest.approx(np.exp(best.x[3]), rel=1e-3)
    left = y - A @ means
    likelihood = (
        len(y) * np.log(2 * np.pi) + np.linalg.slogdet(V)[1] + left @ np.linalg.solve(V, left)
    )
    assert fit.deviance == pytest.approx(likelihood, rel=1e-3)
    assert fit.logged == ()


def test_many_groups_and_bounds():
    X, y, labels, amplitude, e = decays(groups=150)
    fit = fitted_groups(DECAY, Rows(X, y + e), labels, own=["a"], values=np.array([3.0, 0.5]))
    np.testing.assert_allclose(fit.values[:, 0], amplitude, atol=0.1)
    held = Form.of("a*exp(-b*x)", ["x"], bounds={"a": (0.0, 3.0), "b": (0.71, 2.0)})
    small = labels < 6
    fit = fitted_groups(held, Rows(X, y + e).some(small), labels[small], own=["a"])
    assert fit.typical[1] == pytest.approx(0.71)
    over = amplitude[:6] > 3.05
    assert over.any()
    np.testing.assert_allclose(fit.values[over, 0], 3.0)


def test_errors_in_the_inputs_are_carried_over():
    X, y, labels, _, e = decays()
    rows = Rows(X, y + e, np.full(len(y), 0.02), np.full(X.shape, 0.05))
    fit = fitted_groups(DECAY, rows, labels, NoiseShape(GIVEN), own=["a"])
    surer = fitted_groups(DECAY, Rows(X, rows.y, rows.sigma), labels, NoiseShape(GIVEN), own=["a"])
    assert (fit.errors > surer.errors).all()


def test_what_cannot_be_fitted():
    X, y, labels, _, _ = decays()
    assert fitted_groups(Form.of("a*log(-1 - x)", ["x"]), Rows(X, y), labels) is None
    with pytest.raises(ValueError, match="5 labels for 72 rows"):
        fitted_groups(DECAY, Rows(X, y), labels[:5])
    with pytest.raises(ValueError, match=r"'c' is no parameter of the form; it has \['a', 'b'\]"):
        fitted_groups(DECAY, Rows(X, y), labels, shared=["c"])
    with pytest.raises(ValueError, match="must name each of"):
        fitted_groups(DECAY, Rows(X, y), labels, shared=["a"], own=["a"])
    alone = fitted_groups(DECAY, Rows(X, y).some(labels == 0), labels[labels == 0])
    assert alone.own == ()
    np.testing.assert_allclose(alone.typical[1], 0.7)
