"""Certificates of units: no sample beats a bound, and the bounds are sharp."""

import copy
import math

import numpy as np
import pytest
import sympy
import torch
from scipy.optimize import minimize_scalar

import rational_anova as ra
from rational_anova.certificates import ModelBounds, PoleError, positive_on, register_certifier
from rational_anova.certificates._curves import BASE, PSI
from rational_anova.functional import BASES, DENOMINATORS
from rational_anova.proofs import Expansion, Interval

KINDS = list(DENOMINATORS)
ROUNDING = 1e-11  # of the sampled numbers themselves, over their size


def random_unit(rng, units, kind, degrees, base, dtype, heads=1, gate=0.7):
    """Units with coefficients of several sizes; polynomial denominators stay near 1."""
    noise = float(rng.choice([0.1, 0.5, 1.0]))
    torch.manual_seed(int(rng.integers(2**31)))
    unit = ra.Rational1d(units, degrees, kind, base, noise=noise, dtype=dtype, heads=heads)
    torch.nn.init.constant_(unit.gate, gate)  # later, so that no time goes into a fit
    if kind == "polynomial":
        with torch.no_grad():  # |q| <= about 0.5 on boxes in [-3, 3]
            unit.denominator.mul_(
                0.5 / degrees[1] / 3.0 ** torch.arange(1, degrees[1] + 1)[:, None]
            )
    return unit


def random_box(rng, units):
    low = rng.uniform(-2, 1, units)
    return np.stack([low, low + rng.uniform(0.1, 2.0, units)], 1)


def slopes_at(unit, x):
    twin = copy.deepcopy(unit).double()
    x = x.clone().requires_grad_()
    with ra.kernels.using("torch"):  # no time for kernels of hundreds of forms
        value = twin(x)
        (slope,) = torch.autograd.grad(value.sum(), x)
    return value.detach().numpy(), slope.numpy(), twin.denominator_min(x.detach()).numpy()


def climb(unit, x, steep, box):
    """Improve the best sampled slope of each unit by a bounded search beside it."""
    best = steep.max(0)
    step = (box[:, 1] - box[:, 0]) / len(x)
    for n in range(len(box)):
        at = x[int(steep[:, n].argmax()), n].item()
        low, high = max(box[n, 0], at - step[n]), min(box[n, 1], at + step[n])

        def f(t, n=n):
            row = torch.zeros(1, len(box), dtype=torch.float64)
            row[0, n] = t
            return -abs(slopes_at(unit, row)[1][0, n])

        best[n] = max(best[n], -minimize_scalar(f, bounds=(low, high), method="bounded").fun)
    return best


def check_units(rng, units, points, kind, degrees, base, dtype, climbing=False):
    unit = random_unit(rng, units, kind, degrees, base, dtype)
    box = random_box(rng, units)
    try:
        certificate = ra.certify(unit, box, samples=4)
    except PoleError:
        assert kind == "polynomial"
        return None
    share = torch.linspace(0, 1, points, dtype=torch.float64)[:, None]
    low, high = torch.tensor(box[:, 0]), torch.tensor(box[:, 1])
    x = torch.minimum(low + (high - low) * share, high)
    value, slope, least = slopes_at(unit, x)
    steep = climb(unit, x, np.abs(slope), box) if climbing else np.abs(slope).max(0)
    for n, record in enumerate(certificate.units):
        scale = 1 + np.abs(value[:, n]).max() + steep[n]
        assert record.lipschitz >= steep[n] - ROUNDING * scale
        assert record.attained <= record.lipschitz
        assert record.lipschitz <= record.theorem.lipschitz
        assert record.slopes[0][0] - ROUNDING * scale <= slope[:, n].min()
        assert record.slopes[0][1] + ROUNDING * scale >= slope[:, n].max()
        assert record.range[0] - ROUNDING * scale <= value[:, n].min()
        assert record.range[1] + ROUNDING * scale >= value[:, n].max()
        assert 0 < record.denominator_min <= least[n] * (1 + ROUNDING)
    assert certificate.lipschitz >= certificate.sampled
    lipschitz = np.array([record.lipschitz for record in certificate.units])
    return lipschitz / np.maximum(steep, 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_no_sample_beats_a_bound(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    for degrees in [(1, 1), (3, 2), (5, 4), (8, 8)]:
        base = str(rng.choice(list(BASES)))
        dtype = torch.float32 if rng.random() < 0.5 else torch.float64
        check_units(rng, 9, 4001, kind, degrees, base, dtype)


@pytest.mark.parametrize("kind", KINDS)
def test_no_optimiser_beats_a_bound(kind):
    rng = np.random.default_rng(100 + KINDS.index(kind))
    check_units(rng, 3, 301, kind, (3, 2), "gelu", torch.float64, climbing=True)


@pytest.mark.slow
def test_no_sample_of_many_beats_a_bound():
    """A part of what experiments.certificates.soundness does with 13,300 units."""
    rng = np.random.default_rng(1000)
    for n in range(24):
        degrees = tuple(int(k) for k in rng.integers(1, 9, 2))
        dtype = torch.float32 if n % 2 else torch.float64
        check_units(rng, 10, 20_000, KINDS[n % len(KINDS)], degrees,
                    str(rng.choice(list(BASES))), dtype)  # fmt: skip


def test_units_of_degree_3_2_are_certified_to_five_percent():
    rng = np.random.default_rng(3)
    ratios = [
        check_units(rng, 40, 20001, kind, (3, 2), "identity", torch.float64)
        for kind in KINDS
        if kind != "polynomial"
    ]
    assert np.median(np.concatenate(ratios)) <= 1.05


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_no_sample_beats_a_bound_of_a_pair(kind, degree):
    torch.manual_seed(degree)
    noise = 0.02 if kind == "polynomial" else 0.7
    unit = ra.Rational2d([(0, 1), (1, 2)], degree, kind, "gelu", noise=noise, gate=0.6)
    box = [(-1.0, 1.0), (-0.5, 1.5), (0.0, 2.0)]
    certificate = ra.certify(unit, box, samples=64)
    ends = torch.tensor(box, dtype=torch.float64)
    x = ends[:, 0] + (ends[:, 1] - ends[:, 0]) * torch.rand(20000, 3, dtype=torch.float64)
    x[:64] = ends[:, 0] + (ends[:, 1] - ends[:, 0]) * torch.rand(64, 3).round()
    x.requires_grad_()
    twin = unit.double()
    value = twin(x)
    for n, record in enumerate(certificate.units):
        (slope,) = torch.autograd.grad(value[:, n].sum(), x, retain_graph=True)
        pair = slope[:, unit.pairs[:, n]]
        assert record.lipschitz >= pair.norm(dim=1).max() * (1 - ROUNDING)
        assert record.lipschitz <= 1.06 * record.attained
        for v in range(2):
            assert (
                record.slopes[v][0] <= pair[:, v].min() <= pair[:, v].max() <= record.slopes[v][1]
            )
        assert record.range[0] <= value[:, n].min() <= value[:, n].max() <= record.range[1]
        assert record.denominator_min <= twin.denominator_min(x)[n] * (1 + ROUNDING)


def test_heads_and_groups():
    torch.manual_seed(0)
    unit = ra.Rational1d(4, heads=3, groups=2, noise=0.5)
    certificate = ra.certify(unit, [(-1, 1), (0, 2), (-1, 1), (0, 2)])
    assert len(certificate.units) == 4
    x = torch.linspace(0, 1, 5001, dtype=torch.float64)[:, None] * 2 + torch.tensor(
        [-1.0, 0, -1, 0]
    )
    steep = np.abs(slopes_at(unit, x)[1]).max(0)
    for record, at in zip(certificate.units, steep, strict=True):
        assert at * (1 - ROUNDING) <= record.lipschitz <= 1.02 * at


def test_the_theorem_by_hand():
    unit = ra.Rational1d(1, (2, 2), gate=None, dtype=torch.float64)
    with torch.no_grad():
        unit.numerator.copy_(torch.tensor([[1.0], [-2.0], [0.5]]))
        unit.denominator.copy_(torch.tensor([[0.25], [-0.5]]))
    theorem = ra.certify(unit, [(-1, 2)]).units[0].theorem
    W_P, W_Q, S_0, S_1 = 3.5, 0.75, 1 + 2 + 4, 1 + 4
    assert pytest.approx((W_P, W_Q)) == (theorem.W_P, theorem.W_Q)
    assert pytest.approx((S_0, S_1, 5)) == (theorem.S_0, theorem.S_1, theorem.S_1_Q)
    paper = W_P * S_1 + W_P * S_0 * W_Q * 5
    assert theorem.lipschitz == pytest.approx(paper, rel=1e-4)  # d >= 1 + eps here
    assert theorem.lipschitz <= paper


@pytest.mark.parametrize("name", list(BASES))
def test_bases_stay_in_their_ranges(name):
    _check_curves(BASE[name], BASES[name].value, BASES[name].slope)


@pytest.mark.parametrize("name", KINDS)
def test_denominators_stay_in_their_ranges(name):
    _check_curves(PSI[name], DENOMINATORS[name].value, DENOMINATORS[name].slope)


def _check_curves(ranges, value, slope):
    rng = np.random.default_rng(0)
    low = rng.uniform(-6, 5, 300)
    high = low + 10 ** rng.uniform(-4, 1, 300)
    x = torch.tensor(low + (high - low) * np.linspace(0, 1, 301)[:, None])
    y = x.clone().requires_grad_()
    first = slope(y)
    (second,) = (
        torch.autograd.grad(first.sum(), y) if first.requires_grad else (torch.zeros_like(x),)
    )
    for span, at in zip(ranges, (value(x), slope(x), second), strict=True):
        found = span(Interval(low, high))
        at = at.detach().numpy()
        assert (found.low - 1e-14 <= at.min(0)).all()
        assert (found.high + 1e-14 >= at.max(0)).all()


def test_positivity_agrees_with_exact_root_counts():
    rng, x = np.random.default_rng(0), sympy.Symbol("x")
    for trial in range(100):
        degree = int(rng.integers(1, 9))
        rows = rng.normal(size=degree + 1) * rng.choice([1, 0.3, 0.1])
        rows[0] = 1
        if trial % 4 == 0:  # a double root, exactly
            root = float(rng.integers(-8, 9)) / 8
            rows = np.polynomial.polynomial.polymul([root**2, -2 * root, 1], [1, 0, 2])
        low = float(rng.uniform(-2, 0))
        high = low + float(rng.uniform(0.1, 3))
        powers = tuple((k,) for k in range(len(rows)))
        (found,) = positive_on(powers, [rows], np.array([[low]]), np.array([[high]]))
        exact = sympy.Poly([sympy.Rational(float(c)) for c in rows[::-1]], x)
        ends = sympy.Rational(low), sympy.Rational(high)
        truth = exact.count_roots(*ends) == 0 and exact.eval(ends[0]) > 0
        assert bool(found) == truth, (rows, low, high)
        assert found.verdict != "undecided"
        if found:
            assert 0 < found.bound <= np.polyval(rows[::-1], np.linspace(low, high, 999)).min()
        else:
            assert low <= found.point[0] <= high
            assert np.polyval(rows[::-1], found.point[0]) < 1e-7


def test_positivity_in_two_variables():
    powers = ((0, 0), (2, 0), (1, 1), (0, 2))
    box = np.array([[-1.0, -1.0]]), np.array([[1.0, 1.0]])
    (good,) = positive_on(powers, [[1.0, 1.0, -1.9, 1.0]], *box)
    assert good.verdict == "proved"
    (bad,) = positive_on(powers, [[1.0, -3.0, 0.0, 1.0]], *box)
    assert bad.verdict == "refuted"
    assert 1 - 3 * bad.point[0] ** 2 + bad.point[1] ** 2 <= 0
    (touch,) = positive_on(((0, 0), (1, 0), (2, 0), (0, 2)), [[0.09, -0.6, 1.0, 1.0]], *box)
    assert touch.verdict != "proved"  # zero at (0.3, 0) only, to rounding


def test_a_pole_is_reported_where_it_is():
    unit = ra.Rational1d(2, (1, 1), "polynomial", dtype=torch.float64)
    with torch.no_grad():
        unit.denominator.copy_(torch.tensor([[0.0, -2.0]]))
    with pytest.raises(
        PoleError, match=r"unit\[1\] is not positive at x = 0.5, .*choose a box"
    ) as found:
        ra.certify(unit, [(-1, 1)] * 2)
    assert found.value.point == pytest.approx((0.5,), abs=1e-15)
    assert ra.certify(unit, [(-1, 0.49)] * 2).denominator_min == pytest.approx(0.02, rel=0.02)
    pair = ra.Rational2d([(0, 1)], 1, "polynomial")
    with torch.no_grad():
        pair.denominator.fill_(-0.75)
    with pytest.raises(PoleError, match=r"pair\[0\].*\(u, v\)"):
        ra.certify(pair, [(-1, 1)] * 2)


@pytest.mark.parametrize(
    ("box", "message"),
    [
        ([], "box is empty"),
        ([(1, -1)] * 2, r"box\[0\] must have low < high, got \(1.0, -1.0\)"),
        ([(-1, 1), (2, 2)], r"box\[1\] must have low < high"),
        ([(-1, math.inf)] * 2, r"box\[0\] must be finite"),
        ([(-1, math.nan)] * 2, r"box\[0\] must be finite"),
        ([(-1, 1)], "box has 1 intervals for 2 inputs"),
        ([-1, 1], r"shape \(inputs, 2\), got \(2,\)"),
        ("box", "box must hold numbers"),
    ],
)
def test_bad_boxes(box, message):
    with pytest.raises(ValueError, match=message):
        ra.certify(ra.Rational1d(2), box)


def test_bad_models_and_options():
    unit = ra.Rational1d(2)
    with pytest.raises(ValueError, match="tolerance must lie between 0 and 1, got 2"):
        ra.certify(unit, [(-1, 1)] * 2, tolerance=2)
    with pytest.raises(ValueError, match="budget must be >= 1"):
        ra.certify(unit, [(-1, 1)] * 2, budget=0)
    with pytest.raises(TypeError, match="cannot certify Conv1d"):
        ra.certify(torch.nn.Conv1d(1, 1, 1), [(-1, 1)])
    with pytest.raises(TypeError, match="cannot certify int"):
        ra.certify(3, [(-1, 1)])
    with pytest.raises(ValueError, match="the pairs need 3"):
        ra.certify(ra.Rational2d([(0, 2)]), [(-1, 1)] * 2)
    with pytest.raises(ValueError, match="features on the last axis, got dim=1"):
        ra.certify(ra.Rational1d(2, dim=1), [(-1, 1)] * 2)
    with torch.no_grad():
        unit.numerator[1, 1] = math.inf
    with pytest.raises(ValueError, match=r"numerator\[1, 1\] is inf"):
        ra.certify(unit, [(-1, 1)] * 2)


def test_all_of_space_bounds_denominators_only():
    assert ra.certify(ra.RAN(3), None).denominator_min == pytest.approx(1 + 1e-6)
    assert ra.certify(ra.RAN(3, denominator="sos"), None).denominator_min == pytest.approx(1)
    assert ra.certify(ra.RAN(3), None).lipschitz == math.inf
    with pytest.raises(ValueError, match="polynomial.*give a box"):
        ra.certify(ra.Rational1d(2, denominator="polynomial"), None)


def test_huge_boxes_and_tiny_budgets_stay_sound():
    torch.manual_seed(0)
    unit = ra.Rational1d(3, (8, 8), noise=1.0)
    loose = ra.certify(unit, [(-1, 1)] * 3, budget=1)
    sharp = ra.certify(unit, [(-1, 1)] * 3)
    assert loose.lipschitz >= sharp.lipschitz * 0.99
    assert loose.lipschitz >= sharp.sampled
    far = ra.certify(unit, [(-1e60, 1e60)] * 3)
    assert far.lipschitz >= far.sampled
    assert not math.isnan(far.lipschitz)


def test_monotone_verdicts():
    unit = ra.Rational1d(3, (2, 1), gate=None, dtype=torch.float64)
    with torch.no_grad():
        unit.denominator.zero_()
        unit.numerator.copy_(torch.tensor([[0.0, 0, 0], [1, -1, 0], [0, 0, 1]]))
    rises, falls, both = ra.certify(unit, [(-1, 1)] * 3).monotone
    assert (rises.increasing, rises.decreasing) == ("proved", "refuted")
    assert (falls.increasing, falls.decreasing) == ("refuted", "proved")
    assert (both.increasing, both.decreasing) == ("refuted", "refuted")
    assert both.falls_at[2] < 0 < both.rises_at[2]


def test_other_objects_can_join():
    class Line:
        def certificate_bounds(self, box):
            return ModelBounds(range=((-2.0, 2.0),), slopes=(((2.0, 2.0), (-1.0, 1.0)),))

    found = ra.certify(Line(), [(-1, 1)] * 2)
    assert 5**0.5 <= found.lipschitz <= 2.2361
    assert [m.increasing for m in found.monotone] == ["proved", "undecided"]

    class Other:
        pass

    register_certifier(Other, lambda model, box, **options: found)
    assert ra.certify(Other(), None) is found


def test_kinks_of_abs_and_relu_are_sharp():
    torch.manual_seed(3)
    for options in ({"denominator": "abs"}, {"denominator": "square", "base": "relu"}):
        unit = ra.Rational2d([(0, 1), (1, 2), (0, 2)], 2, noise=0.7, gate=0.6, **options)
        for record in ra.certify(unit, [(-1, 1), (-0.5, 1.5), (0, 2)], samples=1).units:
            assert record.lipschitz <= 1.02 * record.attained
            assert record.cells < 4000


def test_powers_that_underflow_are_accounted_for():
    centre, radius = np.array([[1e-170, 1e70]]), np.array([[1e-180, 1e60]])
    found = Expansion.around(((2, 2),), np.ones((1, 1)), centre, radius).derivative((0, 0))
    assert (found.low <= 1e-200).all()
    assert (found.high >= 1e-200).all()


def test_a_thin_box_takes_few_cells():
    torch.manual_seed(0)
    unit = ra.Rational1d(3, (8, 8), noise=1.0)
    thin = ra.certify(unit, [(0.5, np.nextafter(0.5, 1))] * 3, samples=1)
    assert max(record.cells for record in thin.units) <= 4
    assert thin.lipschitz >= thin.sampled
