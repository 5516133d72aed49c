"""Numbers for the C kernels to work on, and how exact their answers can be."""

import contextlib
import functools
from dataclasses import dataclass, replace

import pytest
import torch

from rational_anova import kernels
from rational_anova.functional import (
    DENOMINATORS,
    Form,
    apply,
    differentiate,
    evaluate,
    unit_inputs,
)
from rational_anova.functional._derivatives import over_batch
from rational_anova.functional._polynomial import moments
from tests.conftest import CASES, kind_and_constant

SINGLE, DOUBLE = torch.float32, torch.float64
TOLERANCES = {SINGLE: 1e-6, DOUBLE: 1e-13}
NAMES = ("value", "x", "numerator", "denominator", "gate")
# Feature 0 is in four pairs, feature 5 in none, and (3, 0) has its inputs the other way round.
SIX = torch.tensor([[0, 0, 1, 3, 4], [1, 2, 2, 0, 0]])

both_dtypes = pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=["float32", "float64"])
every_case = pytest.mark.parametrize(("kind", "base", "variables"), CASES)


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
    kind, constant = kind_and_constant(kind)
    form = Form.make(variables, degrees, kind, base, None, constant)
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


def pattern(tensor):
    """Where a tensor is not finite, and how."""
    return tensor.isnan(), tensor == torch.inf, tensor == -torch.inf


def same_pattern(case):
    """As by torch's operations; in float64, since oneDNN says NaN for gelu(inf) in float32."""
    for name, ours, theirs in zip(NAMES, case.run("c"), case.double().run("torch"), strict=False):
        for one, other in zip(pattern(ours), pattern(theirs), strict=True):
            assert torch.equal(one, other), (name, ours, theirs)


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
