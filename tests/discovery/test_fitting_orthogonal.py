"""Errors in the inputs: classic numbers, the sum that is minimised, and less bias."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from rational_anova.discovery.fitting import (
    QUICK,
    Form,
    NoiseShape,
    Rows,
    distances,
    fitted,
    orthogonal,
)


def test_pearsons_line_with_yorks_weights():
    """York (1966): y = 5.47991 - 0.480533 x, with a sum of squares of 11.8664."""
    x = np.array([0, 0.9, 1.8, 2.6, 3.3, 4.4, 5.2, 6.1, 6.5, 7.4])
    y = np.array([5.9, 5.4, 4.4, 4.6, 3.5, 3.7, 2.8, 2.8, 2.4, 1.5])
    x_weights = np.array([1000, 1000, 500, 800, 200, 80, 60, 20, 1.8, 1.0])
    y_weights = np.array([1, 1.8, 4, 8, 20, 20, 70, 70, 100, 500.0])
    rows = Rows(x[:, None], y, y_weights**-0.5, x_weights[:, None] ** -0.5)
    form = Form.of("a + b*x", ["x"])
    fit = orthogonal(form, rows, np.array([5.0, -0.3]))
    np.testing.assert_allclose(fit.values, [5.4799102, -0.4805334], rtol=1e-7)
    found = distances(form, rows, fit.values)
    assert float(found.ratio @ found.ratio) == pytest.approx(11.8663532)
    np.testing.assert_allclose(np.sqrt(np.diag(fit.covariance)), [0.359247, 0.0706203], rtol=1e-5)
    assert fit.scale == pytest.approx(np.sqrt(11.8663532 / 8))
    assert float(fit.miss @ fit.miss) == pytest.approx(8)


@pytest.mark.parametrize("still", [False, True], ids=["both inputs", "one input"])
def test_two_inputs_as_all_unknowns_together(still):
    """The shifts may be sought with the parameters: the same least sum."""
    rng = np.random.default_rng(3)
    form = Form.of("a*u*v/(b + v)", ["u", "v"])
    X = rng.uniform(1, 4, (25, 2))
    sigma, errors = np.full(25, 0.1), np.tile([0.0 if still else 0.15, 0.2], (25, 1))
    y = form.value(X, np.array([3.0, 2.0])) + sigma * rng.normal(size=25)
    X = X + errors * rng.normal(size=X.shape)

    def whole(unknown):
        d = unknown[2:].reshape(25, 2)
        return np.r_[(y - form.value(X + errors * d, unknown[:2])) / sigma, d.ravel()]

    fit = orthogonal(form, Rows(X, y, sigma, errors), np.array([2.0, 1.0]))
    right = least_squares(whole, np.r_[2.0, 1.0, np.zeros(50)], xtol=1e-14, ftol=1e-14, gtol=1e-14)
    np.testing.assert_allclose(fit.values, right.x[:2], rtol=1e-6)


def curve(text, true, low, high, seed, errors=0.1):
    """Forty rows; errors of the input relative to half its range, 2% of the target's range."""
    rng, form = np.random.default_rng(seed), Form.of(text, ["x"])
    x = np.linspace(low, high, 40)
    y = form.value(x[:, None], np.array(true))
    sigma, x_sigma = np.full(40, 0.02 * np.ptp(y)), np.full((40, 1), errors * (high - low) / 2)
    X = np.abs(x[:, None] + x_sigma * rng.normal(size=(40, 1))) + 1e-3
    return form, Rows(X, y + sigma * rng.normal(size=40), sigma, x_sigma)


@pytest.mark.parametrize(
    ("text", "true", "low", "high"),
    [
        ("a*exp(b*x)", (1.0, 0.8), 0.5, 4.5),
        ("a*x/(b + x)", (10.0, 1.5), 0.5, 8.0),
        ("a*x**b", (2.0, 1.8), 0.8, 5.0),
    ],
)
def test_less_bias_than_least_squares(text, true, low, high):
    plain, near, alone, covered = [], [], [], []
    for seed in range(8):
        form, rows = curve(text, true, low, high, seed)
        start = fitted(form, Rows(rows.X, rows.y), NoiseShape(), QUICK)
        fit = orthogonal(form, rows, start.values)
        other = orthogonal(form, Rows(rows.X, rows.y, None, rows.x_sigma), start.values)
        plain.append(start.values), near.append(fit.values), alone.append(other.values)
        covered.append(np.abs(fit.values - true) < 2.03 * np.sqrt(np.diag(fit.covariance)))
    errors = [np.abs(np.array(v) / true - 1).mean() for v in (plain, near, alone)]
    assert errors[1] < 0.8 * errors[0]
    assert errors[2] < 0.8 * errors[0]
    assert np.mean(covered) > 0.8


def test_own_deviation_of_the_target_is_found():
    form = Form.of("a + b*x", ["x"])
    rng = np.random.default_rng(0)
    x = np.linspace(0, 10, 400)
    y = 1 + 2 * x + 0.8 * rng.normal(size=400)
    x_sigma = np.full((400, 1), 0.3)
    rows = Rows(x[:, None] + x_sigma * rng.normal(size=(400, 1)), y, None, x_sigma)
    fit = orthogonal(form, rows, np.array([0.0, 1.0]))
    assert fit.scale == pytest.approx(1, abs=1e-4)
    assert fit.deviance == pytest.approx(400 * np.log(2 * np.pi * (0.8**2 + 0.6**2)) + 400, rel=0.1)
    clean = orthogonal(form, Rows(rows.X, 1 + 2 * x, None, x_sigma), np.array([0.0, 1.0]))
    np.testing.assert_allclose(clean.values, [1, 2], atol=0.1)


def test_bounds_and_what_cannot_be_fitted():
    form = Form.of("a*x", ["x"], bounds={"a": (0.0, 1.5)})
    x = np.linspace(1, 4, 9)
    rows = Rows(x[:, None], 2 * x, np.full(9, 0.1), np.full((9, 1), 0.1))
    assert orthogonal(form, rows, np.array([1.0])).values == pytest.approx([1.5])
    with pytest.raises(ValueError, match="x_sigma is missing"):
        orthogonal(form, Rows(x[:, None], x), np.array([1.0]))
    nowhere = Form.of("a*log(-x)", ["x"])
    assert orthogonal(nowhere, rows, np.array([1.0])) is None
