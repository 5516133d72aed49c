"""The C kernels next to torch's operations: the same numbers, whatever the form and its numbers."""

from dataclasses import replace

import pytest
import torch

from rational_anova import kernels
from rational_anova.functional import (
    BASES,
)
from rational_anova.kernels import _c
from tests.conftest import KINDS, needs_compiler
from tests.kernels.cases import (
    COLUMNS,
    DOUBLE,
    NAMES,
    ROWS,
    SINGLE,
    STRIPS,
    agree,
    both_dtypes,
    draw,
    equal,
    every_case,
    same_pattern,
)

pytestmark = needs_compiler

# ---- all paths agree -----------------------------------------------------------------------------


def test_the_c_kernels_run(monkeypatch):
    called = []
    for name in ("forward", "backward"):
        inner = getattr(_c, name)
        monkeypatch.setattr(_c, name, lambda *a, f=inner, n=name: called.append(n) or f(*a))
    draw().run("c")
    assert called == ["forward", "backward"]
    for path in ("off", "torch"):
        draw().run(path)
    assert len(called) == 2
    with kernels.using("auto"):
        assert kernels.info()["cpu"] == "c"


@every_case
def test_every_kind_and_base(kind, base, variables):
    ways = [COLUMNS[0], ROWS[0], STRIPS[0]] if variables == 1 else [(None, None, -1)]
    for shape, units, dim in ways:
        for dtype in (SINGLE, DOUBLE):
            agree(draw(variables, (3, 2), kind, base, shape, dtype, units=units, dim=dim))


@both_dtypes
@pytest.mark.parametrize("kind", KINDS)
def test_degrees_heads_and_gates(kind, dtype):
    forms = [(1, degrees) for degrees in ((0, 1), (3, 2), (8, 8), (1, 5))]
    forms += [(2, (degree, degree)) for degree in (1, 2, 4, 8)] + [(2, (0, 3)), (2, (3, 1))]
    for variables, degrees in forms:
        for heads, gated in ((1, True), (3, True), (3, False)):
            base = "tanh" if heads == 1 else "mean"
            agree(draw(variables, degrees, kind, base, None, dtype, heads, gated))
            if variables == 1:
                agree(draw(1, degrees, kind, base, (5, 64), dtype, heads, gated))
                agree(draw(1, degrees, kind, base, (80, 1), dtype, heads, gated))


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_half_precision_goes_through_float32(half):
    for variables in (1, 2):
        case = draw(variables, shape=(50, 6), heads=2)
        case = replace(case, x=case.x.to(half), grad=case.grad.to(half))
        single = replace(case, x=case.x.float(), grad=case.grad.float())
        got, want = case.run("c"), single.run("c")
        assert [g.dtype for g in got] == [half, half, SINGLE, SINGLE, SINGLE]
        assert equal(got, [want[0].to(half), want[1].to(half), *want[2:]])
        agree(single, got=want)
        coefficients = {n: getattr(case, n).to(half) for n in ("numerator", "denominator", "gate")}
        assert all(g.dtype == half for g in replace(case, **coefficients).run("c"))


def test_mixed_dtypes_are_computed_in_the_widest():
    case = draw(shape=(9, 64))
    wide = case.double()
    got = replace(case, numerator=case.numerator.double()).run("c")
    assert [g.dtype for g in got] == [SINGLE, SINGLE, DOUBLE, SINGLE, SINGLE]
    assert equal(got, [g.to(t.dtype) for g, t in zip(wide.run("c"), got, strict=True)])


def test_powers_above_the_kernels_are_served_by_torch():
    agree(draw(1, (9, 2)))
    agree(draw(1, (2, 9), "sos"))
    agree(draw(2, (9, 1)))


# ---- numbers that are not finite, or large -------------------------------------------------------


@pytest.mark.parametrize("special", [torch.nan, torch.inf, -torch.inf], ids=["nan", "inf", "-inf"])
@pytest.mark.parametrize("variables", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_finite_propagates_as_in_torch(kind, variables, special):
    for base in BASES:
        for degrees in ((3, 2), (0, 1), (2, 3)) if variables == 1 else ((2, 2), (0, 1), (1, 3)):
            for gated in (True, False):
                for shape in ((5, 6), (4, 65), (301, 1)) if variables == 1 else ((5, 6),):
                    case = draw(variables, degrees, kind, base, shape, gated=gated)
                    case.x[1, 0] = special
                    if shape[1] > 1:
                        case.x[2, 1:3] = torch.tensor([special, -special])
                    same_pattern(case)


@pytest.mark.parametrize("kind", KINDS)
def test_denominators_that_overflow_leave_no_nan_of_their_own(kind):
    """Where d is infinite and p is not, r is zero; kernels are finite wherever torch is."""
    for variables, degrees in ((1, (1, 2)), (1, (2, 8)), (1, (0, 4)), (2, (1, 3))):
        case = draw(variables, degrees, kind, "zero", (9, 6))
        case = replace(case, x=case.x.sign() * 10.0 ** (40 / degrees[1]))
        for name, ours, theirs in zip(NAMES, case.run("c"), case.run("torch"), strict=True):
            assert (ours.isfinite() | ~theirs.isfinite()).all(), name


def test_what_is_not_finite_in_one_unit_stays_there():
    for special in (torch.nan, torch.inf):
        for name in ("numerator", "denominator", "gate"):
            for shape, dim in (((9, 64), -1), ((9, 5), -1), ((2, 5, 300), 1)):
                case = draw(1, shape=shape, dim=dim)
                getattr(case, name)[..., 2] = special
                y, x, *rest = case.run("c")
                for part, axis in ((y, dim), (x, dim), *((part, -1) for part in rest)):
                    others = [n for n in range(part.shape[axis]) if n != 2]
                    assert part.index_select(axis, torch.tensor(others)).isfinite().all()
                assert y.select(dim, 2).isnan().any() or special == torch.inf
            case = draw(2)
            getattr(case, name)[..., 2] = special
            y, x, *rest = case.run("c")
            for part in (y, *rest):
                assert part[..., [0, 1, 3, 4]].isfinite().all()
            assert x[:, [0, 3, 4, 5]].isfinite().all()  # pair 2 is of features 1 and 2


@every_case
def test_float32_to_1e8_is_as_exact_as_anywhere(kind, base, variables):
    case = draw(variables, (3, 2) if variables == 1 else (2, 2), kind, base, (34, 6), seed=3)
    size = torch.logspace(-8, 8, 17).repeat_interleave(2)[:, None]
    for factor in (1.0, -1.0):
        case.x.copy_(case.x.sign() * size * torch.tensor([1.0, 0.5, 0.25, 1.0, 0.3, 0.7]) * factor)
        sizes, want = case.sizes(), case.double().run("torch")
        for name, ours, theirs, scale in zip(NAMES, case.run("c"), want, sizes, strict=False):
            error = (ours.double() - theirs).abs()
            # float32 has nothing below 1e-38 and nothing above 3e38
            assert ((error <= 1e-6 * scale + 1e-37) | (theirs.abs() > 1e38)).all(), name
