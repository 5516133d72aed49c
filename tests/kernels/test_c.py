"""The C kernels next to torch's operations: the same numbers, whatever form, shape and machine."""

import contextlib
import functools
import itertools
import json
import os
import platform
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import mpmath as mp
import pytest
import torch
from torch.autograd import forward_ad

from rational_anova import RAN, DeepRAN, Rational1d, Rational2d, Topology, kernels
from rational_anova.functional import (
    BASES,
    DENOMINATORS,
    Form,
    apply,
    differentiate,
    evaluate,
    jacobian_buffer,
    unit_inputs,
    write_jacobian,
)
from rational_anova.functional._derivatives import over_batch
from rational_anova.functional._polynomial import moments
from rational_anova.kernels import _approximations, _build, _c
from tests.conftest import CASES, FEATURES, PAIRS, needs_compiler, scramble

ROOT = Path(__file__).parents[2]
SINGLE, DOUBLE = torch.float32, torch.float64
TOLERANCES = {SINGLE: 1e-6, DOUBLE: 1e-13}
NAMES = ("value", "x", "numerator", "denominator", "gate")
# Feature 0 is in four pairs, feature 5 in none, and (3, 0) has its inputs the other way round.
SIX = torch.tensor([[0, 0, 1, 3, 4], [1, 2, 2, 0, 0]])

pytestmark = needs_compiler
both_dtypes = pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=["float32", "float64"])
every_case = pytest.mark.parametrize(("kind", "base", "variables"), CASES)


# ---- numbers to compare, and what their errors are measured against ------------------------------


@dataclass
class Case:
    """A form with numbers for it."""

    form: Form
    x: torch.Tensor
    numerator: torch.Tensor
    denominator: torch.Tensor
    gate: torch.Tensor | None
    pairs: torch.Tensor | None
    grad: torch.Tensor  # of the value
    dim: int = -1

    def double(self):
        """The same numbers in float64."""
        names = ("x", "numerator", "denominator", "gate", "grad")
        parts = {name: getattr(self, name) for name in names}
        return replace(self, **{n: None if p is None else p.double() for n, p in parts.items()})

    def run(self, path, inputs=True):
        """Value, and gradients along x (if `inputs`), numerator, denominator and gate."""
        coefficients = (self.numerator, self.denominator, self.gate)
        x, *rest = (None if p is None else p.detach() for p in (self.x, *coefficients))
        with kernels.using(path):
            leaves = [p.requires_grad_() for p in rest if p is not None]
            y = apply(x.requires_grad_(inputs), *rest, self.pairs, self.form, self.dim)
            grads = torch.autograd.grad(y, [x, *leaves] if inputs else leaves, self.grad)
        return [y.detach(), *(() if inputs else (None,)), *grads]

    def sizes(self):
        """Sizes of the terms of all that `run` returns.

        A polynomial is as exact as the sum of the absolute values of its terms allows; a quotient
        has the relative errors of both of its parts; a function psi of q passes an error on times
        psi'(q), and its slope does so times psi''(q). Sums over rows add these up. So rounding
        errors are a small multiple of eps times these sizes, however much cancels.
        """
        form, units = self.form, self.numerator.shape[-1]
        x, numerator, denominator, gate, grad = (
            None if part is None else part.double()
            for part in (self.x, self.numerator, self.denominator, self.gate, self.grad)
        )
        variables = unit_inputs(x, self.pairs, units, self.dim, DOUBLE)
        shape = variables[0].shape
        weight = grad.reshape(shape).abs()
        share = 1.0 if gate is None else gate.abs()[:, None]
        tops, bottoms, ratio_size = [], [], 0.0
        slopes = [torch.zeros(shape, dtype=DOUBLE) for _ in variables]
        pick = functools.partial(_sizes_of_polynomial, [v.abs() for v in variables])
        sums = functools.partial(moments, variables=[v.abs() for v in variables], reduce=over_batch)
        heads = (c if c.dim() == 3 else c[None] for c in (numerator, denominator))
        for top, bottom in zip(*(c.unsqueeze(-1) for c in heads), strict=True):
            d, qs = form.denominators(variables, bottom)
            q_sizes = [
                pick(part, q) for part, q in zip(form.split(bottom), form.denominator, strict=True)
            ]
            curves = [_psi(form.kind.name, q) for q in qs]
            d_size = 1 + form.eps
            for (psi, slope, _), q_size in zip(curves, q_sizes, strict=True):
                d_size = d_size + psi.abs() + slope.abs() * q_size
            d, loss = d.abs(), d_size / d.abs()
            p = evaluate(top.unbind(0), form.numerator, variables)
            r = p.abs() / d
            r_size = pick(top.unbind(0), form.numerator) / d + r * loss
            ratio_size = ratio_size + r_size
            opened = weight * share / d
            tops.append(torch.stack(sums(opened * (1 + loss), form.numerator)))
            for axis, slope in enumerate(slopes):
                slope += opened * (1 + loss) * pick(top.unbind(0), form.numerator, axis)
            rows = []
            for (_, slope, curve), q_size, part, powers in zip(
                curves, q_sizes, form.split(bottom), form.denominator, strict=True
            ):
                slope_size = slope.abs() * (1 + loss) + curve.abs() * q_size
                along = opened * (r_size * slope.abs() + r * slope_size)
                rows += sums(along, powers)
                for axis, total in enumerate(slopes):
                    total += along * pick(part, powers, axis)
            bottoms.append(torch.stack(rows))
        value_size, gate_size = ratio_size, None
        if gate is not None:
            mean = sum(v.abs() for v in variables) / len(variables)
            base, base_slope = _sizes_of_base(form.base.name, mean)
            # What is added up is the ratio, the base and their difference.
            value_size = (1 + share) * (ratio_size + base)
            gate_size = over_batch(weight * (ratio_size + base).expand(shape))
            slopes = [s + weight * (1 + share) * base_slope for s in slopes]
        x_size = slopes[0].reshape(x.shape) if self.pairs is None else self._scatter(slopes)
        return [
            value_size.expand(shape).reshape(grad.shape),
            x_size,
            torch.stack(tops).reshape(numerator.shape),
            torch.stack(bottoms).reshape(denominator.shape),
            *(() if gate is None else (gate_size,)),
        ]

    def _scatter(self, slopes):
        result = torch.zeros(self.x.reshape(-1, self.x.shape[-1]).shape, dtype=DOUBLE)
        for column, slope in zip(self.pairs, slopes, strict=True):
            result = result.index_add(1, column, slope.squeeze(-1))
        return result.reshape(self.x.shape)


def _sizes_of_polynomial(absolute, coefficients, powers, axis=None):
    """Sum of the sizes of the terms, or of those of the derivative along an axis."""
    if axis is not None:
        coefficients, powers = differentiate(coefficients, powers, axis)
        if not powers:
            return 0.0
    return evaluate([c.abs() for c in coefficients], powers, absolute)


def _psi(kind, q):
    """Psi, psi' and psi''."""
    entry, zero = DENOMINATORS[kind], torch.zeros_like(q)
    share = torch.sigmoid(q)
    curve = {
        "softplus": share * (1 - share),
        "squareplus": 0.5 * (q * q + 1) ** -1.5,
        "square": 2 + zero,
        "sos": 2 + zero,
    }
    return entry.value(q), entry.slope(q), curve.get(kind, zero)


def _sizes_of_base(base, size):
    """Terms of a base and of its slope at inputs of a size: z Phi(z), 1 - tanh^2 and their like."""
    if base == "zero":
        return 0 * size, 0 * size
    return size, torch.ones_like(size)


def draw(
    variables=1, degrees=(3, 2), kind="softplus", base="gelu", shape=None, dtype=SINGLE,
    heads=1, gated=True, units=None, dim=-1, pairs=SIX, seed=0,
):  # fmt: skip
    """Random numbers of order one; those of `polynomial` small enough to keep off its poles."""
    random = torch.Generator().manual_seed(seed + 7 * degrees[0] + heads)
    form = Form.make(variables, degrees, kind, base, None)
    shape = shape or ((37, 13) if variables == 1 else (37, 6))
    units = units or (shape[dim] if variables == 1 else pairs.shape[1])
    below = sum(map(len, form.denominator))
    scale = 0.5 / below * 1.5 ** -degrees[1] if kind == "polynomial" else 0.6

    def numbers(*size):
        return torch.rand(size, generator=random, dtype=DOUBLE).mul(2).sub(1)

    lead = () if heads == 1 else (heads,)
    return Case(
        form,
        numbers(*shape).mul(1.5).to(dtype),
        numbers(*lead, len(form.numerator), units).to(dtype),
        numbers(*lead, below, units).mul(scale).to(dtype),
        numbers(units).mul(0.5).add(0.5).to(dtype) if gated else None,
        None if variables == 1 else pairs,
        numbers(*(shape if variables == 1 else (*shape[:-1], units))).to(dtype),
        dim,
    )


def agree(case, tolerance=None, got=None):
    """The C path is as exact as its dtype allows; returns what it computed."""
    got = case.run("c") if got is None else got
    want, sizes = case.double().run("torch"), case.sizes()
    tolerance = tolerance or TOLERANCES[case.numerator.dtype]
    for name, ours, theirs, size in zip(NAMES, got, want, sizes, strict=False):
        if ours is None:
            continue
        assert ours.shape == theirs.shape, name
        error = (ours.double() - theirs).abs()
        assert (error <= tolerance * size + 1e-300).all(), (name, (error / size).max().item())
    return got


def equal(one, other):
    """Whether two lists of tensors have the same bits (NaN is NaN)."""
    return len(one) == len(other) and all(
        (a is None and b is None) or torch.equal(a.nan_to_num(7e7), b.nan_to_num(7e7))
        for a, b in zip(one, other, strict=True)
    )


@contextlib.contextmanager
def threads(count):
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def lanes(dtype):
    """Numbers in a vector: the widest that there are, so that shapes beside it are odd for all."""
    return 64 // dtype.itemsize


# Shapes (..., features), units (None: one a feature) and axis, for each way to fill the lanes.
COLUMNS = [((5, 64), None, -1), ((9, 4, 49), None, -1), ((3, 700), None, -1), ((6, 96), 48, -1)]
ROWS = [((37, 13), None, -1), ((70, 3), None, -1), ((130, 6), 2, -1), ((3, 3, 5), None, 1)]
STRIPS = [((1, 300), 1, -1), ((77, 1), None, -1), ((2, 3, 17, 19), None, 1), ((2, 9000), 1, -1)]


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
@pytest.mark.parametrize("kind", DENOMINATORS)
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


# ---- shapes --------------------------------------------------------------------------------------


@both_dtypes
@pytest.mark.parametrize("way", [COLUMNS, ROWS, STRIPS], ids=["columns", "rows", "strips"])
def test_shapes_of_one_variable(way, dtype):
    width = lanes(dtype)
    shapes = list(way)
    for n in (width - 1, width, width + 1):
        if way is COLUMNS:
            shapes += [((3, 3 * width + n), None, -1), ((n, 3 * width), None, -1)]
            shapes += [((4 * n + 1, 4 * width), 2 * width, -1), ((n, 5, 2 * width), None, 1)]
        elif way is ROWS:
            shapes += [((n, 2), None, -1), ((4 * n, 5), None, -1), ((9, n), None, -1)]
            shapes += [((4 * n, 2, 3), None, 1)]
        else:
            shapes += [((n,), 1, -1), ((4 * n, 1), None, -1), ((3, 2, 16 * width + n), None, 1)]
            shapes += [((2, 8192 + n - width), 1, -1)]
    shapes += [((0, *shape[1:]), units, dim) for shape, units, dim in way if len(shape) > 1]
    for shape, units, dim in shapes:
        case = draw(1, (3, 2), "softplus", "silu", shape, dtype, units=units, dim=dim)
        got = agree(case)
        assert equal(case.run("c", inputs=False), [got[0], None, *got[2:]])
    for shape in ((), (1,), (5,), (0, 1), (1, 1), (5, 1), (2, 0, 3)):
        if shape:
            agree(draw(1, (2, 1), "sos", "relu", shape, dtype))


@both_dtypes
def test_shapes_of_pairs(dtype):
    width = lanes(dtype)
    rows = [0, 1, 5, 37, width - 1, width, width + 1, 4 * width - 1, 4 * width, 4 * width + 1, 700]
    for shape in [(n, 6) for n in rows] + [(6,), (2, 3, 6), (2, 0, 6)]:
        case = draw(2, (2, 2), "softplus", "gelu", shape, dtype)
        got = agree(case)
        assert equal(case.run("c", inputs=False), [got[0], None, *got[2:]])
    for count in (1, 255, 256, 257, 600):  # outputs are transposed 256 at a time
        index = torch.randint(0, 40, (2, count), generator=torch.manual_seed(count))
        agree(draw(2, (1, 1), "sos", "zero", (19, 40), dtype, pairs=index))


@pytest.mark.parametrize("axis", [1, -3])
def test_channels_of_images(axis):
    for shape in ((2, 6, 3, 5), (2, 6, 20, 21), (2, 12, 1, 1), (1, 64, 7, 7), (2, 6, 16, 16)):
        for units in (6, 2, 1) if shape[1] % 6 == 0 else (64, 8, 1):
            case = draw(1, (3, 2), "square", "relu", shape, units=units, dim=axis)
            case = replace(case, x=case.x.to(memory_format=torch.channels_last))
            agree(case)


# The library for one form alone is built for so many outputs.
LARGE = {
    "strips": (1, SINGLE, (65536, 1), None, -1),
    "columns": (1, SINGLE, (700, 101), None, -1),
    "rows": (1, SINGLE, (22000, 3), None, -1),
    "images": (1, SINGLE, (2, 8, 70, 71), None, 1),
    "pairs": (2, DOUBLE, (13200, 6), None, -1),
}


@pytest.mark.parametrize("name", LARGE)
def test_the_library_for_one_form_agrees(name, monkeypatch):
    variables, dtype, shape, units, dim = LARGE[name]
    opened = []
    inner = _c.load
    monkeypatch.setattr(_c, "load", lambda d, form=(): opened.append(form) or inner(d, form))
    case = draw(variables, (3, 2), "softplus", "gelu", shape, dtype, units=units, dim=dim)
    got = agree(case)
    assert any(opened)
    assert equal(case.run("c", inputs=False), [got[0], None, *got[2:]])
    opened.clear()
    monkeypatch.setattr(_c, "_OWN", 2**60)
    agree(case)
    assert not any(opened)


# ---- memory layout -------------------------------------------------------------------------------


def layouts(x):
    """The same numbers in other places: offset, stepped, transposed, reversed in memory."""
    spare = torch.full((x.numel() + 3,), 5.0, dtype=x.dtype)
    yield spare[3:].view(x.shape).copy_(x)
    yield torch.full((*x.shape, 2), 5.0, dtype=x.dtype)[..., 0].copy_(x)
    yield torch.full((3 * x.shape[0], *x.shape[1:]), 5.0, dtype=x.dtype)[::3].copy_(x)
    yield x.new_empty(x.shape[::-1]).permute(*range(x.dim() - 1, -1, -1)).copy_(x)


@both_dtypes
def test_layouts_in_memory_change_nothing(dtype):
    cases = [draw(1, dtype=dtype, shape=shape, units=u, dim=d) for shape, u, d in
             (COLUMNS[0], ROWS[0], STRIPS[2])]  # fmt: skip
    for case in [*cases, draw(2, dtype=dtype, heads=2)]:
        want = case.run("c")
        for name in ("x", "grad", "numerator", "denominator", "gate"):
            kept = getattr(case, name).clone()
            for other in layouts(kept):
                moved = replace(case, **{name: other})
                assert equal(moved.run("c"), want), name
                assert torch.equal(other, kept)
        if case.pairs is not None:
            turned = case.pairs.T.contiguous().T
            assert not turned.is_contiguous()
            assert equal(replace(case, pairs=turned).run("c"), want)


def test_expanded_tensors_change_nothing():
    for variables, shape in ((1, (40, 64)), (1, (40, 3)), (1, (300, 1)), (2, (40, 6))):
        case = draw(variables, shape=shape)
        for names in (("x",), ("grad",), ("x", "grad")):
            wide = {n: getattr(case, n)[:1].expand_as(getattr(case, n)) for n in names}
            full = {n: part.contiguous() for n, part in wide.items()}
            assert equal(replace(case, **wide).run("c"), replace(case, **full).run("c"))
        narrow = case.numerator[..., :1].expand_as(case.numerator)
        plain = replace(case, numerator=narrow.contiguous())
        assert equal(replace(case, numerator=narrow).run("c"), plain.run("c"))
    # One number for all gradients is what `sum().backward()` gives.
    case = draw(shape=(40, 64))
    flat = replace(case, grad=torch.ones(()).expand(40, 64))
    assert equal(flat.run("c"), replace(case, grad=torch.ones(40, 64)).run("c"))


def test_a_negated_view_is_read_with_its_sign():
    """Such views are what `imag` of a conjugated tensor is."""
    for name in ("x", "grad", "numerator", "gate"):
        case = draw(shape=(40, 64))
        view = torch._neg_view(getattr(case, name).neg())
        assert view.is_neg()
        assert equal(replace(case, **{name: view}).run("c"), case.run("c")), name


# ---- numbers that are not finite, or large -------------------------------------------------------


def pattern(tensor):
    """Where a tensor is not finite, and how."""
    return tensor.isnan(), tensor == torch.inf, tensor == -torch.inf


def same_pattern(case):
    """As by torch's operations; in float64, since oneDNN says NaN for gelu(inf) in float32."""
    for name, ours, theirs in zip(NAMES, case.run("c"), case.double().run("torch"), strict=False):
        for one, other in zip(pattern(ours), pattern(theirs), strict=True):
            assert torch.equal(one, other), (name, ours, theirs)


@pytest.mark.parametrize("special", [torch.nan, torch.inf, -torch.inf], ids=["nan", "inf", "-inf"])
@pytest.mark.parametrize("variables", [1, 2])
@pytest.mark.parametrize("kind", DENOMINATORS)
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


@pytest.mark.parametrize("kind", DENOMINATORS)
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


# ---- threads and processes -----------------------------------------------------------------------

# At least 2**15 outputs, which are shared among threads, and fewer than 2**16.
SHARED = {
    "columns": (1, (500, 100), None, -1),
    "rows": (1, (15001, 3), None, -1),
    "one strip": (1, (40001, 1), None, -1),
    "images": (1, (3, 7, 45, 45), None, 1),
    "pairs": (2, (8001, 6), None, -1),
}


@both_dtypes
@pytest.mark.parametrize("name", SHARED)
def test_the_same_bits_on_any_number_of_threads(name, dtype):
    variables, shape, units, dim = SHARED[name]
    case = draw(variables, shape=shape, dtype=dtype, units=units, dim=dim)
    one = case.run("c")
    for count in (2, 3):
        with threads(count):
            assert equal(case.run("c"), one)
            assert equal(case.run("c"), one)
            assert equal(case.run("c", inputs=False), [one[0], None, *one[2:]])
    assert equal(case.run("c"), one)


def sent_and_jacobian(dtype):
    pair = scramble(Rational2d(SIX.T.tolist(), 2, "sos", "gelu", dtype=dtype))
    x = torch.randn(8001, 6, dtype=dtype, generator=torch.manual_seed(1)).requires_grad_()
    readout = torch.linspace(-1, 1, 15, dtype=dtype).reshape(3, 5).requires_grad_()
    parts = pair.send(x, readout=readout)
    total = sum((part * part).sum() for part in parts)
    grads = torch.autograd.grad(total, [x, readout, *pair.parameters()])
    value, rows = pair.jacobian(x.detach())
    main = scramble(Rational1d(6, (3, 2), dtype=dtype))
    return [*parts, *grads, value, *rows.values(), *main.jacobian(x.detach())[1].values()]


@both_dtypes
def test_the_same_bits_of_messages_and_jacobians_on_two_threads(dtype):
    one = sent_and_jacobian(dtype)
    with threads(2):
        assert equal(sent_and_jacobian(dtype), one)


def test_the_same_bits_from_python_threads_at_once():
    cases = [draw(v, shape=s, units=u, dim=d, heads=2) for v, s, u, d in SHARED.values()]
    cases += [draw(1, (8, 8), "sos", shape=(9, 200)), draw(2, (4, 4), "square"), draw(1, (0, 1))]
    want = [case.run("c") for case in cases]
    for count in (1, 2):
        with threads(count), ThreadPoolExecutor(6) as pool:
            got = list(pool.map(lambda case: case.run("c"), cases * 4))
        assert all(equal(g, w) for g, w in zip(got, want * 4, strict=True))


FORK = """
import multiprocessing, os, sys, torch
sys.path.insert(0, ".")
from tests.kernels.test_c import SHARED, draw, equal

def results():
    return [draw(v, shape=s, units=u, dim=d).run("c") for v, s, u, d in SHARED.values()]

def child(queue, cases):
    got = [case.run("c") for case in cases]
    torch.set_num_threads(1)
    queue.put(all(equal(g, w) for g, w in zip(got, want, strict=True)))

torch.set_num_threads(2)
cases = [draw(v, shape=s, units=u, dim=d) for v, s, u, d in SHARED.values()]
want = [case.run("c") for case in cases]
context = multiprocessing.get_context("fork")
queue = context.SimpleQueue()
process = context.Process(target=child, args=(queue, cases))
process.start()
process.join(60)
assert process.exitcode == 0, process.exitcode
assert queue.get()
pid = os.fork()
if not pid:
    got = cases[0].run("c")
    torch.set_num_threads(1)
    os._exit(0 if equal(got, want[0]) else 1)
assert os.waitpid(pid, 0)[1] == 0
assert equal(cases[0].run("c"), want[0])
print("same")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_of_fork_computes_the_same():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK],
        cwd=ROOT, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.stdout.strip() == "same", done.stderr


# ---- building ------------------------------------------------------------------------------------

# Imports the package, then runs what it is sent, each in a child of its own: a fresh process
# without the seconds that an import takes. A request is one JSON line: [[code, environment], ...].
SERVER = """
import json, os, signal, sys, tempfile, traceback, warnings
import torch, rational_anova
torch.set_num_threads(1)
for line in sys.stdin:
    jobs = []
    for code, environment in json.loads(line):
        output = tempfile.TemporaryFile("w+")
        pid = os.fork()
        if not pid:
            signal.alarm(90)
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            os.environ.update(environment)
            status = 0
            try:
                exec(code, {})
            except BaseException:
                traceback.print_exc()
                status = 1
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        jobs.append((pid, output))
    replies = []
    for pid, output in jobs:
        status = os.waitpid(pid, 0)[1]
        output.seek(0)
        replies.append([status, output.read()])
    print(json.dumps(replies), flush=True)
"""
# What every child starts with: a way to count warnings, and a small unit.
PRELUDE = """
import json, sys, torch, warnings
import rational_anova
from rational_anova import Rational1d, kernels
warnings.simplefilter("always")

def work():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for dtype in (torch.float32, torch.float64, torch.float32):
            unit = Rational1d(3, dtype=dtype)
            y = unit(torch.ones(4, 3, dtype=dtype))
            y.sum().backward()
            assert y.isfinite().all()
        info = kernels.info()
    return {"warnings": [[w.category.__name__, str(w.message)] for w in caught], "info": info}
"""


@pytest.fixture(scope="module")
def fresh():
    """Run pieces of code at once, each in a process without kernels yet; return their output."""
    if not hasattr(os, "fork"):
        pytest.skip("no fork on this system")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("RAN_") and k != "CC"}
    server = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SERVER],
        cwd=ROOT, env=kept, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip

    def run(*jobs):
        pieces = [[PRELUDE + textwrap.dedent(code), env] for code, env in jobs]
        print(json.dumps(pieces), file=server.stdin, flush=True)
        replies = json.loads(server.stdout.readline())
        for status, text in replies:
            assert status == 0, text
        return [text for _, text in replies]

    yield run
    server.stdin.close()
    server.stdout.close()
    server.wait(30)


def working(fresh, **environment):
    """What `work` of the prelude returns with an environment."""
    return json.loads(fresh(("print(json.dumps(work()))", environment))[0])


def fell_back(found, *words):
    """One warning, and `info` names the reason, in these words."""
    assert [category for category, _ in found["warnings"]] == ["RuntimeWarning"], found
    assert found["info"]["cpu"] == "torch"
    for word in words:
        assert word in found["info"]["why"]["c"]
        assert word in found["warnings"][0][1]
    assert "RAN_KERNELS=torch" in found["warnings"][0][1]


def test_two_processes_build_at_once(fresh, tmp_path):
    folder = tmp_path / "new" / "cache"
    environment = {"RAN_CACHE": str(folder), "RAN_CFLAGS": "-O0"}
    code = "print(json.dumps(work()))"
    for text in fresh((code, environment), (code, environment)):
        found = json.loads(text)
        assert not found["warnings"]
        assert found["info"]["cpu"] == "c"
        assert found["info"]["cache"] == str(folder)
    kept = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert sorted(name[:13] for name in kept) == ["rational-f32-", "rational-f64-"]
    assert all(name.endswith(".so") for name in kept)
    # Later processes find them: nothing is built, so no compiler is run.
    assert working(fresh, **environment)["info"]["cpu"] == "c"
    assert kept == {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    # A library that is broken is built again.
    for name in kept:
        (folder / name).write_bytes(b"no library")
    found = working(fresh, **environment)
    assert found["info"]["cpu"] == "c"
    assert not found["warnings"]


def test_a_folder_that_cannot_be_written_to(fresh, tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file" / "below", tmp_path / "file", tmp_path / ("long" * 100)):
        found = working(fresh, RAN_CACHE=str(folder))
        fell_back(found, str(folder), "RAN_CACHE")


def test_a_user_without_a_home(fresh):
    """As in a container that runs under a number nobody has given a name."""
    code = """
        import os, pwd
        def nobody(number):
            raise KeyError(number)
        pwd.getpwuid = nobody
        for name in ("HOME", "XDG_CACHE_HOME"):
            os.environ.pop(name, None)
        print(json.dumps(work()))
    """
    fell_back(json.loads(fresh((code, {}))[0]), "RAN_CACHE")


def test_no_compiler(fresh, tmp_path):
    (tmp_path / "bin").mkdir()
    environment = {"CC": "/no/such/compiler", "PATH": str(tmp_path / "bin")}
    found = working(fresh, RAN_CACHE=str(tmp_path / "cache"), **environment)
    fell_back(found, "compiler")
    assert found["info"]["compiler"] is None


@pytest.mark.parametrize("script", ["exit 1", "echo 'x.c:1: error: no such thing' >&2; exit 3"])
def test_a_compiler_that_fails(fresh, tmp_path, script):
    compiler = tmp_path / "cc"
    compiler.write_text(f"#!/bin/sh\n{script}\n")
    compiler.chmod(0o755)
    found = working(fresh, RAN_CACHE=str(tmp_path / "cache"), CC=str(compiler))
    fell_back(found, str(compiler), *(("no such thing",) if "such" in script else ()))
    assert found["info"]["compiler"] == str(compiler)
    assert not list((tmp_path / "cache").iterdir())


def test_a_compiler_that_writes_nothing(fresh, tmp_path):
    """It says that all is well and leaves an empty file."""
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\nexit 0\n")
    compiler.chmod(0o755)
    fell_back(working(fresh, RAN_CACHE=str(tmp_path / "cache"), CC=str(compiler)), "cannot be")


def test_the_variable_is_respected(fresh, tmp_path):
    for choice in ("off", "torch"):
        found = working(fresh, RAN_KERNELS=choice, RAN_CACHE=str(tmp_path / "cache"))
        assert not found["warnings"]
        assert found["info"]["choice"] == choice
        assert found["info"]["cpu"] == "torch"
        assert choice in found["info"]["why"]["c"]
        assert not (tmp_path / "cache").exists()
    found = working(fresh, RAN_KERNELS="c", RAN_CACHE=str(_build.kernel_folder()))
    assert (found["info"]["choice"], found["info"]["cpu"]) == ("c", "c")
    assert not found["warnings"]
    code = """
        try:
            work()
        except ValueError as error:
            print(error)
    """
    text = fresh((code, {"RAN_KERNELS": "fortran"}))[0]
    assert "RAN_KERNELS" in text
    assert "fortran" in text
    assert all(choice in text for choice in ("auto", "off", "torch", "c", "triton"))


def test_choices_inside_a_program():
    with kernels.using("torch"):
        assert kernels.asked() == "torch"
        with kernels.using("c"):
            assert kernels.asked() == "c"
            assert kernels.info()["cpu"] == "c"
        assert kernels.asked() == "torch"
        assert kernels.info()["cpu"] == "torch"
    with pytest.raises(ValueError, match="choice.*fortran"), kernels.using("fortran"):
        pass
    keys = {"cache", "choice", "compiler", "cpu", "cuda", "threads", "why"}
    assert set(kernels.info()) == keys


def compare():
    """A short version of the comparisons above, for builds with other flags."""
    for kind, base in zip(itertools.cycle(DENOMINATORS), BASES, strict=False):
        for dtype in (SINGLE, DOUBLE):
            for shape, units, dim in (*COLUMNS, *ROWS, *STRIPS):
                agree(draw(1, (3, 2), kind, base, shape, dtype, units=units, dim=dim))
            agree(draw(2, (2, 2), kind, base, None, dtype, heads=2))
    for special in (torch.nan, torch.inf, -torch.inf):
        for kind in DENOMINATORS:
            for variables, base in ((1, "gelu"), (1, "tanh"), (2, "silu"), (2, "relu")):
                case = draw(variables, (2, 2), kind, base, (5, 6))
                case.x[1, 0] = special
                same_pattern(case)
    for base in ELEMENTARY:
        for dtype in (SINGLE, DOUBLE):
            elementary(base, dtype)
    network = scramble_all(RAN(4, 2, topology="all", heads=2, dtype=DOUBLE))
    jacobians_agree(network, torch.randn(70, 4, dtype=DOUBLE, generator=torch.manual_seed(0)))


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="flags of x86")
def test_narrower_vectors_agree(fresh, tmp_path):
    code = """
        sys.path.insert(0, ".")
        from tests.kernels import test_c
        assert kernels.info()["cpu"] == "c"
        test_c.compare()
        print("same")
    """
    flags = ("-mno-avx512f -mno-avx2 -mno-avx -mno-fma", "-mno-avx512f")
    jobs = [
        (code, {"RAN_CFLAGS": f"-O1 {each}", "RAN_CACHE": str(tmp_path / str(n))})
        for n, each in enumerate(flags)
    ]
    for text in fresh(*jobs):
        assert text.strip() == "same"


# ---- function transforms -------------------------------------------------------------------------


def scramble_all(network):
    for n, unit in enumerate(network.modules()):
        if isinstance(unit, Rational1d | Rational2d):
            scramble(unit, n, 0.3)
    return network


def models():
    options = {"dtype": DOUBLE}
    torch.manual_seed(0)
    deep = DeepRAN(4, 2, blocks=2, topology="all", base="gelu", **options)
    return {
        "1d": scramble(Rational1d(4, (3, 2), "softplus", "gelu", heads=2, **options)),
        "2d": scramble(Rational2d([(0, 1), (2, 3), (0, 3)], 2, "sos", "tanh", **options)),
        "deep": scramble_all(deep),
    }


def loss(model, parameters, x):
    y = torch.func.functional_call(model, parameters, x)
    return (y * y).sum() + y.sum()


def double_backward(model, parameters, x):
    leaves = [x.requires_grad_(), *parameters.values()]
    first = torch.autograd.grad(loss(model, parameters, x), leaves, create_graph=True)
    return torch.autograd.grad(sum((g * g).sum() for g in first), leaves)


def mapped(model, parameters, x):
    return torch.vmap(lambda row: torch.func.functional_call(model, parameters, row))(x)


def forward_mode(model, parameters, x):
    tangent = {name: torch.ones_like(p) for name, p in parameters.items()}
    call = functools.partial(loss, model)
    return torch.func.jvp(call, (parameters, x), (tangent, torch.ones_like(x)))


def mixed_mode(model, parameters, x):
    call = functools.partial(loss, model, parameters)
    outer = torch.func.jacrev(torch.func.jacfwd(call))(x[:2])
    return outer, torch.func.jacfwd(torch.func.jacrev(call))(x[:2])


def per_sample(model, parameters, x):
    single = functools.partial(loss, model)
    return torch.vmap(torch.func.grad(single), (None, 0))(parameters, x)


def batched_gradients(model, parameters, x):
    leaves = [x.requires_grad_(), *parameters.values()]
    y = torch.func.functional_call(model, parameters, x)
    rows = torch.eye(y.numel(), dtype=DOUBLE).reshape(-1, *y.shape)[:5]
    return torch.autograd.grad(y, leaves, rows, is_grads_batched=True)


def dual_gradient(model, parameters, x):
    """A tangent that comes in with the gradient, when the forward pass has long been done."""
    leaves = [x.requires_grad_(), *parameters.values()]
    y = torch.func.functional_call(model, parameters, x)
    with forward_ad.dual_level():
        top = forward_ad.make_dual(torch.ones_like(y), torch.full_like(y, 2.0))
        found = torch.autograd.grad(y, leaves, top)
        tangents = [forward_ad.unpack_dual(g).tangent for g in found]
        assert all(t is not None for t in tangents), "the tangent is lost"
        return [t.clone() for t in tangents]


def ensembles(model, parameters, x):
    stacked = {name: torch.stack([p, 0.5 * p]) for name, p in parameters.items()}
    call = functools.partial(torch.func.functional_call, model)
    return torch.vmap(call, (0, None))(stacked, x)


TRANSFORMS = (
    double_backward, mapped, forward_mode, mixed_mode, per_sample, batched_gradients,
    dual_gradient, ensembles,
)  # fmt: skip


@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", ["1d", "2d", "deep"])
def test_transforms_agree_with_plain_operations(name, transform):
    x = torch.randn(6, 4, dtype=DOUBLE, generator=torch.manual_seed(2))
    results = []
    for path in ("off", "c"):
        model = models()[name]
        parameters = {n: p.detach().clone().requires_grad_() for n, p in model.named_parameters()}
        with kernels.using(path):
            found = transform(model, parameters, x.clone())
        results.append(torch.utils._pytree.tree_leaves(found))
    for plain, ours in zip(*results, strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-10, atol=1e-10)
        assert ours.any()


# ---- messages ------------------------------------------------------------------------------------


def sent_plainly(pair, x, weight, readout):
    """`forward`, two `index_add` and a product, differentiated by torch."""
    with kernels.using("off"):
        messages = pair(x) if weight is None else pair(x) * weight
    sent = x.index_add(-1, pair.pairs[0], messages).index_add(-1, pair.pairs[1], messages)
    return [sent, messages, *(() if readout is None else (messages @ readout.T,))]


@both_dtypes
@pytest.mark.parametrize("base", ["zero", "gelu"])
@pytest.mark.parametrize("gate", [None, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [0, 1, 3])
def test_send_is_forward_and_index_add(base, gate, weighted, outputs, dtype):
    pair = scramble(Rational2d(SIX.T.tolist(), 2, "sos", base, gate=gate, heads=2, dtype=dtype))
    weight = torch.linspace(-1, 1, 5, dtype=dtype).requires_grad_() if weighted else None
    readout = None
    if outputs:
        readout = torch.linspace(-1, 2, 5 * outputs, dtype=dtype).reshape(outputs, 5)
        readout.requires_grad_()
    leaves = [*pair.parameters(), *(p for p in (weight, readout) if p is not None)]
    rtol = {SINGLE: 2e-5, DOUBLE: 1e-12}[dtype]
    for shape in ((6,), (0, 6), (1, 6), (67, 6), (2, 33, 7)):
        x = torch.randn(shape, dtype=dtype, generator=torch.manual_seed(4)).requires_grad_()
        want = sent_plainly(pair, x, weight, readout)
        tops = [torch.randn(part.shape, dtype=dtype) for part in want]
        for keep in (True, False):
            with kernels.using("c"):
                got = pair.send(x, weight, readout, keep)
            assert (got.messages is None) == (not keep)
            assert (got.read is None) == (not outputs)
            there = [n for n, part in enumerate(got) if part is not None]
            for n in there:
                torch.testing.assert_close(got[n], want[n], rtol=rtol, atol=rtol)
            for used in [*([n] for n in there), there]:
                ours, theirs = (
                    torch.autograd.grad(
                        [parts[n] for n in used],
                        [x, *leaves],
                        [tops[n] for n in used],
                        retain_graph=True,
                        materialize_grads=True,
                    )
                    for parts in (got, want)
                )
                for one, other in zip(ours, theirs, strict=True):
                    scale = rtol * (1 + other.abs().sum().item())
                    torch.testing.assert_close(one, other, rtol=rtol, atol=scale)


@pytest.mark.parametrize(("base", "gate"), [("zero", None), ("zero", 0.4), ("silu", 0.4)])
def test_send_by_finite_differences(base, gate):
    pair = scramble(Rational2d(PAIRS, 2, "softplus", base, gate=gate, dtype=DOUBLE))
    random = torch.manual_seed(3)
    x, weight, readout = (
        torch.randn(shape, dtype=DOUBLE, generator=random).requires_grad_()
        for shape in ((3, FEATURES), (2,), (2, 2))
    )
    names = [f"pair.{name}" for name, _ in pair.named_parameters()]
    parameters = [p.detach().requires_grad_() for p in pair.parameters()]

    class Sender(torch.nn.Module):
        def __init__(self, **options):
            super().__init__()
            self.pair, self.options = pair, options

        def forward(self, x, *others):
            found = self.pair.send(x, *others, **self.options)
            return tuple(part for part in found if part is not None)

    def sender(others, **options):
        def call(x, *rest):
            held = dict(zip(names, rest[others:], strict=True))
            return torch.func.functional_call(Sender(**options), held, (x, *rest[:others]))

        return call

    for others, options in (((), {}), ((), {"keep": False}), ((weight, readout), {"keep": False})):
        call, arguments = sender(len(others), **options), (x, *others, *parameters)
        with kernels.using("c"):
            torch.autograd.gradcheck(
                call, arguments, check_batched_grad=True, check_forward_ad=True
            )
            torch.autograd.gradgradcheck(call, arguments)


def test_a_deep_network_sends_by_the_kernel(monkeypatch):
    called = []
    inner = _c.send
    monkeypatch.setattr(_c, "send", lambda *a: called.append(1) or inner(*a))
    network = scramble_all(DeepRAN(4, 2, blocks=2, topology="all"))
    with kernels.using("c"):
        network(torch.randn(5, 4)).sum().backward()
    assert len(called) == 2


# ---- Jacobians -----------------------------------------------------------------------------------


def by_transform(network, x):
    parameters = {name: p.detach() for name, p in network.named_parameters()}

    def single(parameters, row):
        return torch.func.functional_call(network, parameters, (row[None],))[0]

    with kernels.using("off"):
        parts = torch.vmap(torch.func.jacrev(single), (None, 0))(parameters, x)
    return torch.cat([part.flatten(2) for part in parts.values()], -1)


def jacobians_agree(network, x):
    results = []
    for path in ("torch", "c"):
        with kernels.using(path):
            results.append(network.jacobian_matrix(x))
    (value, matrix), (ours, own) = results
    rtol = 1e-11 if own.dtype == DOUBLE else 2e-5
    torch.testing.assert_close(ours, value, rtol=rtol, atol=rtol)
    torch.testing.assert_close(own, matrix, rtol=rtol, atol=rtol)
    if len(x):
        torch.testing.assert_close(own, by_transform(network, x), rtol=rtol, atol=rtol)


@both_dtypes
@pytest.mark.parametrize("rows", [0, 1, 15, 64, 65, 200])
def test_jacobian_matrices_agree(rows, dtype):
    mains = Topology.of([(0, 3), (1, 2)], 5, mains=[0, 3])
    networks = [
        RAN(4, topology="all", dtype=dtype),
        RAN(4, 3, topology="all", heads=2, denominator="sos", base="gelu", dtype=dtype),
        RAN(5, 2, topology=mains, gate=None, denominator="square", dtype=dtype),
        RAN(1, 2, topology=0, dtype=dtype),
    ]
    for network in networks:
        x = torch.randn(rows, network.in_features, dtype=dtype, generator=torch.manual_seed(rows))
        jacobians_agree(scramble_all(network), x)


@both_dtypes
def test_write_jacobian_for_every_kind(dtype):
    for kind in DENOMINATORS:
        for variables, degrees, heads in ((1, (3, 2), 1), (1, (8, 8), 2), (2, (4, 4), 2)):
            case = draw(variables, degrees, kind, "tanh", (70, 6), dtype, heads)
            top, bottom = (
                c if c.dim() == 3 else c[None] for c in (case.numerator, case.denominator)
            )
            sizes = [top.numel(), bottom.numel(), case.gate.numel()]
            columns = [0, sizes[0], sizes[0] + sizes[1]]
            weights = torch.linspace(-1, 2, 3 * case.gate.numel(), dtype=dtype).reshape(3, -1)
            results = []
            for path in ("torch", "c"):
                buffer = jacobian_buffer(70, 3, sum(sizes), case.x)
                arguments = (case.x, top, bottom, case.gate, case.pairs, buffer, columns, weights)
                with kernels.using(path):
                    value = write_jacobian(case.form, *arguments)
                results.append((value, buffer[..., :70]))
            size = results[0][1].abs().amax(-1, keepdim=True)
            assert ((results[1][1] - results[0][1]).abs() <= TOLERANCES[dtype] * 20 * size).all()
            torch.testing.assert_close(results[1][0], results[0][0])


# ---- elementary functions ------------------------------------------------------------------------


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
