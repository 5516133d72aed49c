"""Units beyond the contract: starts, heads, groups, poles, and what they refuse."""

import copy
import math
import pickle
import re

import numpy as np
import pytest
import sympy
import torch

import rational_anova as ra
from rational_anova import functional, kernels
from rational_anova.functional import DENOMINATORS, Denominator, monomials, rational_1d, rational_2d
from tests.conftest import needs_compiler


def test_coefficients_are_stored_by_power():
    unit = ra.Rational1d(768, degrees=(3, 2))
    assert unit.numerator.shape == (4, 768)
    assert unit.denominator.shape == (2, 768)
    assert unit.gate.shape == (768,)
    assert ra.Rational1d(8, heads=3).numerator.shape == (3, 4, 8)
    assert ra.Rational1d(8, groups=2).numerator.shape == (4, 2)
    assert ra.Rational2d([(0, 1)], degree=2).numerator.shape == (6, 1)


def test_groups_share_neighbouring_channels():
    unit = ra.Rational1d(6, groups=2, noise=0.5)
    x = torch.randn(4, 6)
    for group in range(2):
        columns = slice(3 * group, 3 * group + 3)
        alone = rational_1d(
            x[:, columns],
            unit.numerator[:, [group]],
            unit.denominator[:, [group]],
            unit.gate[[group]],
        )
        assert torch.allclose(unit(x)[:, columns], alone)
    assert len(unit.to_sympy()) == 6


def test_heads_add_up():
    unit = ra.Rational1d(2, heads=3, base="zero", gate=None, noise=0.5)
    x = torch.randn(5, 2)
    parts = [
        rational_1d(x, top, bottom, base="zero")
        for top, bottom in zip(unit.numerator, unit.denominator, strict=True)
    ]
    assert torch.allclose(unit(x), sum(parts), atol=1e-6)


def test_further_heads_are_not_copies():
    unit = ra.Rational1d(1, heads=3, base="zero")
    x = torch.randn(50, 1)
    for _ in range(3):
        (unit(x) - x.sin()).square().sum().backward()
        with torch.no_grad():
            for parameter in unit.parameters():
                parameter -= 1e-3 * parameter.grad
                parameter.grad = None
    heads = unit.numerator[..., 0]
    assert not torch.allclose(heads[1], heads[2], rtol=1e-3)


@pytest.mark.parametrize("kind", DENOMINATORS)
@pytest.mark.parametrize("gate", [0.0, 0.3, 1.0])
def test_an_explicit_gate_is_exact_and_alive(kind, gate):
    x = 3 * torch.randn(40, 2, dtype=torch.float64)
    for base in ("identity", "zero"):
        unit = ra.Rational1d(2, (3, 2), kind, base, gate=gate, dtype=torch.float64)
        expected = x if base == "identity" else torch.zeros_like(x)
        assert torch.allclose(unit(x), expected, rtol=1e-14, atol=0)
        (unit(x) * torch.randn_like(x)).sum().backward()
        assert any(p.grad.any() for p in unit.parameters())


def test_noise_moves_coefficients_only():
    torch.manual_seed(0)
    unit = ra.Rational1d(1000, noise=0.1)
    still = ra.Rational1d(1000)
    moved = (unit.numerator - still.numerator).std().item()
    assert 0.09 < moved < 0.11
    assert torch.equal(unit.gate, still.gate)


def test_reset_parameters_goes_back_to_the_start():
    unit = ra.Rational1d(3, init="tanh", degrees=(3, 2))
    before = unit.numerator.clone()
    torch.nn.init.normal_(unit.numerator)
    unit.reset_parameters()
    assert torch.equal(unit.numerator, before)


DEGREES = [(0, 1), (0, 2), (1, 1), (2, 2), (3, 2), (4, 4)]
STARTS = [
    (degrees, kind, base, gate)
    for gate in ("auto", 0.0, 0.5, None)
    for base in ("zero", "identity", "gelu")
    for kind in DENOMINATORS
    for degrees in DEGREES
    # GELU without a gate is fitted, which takes a second: tests/units/test_fit.py has more fits.
    if base != "gelu" or gate is not None or kind == "softplus" or degrees == (3, 2)
]


@pytest.mark.parametrize(("degrees", "kind", "base", "gate"), STARTS, ids=str)
def test_no_start_is_dead(degrees, kind, base, gate):
    unit = ra.Rational1d(3, degrees, kind, base, gate=gate, dtype=torch.float64)
    x = torch.randn(50, 3, dtype=torch.float64)
    (unit(x) * torch.randn_like(x)).sum().backward()
    assert any(p.grad.any() for p in unit.parameters())


def test_gradients_of_groups_and_image_axes():
    unit = ra.Rational1d(4, groups=2, dim=1, heads=2, noise=0.3, dtype=torch.float64)
    x = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    names = [name for name, _ in unit.named_parameters()]

    def call(x, *parameters):
        return torch.func.functional_call(unit, dict(zip(names, parameters, strict=True)), x)

    torch.autograd.gradcheck(call, (x, *(p.detach().requires_grad_() for p in unit.parameters())))


def test_numbers_of_numpy_are_numbers():
    assert ra.Rational2d([(0, 1)], degree=np.int64(2)).degrees == (2, 2)
    assert ra.Rational1d(np.int64(3), (np.int32(3), np.int32(2))).features == 3


def test_meta_device():
    unit = ra.Rational1d(3, device="meta")
    assert unit.numerator.is_meta
    unit = unit.to_empty(device="cpu")
    unit.reset_parameters()
    x = torch.randn(2, 3)
    assert torch.equal(unit(x), x)


def test_no_inputs_no_gradient():
    """Where there is nothing to add up, sums are zero and not what the memory held."""
    big = [torch.randn(n, 50, requires_grad=True) for n in (3, 2)]
    functional.rational_1d(torch.randn(64, 50), *big).sum().backward()
    small = [torch.randn(n, 3, requires_grad=True) for n in (3, 2)]
    functional.rational_1d(torch.zeros(2, 3, 0), *small, dim=1).sum().backward()
    assert all(not part.grad.any() for part in small)


def test_tensors_without_memory():
    top, bottom = torch.randn(3, 4), torch.randn(2, 4)
    zeros = torch._efficientzerotensor((2, 4))
    found = functional.rational_1d(zeros, top, bottom)
    torch.testing.assert_close(found, functional.rational_1d(torch.zeros(2, 4), top, bottom))


@pytest.mark.parametrize("kind", DENOMINATORS)
def test_plain_differentiation_is_that_by_hand(kind):
    """At round numbers, too, where formulas that clamp have their seams."""
    unit = ra.Rational1d(1, (1, 1), kind, gate=None, dtype=torch.float64)
    with torch.no_grad():
        unit.numerator.copy_(torch.tensor([[0.5], [2.0]]))
        unit.denominator.fill_(0.5 if kind == "polynomial" else 1.0)
    results = []
    for path in ("off", "torch", "auto"):
        x = torch.tensor([[-1.0], [0.0], [1.0], [2.0]], dtype=torch.float64, requires_grad=True)
        with kernels.using(path):
            results.append(torch.autograd.grad(unit(x).sum(), [x, *unit.parameters()]))
    for other in results[1:]:
        torch.testing.assert_close(other, results[0], rtol=1e-13, atol=1e-13)


def test_a_form_that_was_used_can_be_copied():
    unit = ra.Rational1d(3)
    unit(torch.randn(2, 3))
    spec = unit.form.spec
    assert pickle.loads(pickle.dumps(spec)) == copy.deepcopy(spec) == spec


def test_messages_need_weights_of_their_shape():
    pair, x = ra.Rational2d([(0, 1), (1, 2)], gate=None), torch.randn(5, 3)
    with pytest.raises(ValueError, match=r"weight must be \(2,\), got \(\)"):
        pair.send(x, torch.tensor(0.5))
    with pytest.raises(ValueError, match=r"readout must be \(outputs, 2\), got \(2, 1\)"):
        pair.send(x, None, torch.ones(2, 1))


@needs_compiler
def test_pairs_out_of_bounds_are_refused():
    pair = ra.Rational2d([(0, 1), (1, 2)])
    pair.pairs.fill_(1000)
    x = torch.randn(5, 3, requires_grad=True)
    with pytest.raises(ValueError, match="pairs must name features 0 to 2 of x, got 1000"):
        pair(x)


def test_jacobians_check_where_they_write():
    unit = ra.Rational1d(3, noise=0.3, dtype=torch.float64)
    x = torch.randn(70, 3, dtype=torch.float64)
    columns = {"numerator": 0, "denominator": 12, "gate": 18}
    with pytest.raises(ValueError, match="the buffer must be one of jacobian_buffer"):
        unit.write_jacobian(x, torch.empty(1, 21, 70, dtype=torch.float64), columns)
    results = []
    for dtype in (torch.float32, torch.float64):  # weights of another dtype
        buffer = functional.jacobian_buffer(70, 2, 21, x)
        unit.write_jacobian(x, buffer, columns, torch.ones(2, 3, dtype=dtype))
        results.append(buffer[..., :70])
    assert torch.equal(*results)
    with pytest.raises(ValueError, match="jacobian needs x of shape"):
        ra.Rational1d(3, dim=0).jacobian(torch.randn(3, 1))


def test_docstring_states_the_errors_of_fitted_units():
    rows = re.findall(r"\| (\w+) +\| (\d\S+) \| (\d\S+) \|", ra.Rational1d.__doc__)
    assert [row[0] for row in rows] == list(DENOMINATORS)
    for kind, *stated in rows:
        for name, value in zip(("gelu", "silu"), stated, strict=True):
            error = ra.Rational1d(1, (5, 4), kind, init=name).init_error
            assert f"{error.rmse:.1e}" == value
            # No fit explodes outside its range; the test of fits has the bound of each.
            assert error.tail <= 1


def test_a_start_that_cannot_be_exact_says_so():
    unit = ra.Rational1d(1, (2, 2), "square", gate=None, dtype=torch.float64)  # x / (1 + x^2/4)
    x = torch.linspace(-8, 8, 10001, dtype=torch.float64)[:, None]
    error = unit(x) - x
    assert unit.init_error.maximum == pytest.approx(error.abs().max().item())
    assert unit.init_error.rmse == pytest.approx(error.square().mean().sqrt().item())
    ajar = ra.Rational1d(1, (2, 2), "square", gate=0.5)
    assert ajar.init_error.maximum == pytest.approx(0.5 * unit.init_error.maximum)


def set_denominator(unit, *rows):
    with torch.no_grad():
        unit.denominator.copy_(
            torch.tensor(rows, dtype=torch.float64).reshape(unit.denominator.shape)
        )
    return unit


def test_poles_of_known_denominators():
    runge = set_denominator(ra.Rational1d(1, (0, 2), "sos", "zero"), 0.0, 5.0)
    poles = sorted(runge.poles()[0].tolist(), key=lambda z: z.imag)
    assert poles == pytest.approx([-0.2j, 0.2j])
    line = set_denominator(ra.Rational1d(1, (1, 1), "polynomial"), -0.5)  # 1 - x/2
    assert line.poles()[0].tolist() == pytest.approx([2])
    flat = set_denominator(ra.Rational1d(1, (1, 2), "polynomial"), 0.0, 0.0)
    assert flat.poles()[0].numel() == 0
    square = set_denominator(ra.Rational1d(1, (1, 1), "square"), 2.0)  # 1 + 4 x^2
    assert [abs(z) for z in square.poles()[0].tolist()] == pytest.approx([0.5, 0.5])


def test_poles_of_very_different_size():
    far = ra.Rational1d(1, (1, 2), "polynomial", dtype=torch.float64)
    set_denominator(far, 1.0, 1e-16)  # 1 + x + 1e-16 x^2
    assert sorted(z.real for z in far.poles()[0].tolist()) == pytest.approx([-1e16, -1])
    assert far.pole_distance(torch.tensor([[0.0]])).item() == pytest.approx(1)
    near = set_denominator(ra.Rational1d(1, (1, 2), "polynomial", dtype=torch.float64), 1e16, 1.0)
    assert sorted(z.real for z in near.poles()[0].tolist()) == pytest.approx([-1e16, -1e-16])


@pytest.mark.parametrize("power", [2, 5, 8])
def test_poles_that_coincide(power):
    rows = [math.comb(power, k) for k in range(1, power + 1)]  # (1 + x)^power
    unit = ra.Rational1d(1, (1, power), "polynomial", dtype=torch.float64)
    poles = set_denominator(unit, *map(float, rows)).poles()[0]
    assert poles.numel() == power
    # Eight poles in one place are told apart by the eighth root of rounding, 1e-2.
    assert (poles + 1).abs().max() < 0.05


def test_poles_at_the_ends_of_the_number_range():
    tiny = ra.Rational1d(1, (1, 2), "polynomial", dtype=torch.float64)
    assert set_denominator(tiny, 0.0, 1e-300).poles()[0].abs().tolist() == pytest.approx(
        [1e150] * 2
    )
    huge = ra.Rational1d(1, (1, 2), "square", dtype=torch.float64)
    assert set_denominator(huge, 1e200, 0.0).poles()[0].abs().tolist() == pytest.approx(
        [1e-200] * 2
    )


def test_poles_are_roots():
    unit = ra.Rational1d(4, (3, 4), "sos", heads=2, noise=0.5, dtype=torch.float64)
    for n, poles in enumerate(unit.poles()):
        assert poles.numel() == 8
        x = poles.numpy()
        for head in range(2):
            a, b, c, e = unit.denominator[head, :, n].tolist()
            d = 1 + (a + b * x + c * x**2) ** 2 + (e * x) ** 2
            mine = x[4 * head : 4 * head + 4]
            size = 1 + (abs(a) + abs(b * mine) + abs(c * mine**2)) ** 2
            assert (abs(d[4 * head : 4 * head + 4]) < 1e-9 * size).all()


def test_pole_distance():
    unit = set_denominator(ra.Rational1d(1, (1, 1), "polynomial"), -0.5)  # pole at 2
    assert unit.pole_distance(torch.tensor([[0.0], [1.5]])).item() == pytest.approx(0.5)
    assert unit.pole_distance(torch.tensor([[0.0], [3.0]])).item() == 0
    assert unit.pole_distance(torch.tensor([[2.5], [3.0]])).item() == pytest.approx(0.5)
    assert ra.Rational1d(2, denominator="polynomial").pole_distance(torch.zeros(1, 2)).isinf().all()
    runge = set_denominator(ra.Rational1d(1, (0, 2), "sos", "zero"), 0.0, 5.0)
    assert runge.pole_distance(torch.tensor([[-1.0], [1.0]])).item() == pytest.approx(0.2)


def test_denominator_min_sees_a_pole_that_was_crossed():
    unit = set_denominator(ra.Rational1d(1, (1, 1), "polynomial"), -0.5)
    assert unit.denominator_min(torch.tensor([[0.0], [3.0]])).item() == pytest.approx(-0.5)
    pair = ra.Rational2d([(0, 1)], 2, "softplus")
    assert pair.denominator_min(torch.randn(9, 2)).item() == pytest.approx(
        1 + math.log(2), abs=1e-5
    )


def test_lorentzian_is_exact_in_sos():
    unit = ra.Rational2d([(0, 1)], 2, "sos", gate=None, dtype=torch.float64)
    with torch.no_grad():
        unit.numerator.zero_()[0] = 1
        # (u)^2 + (v)^2: the first square is 1, u, v; the second 1, v
        unit.denominator.copy_(torch.tensor([[0.0], [1.0], [0.0], [0.0], [1.0]]))
    x = 4 * torch.randn(100, 2, dtype=torch.float64)
    assert torch.allclose(unit(x)[:, 0], 1 / (1 + x.square().sum(1)), rtol=1e-15)


def test_monomials_are_counted_right():
    for k in range(9):
        assert len(monomials(1, k)) == k + 1
        assert len(monomials(2, k)) == (k + 1) * (k + 2) // 2


@pytest.mark.parametrize("kind", DENOMINATORS)
@pytest.mark.parametrize("variables", [1, 2])
@pytest.mark.parametrize("degree", range(1, 9))
def test_every_layout_holds_every_coefficient_once(kind, variables, degree):
    layout = DENOMINATORS[kind].layout(variables, degree)
    count = sum(len(powers) for powers in layout)
    assert count == len(monomials(variables, degree, constant=False))
    for powers in layout:
        assert len(set(powers)) == len(powers)
    if kind == "sos" and degree > 1:
        assert max(sum(row) for powers in layout for row in powers) == degree // 2


X = torch.zeros(2, 3)
ONE = torch.ones(4, 3)
TWO = torch.ones(2, 3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ra.Rational1d(0), ValueError, "features must be >= 1, got 0"),
        (lambda: ra.Rational1d("3"), TypeError, "features must be an integer, got '3'"),
        (lambda: ra.Rational1d(3, degrees=(3, 0)), ValueError, "denominator's degree, must be >= 1, got 0"),
        (lambda: ra.Rational1d(3, degrees=(-1, 2)), ValueError, "numerator's degree, must be >= 0, got -1"),
        (lambda: ra.Rational1d(3, degrees=3), TypeError, "degrees must be two integers.*got 3"),
        (lambda: ra.Rational1d(3, degrees=(3, 2.0)), TypeError, "must be an integer, got 2.0"),
        (lambda: ra.Rational1d(3, degrees="32"), TypeError, "must be two integers"),
        (lambda: ra.Rational1d(3, denominator="sofplus"), ValueError, "did you mean 'softplus'"),
        (lambda: ra.Rational1d(3, base="gellu"), ValueError, "did you mean 'gelu'"),
        (lambda: ra.Rational1d(3, base=None), TypeError, "base must be one of"),
        (lambda: ra.Rational1d(3, init="swish"), ValueError, "init.*must be one of"),
        (lambda: ra.Rational1d(3, eps=-1), ValueError, "eps must be above -1, .*got -1"),
        (lambda: ra.Rational1d(3, eps=float("nan")), ValueError, "eps must be finite"),
        (lambda: ra.Rational1d(3, heads=0), ValueError, "heads must be >= 1, got 0"),
        (lambda: ra.Rational1d(6, groups=4), ValueError, "groups=4 for features=6"),
        (lambda: ra.Rational1d(3, gate="open"), ValueError, "gate"),
        (lambda: ra.Rational1d(3, gate=float("inf")), ValueError, "gate must be finite"),
        (lambda: ra.Rational1d(3, noise=-1.0), ValueError, "noise must be >= 0"),
        (lambda: ra.Rational1d(3, init_range=(2, 1)), ValueError, "low < high"),
        (lambda: ra.Rational1d(3, init="gelu", gate=0.5), ValueError, "needs gate 1"),
        (lambda: ra.Rational1d(3, (2, 2), "square", "zero", init="identity"), ValueError, "degree 3 or more"),
        (lambda: ra.Rational1d(3, dtype=torch.int32), TypeError, "floating-point dtype, got torch.int32"),
        (lambda: ra.Rational1d(3)(torch.zeros(2, 4)), ValueError, "must have 3 features.*got 4"),
        (lambda: ra.Rational1d(3)(torch.tensor(1.0)), ValueError, r"shape \(\)"),
        (lambda: ra.Rational1d(3, dim=2)(torch.zeros(2, 3)), ValueError, "feature axis 2"),
        (lambda: ra.Rational1d(3)(torch.zeros(2, 3, dtype=torch.int64)), TypeError, "int64.*x.float"),
        (lambda: ra.Rational1d(3)(torch.zeros(2, 3, dtype=torch.complex64)), TypeError, "complex64"),
        (lambda: ra.Rational1d(3)([[1.0, 2.0, 3.0]]), TypeError, "torch.Tensor, got list"),
        (lambda: ra.Rational1d(3).poles(), ValueError, "'softplus' is none"),
        (lambda: ra.Rational1d(3).to_sympy(["a"]), ValueError, "list of 3 names"),
        (lambda: ra.Rational1d(1, denominator="sos").pole_distance(torch.zeros(0, 1)), ValueError, "no rows"),
        (lambda: ra.Rational2d([]), ValueError, "pairs"),
        (lambda: ra.Rational2d([(0, 0)]), ValueError, "0"),
        (lambda: ra.Rational2d([(0, 1), (1, 0)]), ValueError, "more than once"),
        (lambda: ra.Rational2d([(0, -1)]), ValueError, "-1"),
        (lambda: ra.Rational2d(ra.Topology.none(3)), ValueError, "at least one pair"),
        (lambda: ra.Rational2d([(0, 1)], degree=0), ValueError, ">= 1, got 0"),
        (lambda: ra.Rational2d([(0, 3)])(torch.zeros(2, 3)), ValueError, "at least 4 features"),
        (lambda: ra.Rational2d(ra.Topology.all(3))(torch.zeros(2, 4)), ValueError, "must have 3 features"),
        (lambda: ra.Rational1d(3, base="GELU"), ValueError, "did you mean 'gelu'"),
        (lambda: ra.Rational1d(3).denominator_min(torch.zeros(2, 6)), ValueError, "must have 3 features"),
        (lambda: ra.Rational1d(3).denominator_min(torch.zeros(0, 3)), ValueError, "no rows"),
        (lambda: ra.Rational1d(3).denominator_min(torch.zeros(2, 3).int()), TypeError, "int32"),
        (lambda: ra.Rational1d(1, denominator="sos").pole_distance(torch.tensor([[torch.nan]])), ValueError, "not finite"),
        (lambda: set_denominator(ra.Rational1d(2, (1, 1), "sos"), 1.0, torch.nan).poles(), ValueError, "unit 1"),
        (lambda: ra.Rational1d(2).to_sympy(["a", "a"]), ValueError, "must differ"),
        (lambda: ra.Rational1d(2).to_sympy(5), TypeError, "list of 2 names"),
        (lambda: rational_2d(X, [[0], [1]], torch.ones(6, 1), torch.ones(5, 1)), TypeError, "got list"),
        (lambda: rational_2d(X, torch.tensor([[0], [7]]), torch.ones(6, 1), torch.ones(5, 1)), ValueError, "0 to 2 of x, got 7"),
        (lambda: rational_2d(X, torch.tensor([[1], [1]]), torch.ones(6, 1), torch.ones(5, 1)), ValueError, "got 1 twice"),
        (lambda: rational_1d(X, ONE, TWO, dim=1.0), TypeError, "dim must be an integer"),
        (lambda: rational_1d(X, ONE, torch.ones(2, 2)), ValueError, "same units"),
        (lambda: rational_1d(X, ONE[0], TWO), ValueError, r"\(k, units\)"),
        (lambda: rational_1d(X, ONE, TWO, torch.ones(2)), ValueError, r"gate must have shape \(3,\)"),
        (lambda: rational_1d(X, ONE, TWO, kind="soft"), ValueError, "kind must be one of"),
        (lambda: rational_1d(X, ONE, TWO, eps=-1.0), ValueError, "eps must be above -1"),
        (lambda: rational_1d(torch.zeros(2, 4), ONE, TWO), ValueError, "3 units, which must divide"),
        (lambda: rational_1d(X, ONE.int(), TWO), TypeError, "numerator must be"),
        (lambda: rational_1d(X, ONE[None].repeat(2, 1, 1), TWO[None]), ValueError, "number of heads"),
        (
            lambda: rational_2d(X, torch.tensor([[0], [1]]), torch.ones(5, 1), torch.ones(5, 1)),
            ValueError,
            "1, 3, 6, 10, ... rows, got 5",
        ),
        (
            lambda: rational_2d(X, torch.tensor([[0, 1]]), torch.ones(6, 1), torch.ones(5, 1)),
            ValueError,
            r"shape \(2, 1\)",
        ),
    ],
)  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.fixture
def logarithmic(monkeypatch):
    """A denominator of a user's, that starts to learn away from 0 and is no square."""
    kind = Denominator(
        "logarithmic",
        value=lambda q: torch.log1p(q * q),
        slope=lambda q: 2 * q / (1 + q * q),
        expression=lambda q: sympy.log(1 + q**2),
        start=0.5,
    )
    monkeypatch.setitem(DENOMINATORS, kind.name, kind)
    return kind.name


def test_a_start_that_cannot_be_exact_says_how_far_off_it_is(logarithmic):
    x = torch.linspace(-8, 8, 201, dtype=torch.float64)[:, None]
    unit = ra.Rational1d(1, denominator=logarithmic, dtype=torch.float64)
    assert torch.equal(unit(x), x)  # the gate is shut: p/d is not the identity, and can learn
    assert unit.init_error.maximum == 0
    for gate in (0.1, None):
        unit = ra.Rational1d(1, denominator=logarithmic, gate=gate, dtype=torch.float64)
        apart = float((unit(x) - x).detach().abs().max())
        assert apart > 0.1
        assert unit.init_error.maximum == pytest.approx(apart, rel=1e-3)
    with pytest.raises(ValueError, match="init='identity' with base='gelu'"):
        ra.Rational1d(1, denominator=logarithmic, base="gelu", init="identity")
    proof = ra.certify(unit, box=[(-1, 1)])  # by its formula
    inside = torch.linspace(-1, 1, 201, dtype=torch.float64)[:, None]
    assert 0.9 * unit.denominator_min(inside) <= proof.denominator_min
    assert proof.denominator_min <= unit.denominator_min(inside)
    assert proof.sampled <= proof.lipschitz


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_coefficients_stay_in_full_precision(half):
    layer = torch.nn.Sequential(torch.nn.Linear(4, 6), ra.Rational1d(6, base="gelu"))
    before = layer[1].numerator.detach().clone()
    layer.to(half)
    assert layer[0].weight.dtype == half
    assert layer[1].numerator.dtype == torch.float32
    assert torch.equal(layer[1].numerator, before)
    x = torch.randn(3, 4).to(half)
    assert layer(x).dtype == half
    optimizer = torch.optim.SGD(layer[1].parameters(), 1e-4)
    layer(x).float().square().sum().backward()
    optimizer.step()
    assert not torch.equal(layer[1].gate, torch.zeros(6))
    assert layer.double()[1].numerator.dtype == torch.float64
    assert ra.Rational1d(2, dtype=half).numerator.dtype == half  # as asked
    torch.set_default_dtype(half)
    try:
        assert ra.Rational1d(2).numerator.dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)
