"""The fits behind init="gelu" and friends: accuracy, tails, exact targets, odd input."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from rational_anova.functional import DENOMINATORS, Form
from rational_anova.units import _fit
from rational_anova.units._fit import Fit, FitError, fit_function

FUNCTIONS = {
    "gelu": functional.gelu,
    "silu": functional.silu,
    "relu": torch.relu,
    "tanh": torch.tanh,
}
KINDS = tuple(DENOMINATORS)


def form_of(kind, degrees=(5, 4), variables=1):
    return Form.make(variables, degrees, kind, "zero", None)


@functools.cache
def fitted(kind, name, degrees=(5, 4), interval=(-8.0, 8.0)) -> Fit:
    return fit_function(form_of(kind, degrees), FUNCTIONS[name], interval)


def value_and_d(form, fit, *variables):
    """p/d and d by plain sums over monomials, apart from the library's Horner scheme."""

    def polynomial(coefficients, powers):
        terms = [
            c * np.prod([x**k for x, k in zip(variables, row, strict=True)], axis=0)
            for c, row in zip(coefficients, powers, strict=True)
        ]
        return sum(terms)

    d, left = 1 + form.eps, list(fit.denominator)
    for powers in form.denominator:
        part, left = left[: len(powers)], left[len(powers) :]
        q = np.broadcast_to(polynomial(part, powers), variables[0].shape).copy()
        d = d + form.kind.value(torch.from_numpy(q)).numpy()
    return polynomial(fit.numerator, form.numerator) / d, d


def runge(x):
    return 1 / (1 + 25 * x**2)


def bump(u, v):
    return u * v / (1 + u**2 + v**2)


# Upper bounds of (rmse, maximum, tail) at degrees (5, 4) on [-8, 8]: what was measured plus a few
# per cent. The prototype's marks were, to one digit, 6e-3 and 4e-3 (softplus), 2e-3 and 3e-4
# (square). Only square and SiLU stays above its mark: 3.2e-4 is the best there is, and costs an
# error of 190 000 at x = 58 (see `test_the_tail_rule_pays`).
BOUNDS = {
    ("softplus", "gelu"): (6.1e-3, 1.6e-2, 0.53),
    ("softplus", "silu"): (4.5e-3, 1.1e-2, 0.99),
    ("squareplus", "gelu"): (3.8e-3, 1.2e-2, 0.51),
    ("squareplus", "silu"): (2.9e-3, 7.5e-3, 0.83),
    ("square", "gelu"): (2.1e-3, 5.3e-3, 0.48),
    ("square", "silu"): (4.0e-4, 1.7e-3, 0.44),
    ("abs", "gelu"): (2.0e-3, 4.3e-3, 0.41),
    ("abs", "silu"): (3.5e-4, 1.3e-3, 0.38),
    ("sos", "gelu"): (2.0e-3, 4.3e-3, 0.41),
    ("sos", "silu"): (3.5e-4, 1.3e-3, 0.38),
    ("polynomial", "gelu"): (2.0e-3, 4.3e-3, 0.41),
    ("polynomial", "silu"): (3.5e-4, 1.3e-3, 0.38),
}


@pytest.mark.parametrize(("kind", "name"), BOUNDS)
def test_error_on_the_range_and_in_the_tail(kind, name):
    error = fitted(kind, name).error
    rmse, maximum, tail = BOUNDS[kind, name]
    assert error.rmse <= rmse
    assert error.maximum <= maximum
    assert error.tail <= tail


def test_bounds_cover_every_denominator():
    assert {kind for kind, _ in BOUNDS} == set(KINDS)


@pytest.mark.slow  # all the fits together
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["relu", "tanh"])
@pytest.mark.parametrize("degrees", [(5, 4), (3, 2)])
def test_no_tail_explodes(kind, name, degrees):
    """No error outside exceeds linear growth of the target by more than a few per cent."""
    error = fitted(kind, name, degrees).error
    assert error.tail <= {"relu": 1.05, "tanh": 0.13}[name]
    assert error.rmse <= {"relu": 0.1, "tanh": 0.04}[name]


@pytest.mark.parametrize("kind", KINDS)
def test_the_record_states_the_error_of_the_coefficients(kind):
    fit = fitted(kind, "silu")
    x = np.linspace(-8.0, 8.0, 3001)
    ratio, _ = value_and_d(form_of(kind), fit, x)
    error = np.abs(ratio - functional.silu(torch.from_numpy(x)).numpy())
    assert math.sqrt(np.mean(error**2)) == pytest.approx(fit.error.rmse, rel=1e-2)
    assert error.max() == pytest.approx(fit.error.maximum, rel=1e-2)
    scale = np.geomspace(1.001, 10.0, 500)
    x = 8.0 * np.concatenate([-scale, scale])
    ratio, _ = value_and_d(form_of(kind), fit, x)
    error = np.abs(ratio - functional.silu(torch.from_numpy(x)).numpy()) / (1 + np.abs(x))
    assert error.max() == pytest.approx(fit.error.tail, rel=1e-2)
    assert (fit.error.low, fit.error.high) == (-8.0, 8.0)


def test_the_tail_rule_pays(monkeypatch):
    """Without the fine the range gains a quarter, and p/d is 190 000 where SiLU is 58."""
    chosen = fitted("square", "silu").error
    monkeypatch.setattr(_fit, "_FINE", 0.0)
    free = fit_function(form_of("square"), functional.silu).error
    assert free.rmse <= 3.3e-4
    assert free.tail >= 1e3
    assert chosen.rmse <= 1.3 * free.rmse
    assert chosen.tail <= 0.5


@pytest.mark.parametrize("degrees", [(4, 3), (0, 2), (5, 4), (8, 8)])
@pytest.mark.parametrize("kind", ["sos", "square", "polynomial"])
def test_exact_rational_target(kind, degrees):
    error = fit_function(form_of(kind, degrees), runge, (-1.0, 1.0)).error
    assert error.rmse <= 1e-12
    assert error.tail <= 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_polynomial_target_is_exact(kind):
    fit = fit_function(form_of(kind, (3, 2)), lambda x: x**3 - 2 * x + 1, (-2.0, 2.0))
    assert fit.error.maximum <= 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_zero_target(kind):
    fit = fit_function(form_of(kind), torch.zeros_like)
    assert set(fit.numerator) == {0.0}
    assert fit.error == FitError(-8.0, 8.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(("kind", "bound"), [("sos", 1e-12), ("abs", 1e-12), ("softplus", 5e-3)])
def test_two_variables(kind, bound):
    form = form_of(kind, (2, 2), variables=2)
    fit = fit_function(form, bump, (-2.0, 2.0))
    assert (len(fit.numerator), len(fit.denominator)) == (6, 5)
    assert fit.error.rmse <= bound
    assert fit.error.tail <= bound
    u, v = (axis.ravel() for axis in np.meshgrid(*[np.linspace(-2.0, 2.0, 60)] * 2))
    error = value_and_d(form, fit, u, v)[0] - bump(u, v)
    assert math.sqrt(np.mean(error**2)) == pytest.approx(fit.error.rmse, rel=0.05, abs=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("interval", [(0.0, 1.0), (100.0, 101.0), (-0.01, 0.02)])
def test_odd_intervals(kind, interval):
    error = fitted(kind, "gelu", (5, 4), interval).error
    assert error.rmse <= 1e-8
    assert error.tail <= 1.0
    assert (error.low, error.high) == interval


@pytest.mark.slow  # all the fits together
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("degrees", [(1, 1), (0, 2), (3, 1), (8, 8)])
def test_odd_degrees(kind, degrees):
    fit = fitted(kind, "gelu", degrees)
    assert (len(fit.numerator), len(fit.denominator)) == (degrees[0] + 1, degrees[1])
    assert all(map(math.isfinite, fit.numerator + fit.denominator))
    assert fit.error.tail <= 1.6
    # The constant 2 alone is off by 2.7.
    assert fit.error.rmse <= {(1, 1): 1.3, (0, 2): 2.3, (3, 1): 0.8, (8, 8): 1e-3}[degrees]


@pytest.mark.parametrize("degrees", [(5, 4), (3, 1), (4, 3)])
@pytest.mark.parametrize(
    ("function", "interval"),
    [(functional.gelu, (-8.0, 8.0)), (torch.exp, (-8.0, 8.0)), (torch.sqrt, (0.0, 1.0))],
)
def test_polynomial_denominator_stays_positive(function, interval, degrees):
    form = form_of("polynomial", degrees)
    fit = fit_function(form, function, interval)
    low, high = interval
    centre, half = (low + high) / 2, (high - low) / 2
    _, d = value_and_d(form, fit, np.linspace(centre - 10 * half, centre + 10 * half, 1_000_001))
    assert d.min() > 0
    _, d = value_and_d(form, fit, np.linspace(low, high, 1_000_001))
    assert d.min() > 5e-3


def test_same_fit_every_time_and_no_global_generator():
    states = torch.get_rng_state(), np.random.get_state()[1]  # noqa: NPY002
    again = fit_function(form_of("softplus"), functional.gelu)
    assert again == fitted("softplus", "gelu")
    assert torch.equal(states[0], torch.get_rng_state())
    assert np.array_equal(states[1], np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_scale_of_the_target_plays_no_part(scale):
    fit = fit_function(form_of("square"), lambda x: scale * functional.gelu(x))
    assert fit.error.rmse == pytest.approx(scale * fitted("square", "gelu").error.rmse, rel=1e-3)


def test_target_that_is_not_finite_outside():
    error = fit_function(form_of("softplus"), torch.log, (0.1, 3.0)).error
    assert error.rmse <= 1e-3
    assert error.tail <= 20


def test_target_that_outgrows_every_rational():
    error = fit_function(form_of("square"), torch.exp, (-1.0, 1.0)).error
    assert error.rmse <= 1e-7
    assert error.tail <= 2100  # exp(10)/11 = 2002


def test_relu_asks_for_an_infinite_q_and_gets_a_finite_one():
    fit = fitted("softplus", "relu")
    assert fit.error.rmse <= 2e-4
    assert max(map(abs, fit.denominator)) <= 1e5


def test_functions_with_parameters_or_in_place_operations():
    weight = torch.nn.Parameter(torch.tensor(1.0, dtype=torch.float64))
    expected = fitted("sos", "gelu", (3, 2))
    assert fit_function(form_of("sos", (3, 2)), lambda x: functional.gelu(weight * x)) == expected
    relu = fit_function(form_of("sos", (3, 2)), functional.relu_)
    assert relu == fitted("sos", "relu", (3, 2))


@pytest.mark.parametrize("kind", ["softplus", "squareplus"])
def test_default_device_plays_no_part(kind):
    expected = fitted(kind, "gelu", (3, 2))
    with torch.device("meta"):
        assert fit_function(form_of(kind, (3, 2)), functional.gelu) == expected


@pytest.mark.parametrize(
    ("interval", "error"),
    [
        ((1.0, -1.0), ValueError),
        ((1.0, 1.0), ValueError),
        ((0.0, math.inf), ValueError),
        ((math.nan, 1.0), ValueError),
        (3.0, TypeError),
        (("a", "b"), TypeError),
    ],
)
def test_interval_is_checked(interval, error):
    with pytest.raises(error, match="interval"):
        fit_function(form_of("sos"), torch.tanh, interval)


def test_function_must_be_finite_on_the_interval():
    with pytest.raises(ValueError, match=r"finite on the interval \(0\.0, 1\.0\).*\[0\.0\]"):
        fit_function(form_of("sos"), torch.log, (0.0, 1.0))
    with pytest.raises(ValueError, match="choose an interval without that point"):
        fit_function(form_of("sos"), torch.sqrt)


@pytest.mark.parametrize("function", [torch.sum, lambda x: x[:, None], lambda x: torch.ones(3)])
def test_function_must_keep_the_shape(function):
    with pytest.raises(ValueError, match="one value for each point"):
        fit_function(form_of("sos"), function)


@pytest.mark.parametrize("function", [lambda x: 1.0, lambda x: x.numpy(), lambda x: x + 1j])
def test_function_must_return_a_real_tensor(function):
    with pytest.raises(TypeError, match="real torch.Tensor, got"):
        fit_function(form_of("sos"), function)


@pytest.mark.parametrize("interval", [(0.0, 1e40), (-1e-40, 1e-40)])
def test_powers_must_not_overflow(interval):
    with pytest.raises(ValueError, match="lower degrees or an interval nearer"):
        fit_function(form_of("sos"), torch.tanh, interval)
