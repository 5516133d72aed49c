"""Exponentials and their like in the C kernels: exact to the last places."""

import mpmath as mp
import pytest
import torch

from rational_anova import Rational1d, kernels
from rational_anova.functional import (
    Form,
    apply,
)
from rational_anova.kernels import _approximations, _build
from tests.conftest import needs_compiler
from tests.kernels.cases import both_dtypes

pytestmark = needs_compiler


def test_coefficients_are_those_that_are_computed():
    written = (_build.SOURCE / "coefficients.h").read_text()
    assert written == _approximations.header()


# Without cancellation, which no number of digits outruns in the tail.
ELEMENTARY = {
    "gelu": lambda z: z * mp.erfc(-z / mp.sqrt(2)) / 2,
    "silu": lambda z: z / (1 + mp.exp(-z)),
    "tanh": mp.tanh,
    "gelu_tanh": lambda z: z / (1 + mp.exp(-twice_inner(z))),
    "quick_gelu": lambda z: z / (1 + mp.exp(-mp.mpf("1.702") * z)),
}


def twice_inner(z):
    return 2 * mp.sqrt(2 / mp.pi) * (z + mp.mpf("0.044715") * z**3)


EXPONENT = {
    "gelu": lambda z: z * z / 2,
    "silu": lambda z: z,
    "tanh": lambda z: mp.mpf(0),
    "gelu_tanh": lambda z: 2 * twice_inner(z),
    "quick_gelu": lambda z: mp.mpf("1.702") * z,
}


def elementary(base, dtype):
    """A unit whose gate is closed is its base; 50 points in each range."""
    unit = Rational1d(1, (1, 1), "square", base, gate=0.0, dtype=dtype)
    eps = torch.finfo(dtype).eps
    for high in (1e-3, 0.6, 3.0, 12.0, 37.0):
        x = torch.linspace(-high, high, 50, dtype=dtype)[:, None].requires_grad_()
        with kernels.using("c"):
            y = unit(x)
            (slope,) = torch.autograd.grad(y.sum(), x)
        with mp.workdps(40):
            for z, ours, along in zip(*(t.flatten().tolist() for t in (x, y, slope)), strict=True):
                z = mp.mpf(z)
                value = ELEMENTARY[base](z)
                # An exponent t is rounded, in several steps if it is a cubic in z, and the
                # exponential by t as much.
                exponent = EXPONENT[base](abs(z))
                allowed = 2 * eps * (2 + (exponent if z < 0 else 0))
                if abs(value) > torch.finfo(dtype).tiny * 1e3:
                    assert abs(ours - value) <= allowed * abs(value), (base, z, ours)
                # silu' has a term z s (1 - s), and 1 - s is exact to eps alone
                error = abs(along - mp.diff(ELEMENTARY[base], z))
                factor = 0 if base == "gelu" else z * mp.diff(EXPONENT[base], abs(z))
                assert error <= eps * (6 + abs(factor)), (base, z, along)


@both_dtypes
@pytest.mark.parametrize("base", ELEMENTARY)
def test_elementary_functions_are_exact_to_the_last_places(base, dtype):
    elementary(base, dtype)


@both_dtypes
@pytest.mark.parametrize("kind", ["softplus", "squareplus"])
def test_denominators_are_exact_to_the_last_places(kind, dtype):
    """1/(1 + psi(x)) through a unit with p = 1 and q = x."""
    form = Form.make(1, (0, 1), kind, "zero", 0.0)
    one = torch.ones(1, 1, dtype=dtype)
    psi = {
        "softplus": lambda q: mp.log1p(mp.exp(q)),
        "squareplus": lambda q: (q + mp.sqrt(q * q + 1)) / 2,
    }
    for high in (1e-3, 1.0, 10.0, 100.0, 1e12):
        x = torch.linspace(-high, high, 50, dtype=dtype)
        with kernels.using("c"):
            y = apply(x[:, None], one, one, None, None, form, -1)
        with mp.workdps(60):
            for z, ours in zip(x.tolist(), y.flatten().tolist(), strict=True):
                want = 1 / (1 + psi[kind](mp.mpf(z)))
                assert abs(ours - want) <= 2 * torch.finfo(dtype).eps * want, (z, ours)
