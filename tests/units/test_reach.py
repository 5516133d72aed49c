"""Units with a reach: what they are beyond it, by every way to compute them."""

import copy
import itertools

import mpmath as mp
import numpy as np
import pytest
import sympy
import torch

import rational_anova as ra
from rational_anova import kernels
from rational_anova.functional import rational_1d
from rational_anova.kernels import _triton
from tests.conftest import needs_compiler
from tests.oracle import BASE
from tests.oracle import unit as oracle

BASES = ["identity", "zero", "gelu", "silu", "relu", "tanh"]
FORMS = [
    pytest.param(base, gate, kind, id=f"{base}-{gate}-{kind}")
    for base, gate in itertools.product(BASES, (None, "auto"))
    for kind in ("sos", "softplus", "abs", "polynomial")
    if kind == "sos" or base in ("gelu", "zero")
]
REACH = 1.5


def make(base, gate, kind, features=3, **options):
    """A unit with numbers of its own; without a start, which a fit would take long for."""
    options = {"dtype": torch.float64, **options}
    unit = ra.Rational1d(features, (3, 2), kind, base, gate=1.0 if gate is None else gate,
                         reach=REACH, **options) if base == "zero" or gate == "auto" else (
        ra.Rational1d(features, (3, 2), kind, "identity", gate=None, reach=REACH, **options)
    )  # fmt: skip
    unit.form = unit.form.with_base(base)
    random = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter, size in ((unit.numerator, 0.6), (unit.denominator, 0.2)):
            noise = torch.rand(parameter.shape, generator=random, dtype=torch.float64) - 0.5
            parameter.copy_(2 * size * noise)
        if gate is None:
            unit.gate = None
        elif unit.gate is not None:
            unit.gate.copy_(torch.linspace(0.2, 1.3, unit.units))
    return unit


def inside(value):
    return max(-REACH, min(REACH, value))


@pytest.mark.parametrize(("base", "gate", "kind"), FORMS)
def test_values_are_those_of_the_definition(base, gate, kind):
    """By mpmath: r(c) + b(x) - b(c), c being the nearest point of the range."""
    unit = make(base, gate, kind)
    x = torch.linspace(-4, 4, 27, dtype=torch.float64)[:, None].repeat(1, 3)
    for path in ("auto", "off"):
        with kernels.using(path):
            y = unit(x)
        for row, n in itertools.product(range(len(x)), range(3)):
            at = x[row, n].item()
            g = None if unit.gate is None else unit.gate[n].item()
            coefficients = unit.numerator[:, n].tolist(), unit.denominator[:, n].tolist()
            with mp.workdps(30):
                held, size = oracle([inside(at)], *([c] for c in coefficients), g, unit.degrees,
                                    kind, base, unit.eps)  # fmt: skip
                want = held + BASE[base](mp.mpf(at)) - BASE[base](mp.mpf(inside(at)))
            assert abs(y[row, n].item() - want) <= 1e-14 * (size + 8)


@pytest.mark.parametrize(("base", "gate", "kind"), FORMS)
def test_derivatives(base, gate, kind):
    unit = make(base, gate, kind)
    x = torch.tensor([[-3.1, 0.4, 2.0], [1.2, -1.7, -0.3]], dtype=torch.float64)
    parameters = dict(unit.named_parameters())

    def function(x, *values):
        named = dict(zip(parameters, values, strict=True))
        return torch.func.functional_call(unit, named, (x,))

    leaves = [
        x.requires_grad_(),
        *(p.detach().clone().requires_grad_() for p in parameters.values()),
    ]
    torch.autograd.gradcheck(function, leaves)
    torch.autograd.gradgradcheck(function, leaves)


@needs_compiler
@pytest.mark.parametrize(("base", "gate", "kind"), FORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kernels_agree(base, gate, kind, dtype):
    for features, shape, dim in ((13, (37, 13), -1), (64, (5, 64), -1), (2, (3, 2, 300), 1)):
        unit = make(base, gate, kind, features, dim=dim).to(dtype)
        x = 3 * torch.randn(shape, generator=torch.manual_seed(0), dtype=torch.float64).to(dtype)
        found = []
        for path in ("c", "off"):
            with kernels.using(path):
                leaf = x.clone().requires_grad_()
                y = unit(leaf)
                grads = torch.autograd.grad(y.square().sum(), [leaf, *unit.parameters()])
                found.append([y.detach(), *grads])
        tolerance = 1e-4 if dtype == torch.float32 else 1e-11
        for one, other in zip(*found, strict=True):
            torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


@needs_compiler
def test_the_jacobian_of_kernels_agrees():
    unit = make("gelu", "auto", "sos")
    x = 3 * torch.randn(70, 3, generator=torch.manual_seed(0), dtype=torch.float64)
    found = []
    for path in ("c", "off"):
        with kernels.using(path):
            value, slopes = unit.jacobian(x)
            found.append([value, *slopes.values()])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_at_the_start_it_is_the_base_everywhere():
    x = torch.linspace(-100, 100, 2001)[:, None]
    for base, function in (("gelu", torch.nn.functional.gelu), ("identity", lambda x: x)):
        unit = ra.Rational1d(1, base=base, reach=2.0)
        bare = ra.Rational1d(1, base=base)
        assert torch.equal(unit(x), bare(x))
        torch.testing.assert_close(unit(x), function(x), rtol=1e-6, atol=1e-6)


def test_tails_are_the_base_whatever_the_coefficients_are():
    unit = ra.Rational1d(1, (5, 4), "sos", "relu", gate=None, reach=4.0, init="gelu")
    with torch.no_grad():
        unit.numerator.add_(1e3)
    x = torch.tensor([[-1e6], [-5.0], [5.0], [1e6]], requires_grad=True)
    y = unit(x)
    torch.testing.assert_close(
        torch.autograd.grad(y.sum(), x)[0], torch.tensor([[0.0], [0], [1], [1]])
    )
    assert y[0] == y[1]


def test_infinite_and_unknown_inputs_stay_so():
    unit = make("relu", None, "sos", 1)
    x = torch.tensor([[torch.inf], [torch.nan], [-torch.inf]], dtype=torch.float64)
    for path in ("auto", "off"):
        with kernels.using(path):
            y = unit(x)
        assert y[0] == torch.inf
        assert y[1].isnan()
        assert y[2].isfinite()


@pytest.mark.parametrize("base", ["gelu", "identity", "zero"])
def test_the_formula_is_in_pieces(base):
    unit = make(base, "auto", "sos", 1)
    x = sympy.Symbol("x")
    formula = unit.to_sympy([x])[0]
    assert isinstance(formula, sympy.Piecewise)
    points = np.linspace(-4, 4, 81)
    found = sympy.lambdify(x, formula, ["scipy", "numpy"])(points)
    want = unit(torch.from_numpy(points)[:, None])[:, 0].detach().numpy()
    np.testing.assert_allclose(found, want, atol=1e-13)


@pytest.mark.parametrize("box", [(-4.0, 4.0), (2.0, 3.0), (-1.0, 1.0), (1.0, 2.0), (-9.0, -1.6)])
@pytest.mark.parametrize(("base", "gate", "kind"), [p for p in FORMS if p.values[2] != "abs"])
def test_no_sample_beats_a_certificate(base, gate, kind, box):
    unit = make(base, gate, kind)
    x = torch.linspace(*box, 2001, dtype=torch.float64)[:, None].repeat(1, 3).requires_grad_()
    y = unit(x)
    (slopes,) = torch.autograd.grad(y.sum(), x)
    for n, record in enumerate(ra.certify(unit, [box] * 3).units):
        most = slopes[:, n].abs().max()
        assert most <= record.lipschitz * (1 + 1e-12)
        assert record.lipschitz <= most * 1.05 + 1e-3
        assert record.lipschitz <= record.theorem.lipschitz * (1 + 1e-12)
        low, high = record.range
        assert low <= y[:, n].min() <= y[:, n].max() <= high
        assert high - low <= (y[:, n].max() - y[:, n].min()) * 1.02 + 1e-3
        assert record.denominator_min <= unit.denominator_min(x)[n] * (1 + 1e-12)


def test_poles_beyond_the_reach_do_no_harm():
    unit = ra.Rational1d(1, (1, 1), "polynomial", gate=None, reach=2.0, dtype=torch.float64)
    with torch.no_grad():
        unit.denominator.fill_(0.25)  # a pole at -4
    x = torch.linspace(-10, 10, 101, dtype=torch.float64)[:, None]
    assert unit.denominator_min(x) == 0.5
    assert ra.certify(unit, [(-10, 10)]).denominator_min > 0.49


def test_files_copies_and_functions_have_it(tmp_path):
    unit = make("gelu", "auto", "sos")
    x = 3 * torch.randn(5, 3, dtype=torch.float64)
    ra.save(ra.Rational1d(3, reach=REACH), tmp_path / "unit.safetensors")
    assert ra.load(tmp_path / "unit.safetensors").reach == REACH
    assert torch.equal(copy.deepcopy(unit)(x), unit(x))
    same = rational_1d(x, unit.numerator, unit.denominator, unit.gate, kind="sos", base="gelu",
                       reach=REACH)  # fmt: skip
    assert torch.equal(unit(x), same)
    assert "reach=1.5" in repr(unit)


def test_compiled_and_exported_graphs_have_it():
    unit = make("gelu", "auto", "sos").float()
    x = 3 * torch.randn(5, 3)
    compiled = torch.compile(unit, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), unit(x))
    exported = torch.export.export(unit, (x,)).module()
    torch.testing.assert_close(exported(x), unit(x))


def test_a_fit_is_made_where_the_quotient_is_used():
    unit = ra.Rational1d(1, (5, 4), "sos", "relu", gate=None, init="gelu", reach=4.0)
    assert (unit.init_error.low, unit.init_error.high) == (-4.0, 4.0)
    assert unit.init_error.rmse < 2e-3
    assert unit.init_error.tail < 1e-2


def test_what_cannot_be_is_refused():
    for bad in (0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=r"reach must be"):
            ra.Rational1d(1, reach=bad)
    with pytest.raises(ValueError, match="init='identity' cannot be with reach=4 and base='gelu'"):
        ra.Rational1d(1, base="gelu", init="identity", reach=4.0)


def test_operations_are_counted():
    bare, held = (
        ra.count_flops(ra.Rational1d(1, (5, 4), "sos", "relu", gate=None, init="gelu", reach=reach),
                       (1, 1)).units
        for reach in (None, 4.0)
    )  # fmt: skip
    assert held == bare + 2 + 3 + 1


@pytest.mark.skipif(_triton.reason() is not None, reason="Triton does not run here")
@pytest.mark.parametrize(("base", "gate", "kind"), FORMS)
def test_triton_agrees(base, gate, kind):
    unit = make(base, gate, kind)
    x = 3 * torch.randn(37, 3, generator=torch.manual_seed(0), dtype=torch.float64)
    found = []
    for path in ("triton", "off"):
        with kernels.using(path):
            leaf = x.clone().requires_grad_()
            y = unit(leaf)
            found.append([y, *torch.autograd.grad(y.square().sum(), [leaf, *unit.parameters()])])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)
