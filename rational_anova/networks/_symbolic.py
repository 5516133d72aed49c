"""`symbolic_formula`: the network as a formula, with exact numbers, checked against the network."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
import torch
from torch import Tensor

from ..functional import Powers
from ..symbols import numeric, with_softplus
from ..tables import read_tensor
from ..units import RationalUnit
from ._coefficients import exact_numbers, lookup
from ._effects import inputs_of

if TYPE_CHECKING:
    from ._ran import RAN


_OPERATIONS = 200  # of a fraction that is cancelled
_SUM = 120  # of a sum that is brought to one fraction
_FRACTIONS = 3  # that such a sum may have
_DIGITS = 60  # of all integers in it: cancelling multiplies them


def simplified(weights: Sequence[Any], terms: Sequence[Sequence[sympy.Expr]]) -> sympy.Expr:
    """Return sum of weight * term, tidied up.

    Args:
        weights: one number for each term.
        terms: each term as its summands.
    """
    numerators: dict[Any, Any] = {}
    for weight, parts in zip(weights, terms, strict=True):
        for part in parts:
            top, bottom = _fraction(weight * part)
            numerators[bottom] = numerators.get(bottom, sympy.Integer(0)) + top
    fractions = [_tidy(sympy.expand(top), bottom) for bottom, top in numerators.items() if top != 0]
    total: sympy.Expr = sympy.Add(*fractions)
    return min(_whole(total, len(fractions)), key=lambda form: sympy.count_ops(form, visual=False))


def _fraction(part: Any) -> tuple[Any, Any]:
    """Return numerator and denominator, both expanded, without common factors where exact."""
    top, bottom = sympy.fraction(part)
    polynomial = bottom.is_polynomial(*bottom.free_symbols)
    if not polynomial:
        return sympy.expand(top), bottom
    top, bottom = sympy.expand(top), sympy.expand(bottom)
    if _exact(part) and sympy.count_ops(part) <= _OPERATIONS:
        top, bottom = sympy.fraction(sympy.cancel(top / bottom))
        top, bottom = sympy.expand(top), sympy.expand(bottom)
    if bottom.is_number:
        return sympy.expand(top / bottom), sympy.Integer(1)
    return top, bottom


def _tidy(top: Any, bottom: Any) -> Any:
    if bottom == 1:
        return top
    whole = top / bottom
    if _exact(whole) and sympy.count_ops(whole) <= _OPERATIONS:
        short = sympy.factor_terms(sympy.cancel(whole))
        return short if sympy.count_ops(short) <= sympy.count_ops(whole) else whole
    return whole


def _whole(total: sympy.Expr, fractions: int) -> list[sympy.Expr]:
    """Return forms of the whole sum, the sum itself first."""
    digits = sum(len(str(n.p)) + len(str(n.q)) for n in total.atoms(sympy.Rational))
    forms = [total]
    if (
        _exact(total)
        and sympy.count_ops(total) <= _SUM
        and fractions <= _FRACTIONS
        and digits <= _DIGITS
        and total.is_rational_function(*total.free_symbols)
    ):
        forms.append(sympy.factor_terms(sympy.cancel(total)))
        forms.append(sympy.factor(total))
    return forms


def _exact(expression: Any) -> bool:
    return not expression.has(sympy.Float)


_AGREE = 1e-10  # of the largest value
_PROBES = 256  # random points where there are no data
_WHOLE = 2**53  # integers up to here are floats

Find = Callable[[str, tuple[int, ...]], Any]


def symbolic_formula(
    model: RAN, X: Any, simplify: bool, names: Any
) -> sympy.Expr | list[sympy.Expr]:
    """See `RAN.symbolic_formula`."""
    inputs = inputs_of(model, X, names)
    if X is None:
        generator = torch.Generator().manual_seed(0)
        rows = torch.rand(_PROBES, model.in_features, generator=generator, dtype=torch.float64)
        rows = 4 * rows - 2
    else:
        rows = read_tensor(X, model.in_features)
    truth = _reference(model, rows)
    result = []
    for output, (weights, terms) in enumerate(_outputs(model, inputs)):
        plain = sympy.Add(*(w * part for w, parts in zip(weights, terms, strict=True)
                            for part in parts))  # fmt: skip
        formula = simplified(weights, terms) if simplify else plain
        if formula != plain and _gap(formula, inputs, rows, truth[:, output]) > _AGREE:
            formula = plain
        gap = _gap(formula, inputs, rows, truth[:, output])
        if gap > _AGREE:
            raise ArithmeticError(
                f"formula and network differ by {gap:.1e} of the largest value, more than "
                f"{_AGREE:.0e}: on these rows rounding decides, for instance near a pole; "
                "give X where the network is well behaved, or scale the inputs"
            )
        result.append(formula)
    return result[0] if len(result) == 1 else result


def _outputs(
    model: RAN, inputs: Sequence[sympy.Symbol]
) -> list[tuple[list[Any], list[list[sympy.Expr]]]]:
    """Return for each output the weights of its terms, and each term as a list of summands."""
    find = lookup(model)
    terms: list[list[sympy.Expr]] = []
    if model.main is not None:
        for n, i in enumerate(model.topology.mains):
            terms.append(_term(model.main, "main", n, [inputs[i]], find))
    if model.pair is not None:
        for n, (i, j) in enumerate(model.topology.pairs):
            terms.append(_term(model.pair, "pair", n, [inputs[i], inputs[j]], find))
    if model.head is None:
        return [([sympy.Integer(1)] * len(terms), terms)]
    return [
        (
            [*(find("head.weight", (output, n)) for n in range(len(terms))), sympy.Integer(1)],
            [*terms, [find("head.bias", (output,))]],
        )
        for output in range(model.out_features)
    ]


def _term(
    unit: RationalUnit, bank: str, n: int, inputs: Sequence[Any], find: Find
) -> list[sympy.Expr]:
    """Return r = (1 - gate) b + gate * sum of p/d as its summands."""
    form = unit.form
    gate = sympy.Integer(1) if unit.gate is None else find(f"{bank}.gate", (n,))
    summands = []
    for head in range(unit.heads):
        lead = () if unit.heads == 1 else (head,)

        def row(
            part: str, powers: Powers, first: int = 0, lead: tuple[int, ...] = lead
        ) -> sympy.Expr:
            total: Any = sympy.Integer(0)
            for k, exponents in enumerate(powers):
                factor = find(f"{bank}.{part}", (*lead, first + k, n))
                for x, power in zip(inputs, exponents, strict=True):
                    factor = factor * x**power
                total += factor
            return total

        d: Any = sympy.Integer(1) + (sympy.Float(form.eps) if form.eps else 0)
        starts = itertools.accumulate(map(len, form.denominator), initial=0)
        for powers, first in zip(form.denominator, starts, strict=False):
            d += form.kind.expression(row("denominator", powers, first))
        summands.append(gate * row("numerator", form.numerator) / d)
    if unit.gate is not None and gate != 1:
        mean = sum(inputs, start=sympy.Integer(0)) / len(inputs)
        summands.append((1 - gate) * form.base.expression(mean))
    return summands


@torch.no_grad()
def _reference(model: RAN, rows: Tensor) -> np.ndarray:
    """Return what the network computes in float64, its exact numbers to full precision."""
    twin = copy.deepcopy(model).double().cpu()
    parameters = dict(twin.named_parameters())
    for each, exact in exact_numbers(model):
        parameters[each.parameter][each.place] = float(exact)
    result: np.ndarray = twin(rows).numpy()
    return result


def _gap(
    formula: sympy.Expr, inputs: Sequence[sympy.Symbol], rows: Tensor, truth: np.ndarray
) -> float:
    """Return the largest difference between formula and network over the largest value."""
    # Fractions and large integers as floats, else NumPy would compute in Python's integers.
    floats = {
        n: sympy.Float(n, 17)
        for n in formula.atoms(sympy.Rational)
        if (n.q != 1 and n.q != 2) or abs(n.p) > _WHOLE
    }
    # log(1 + exp(q)) as the network computes it, since exp overflows.
    stable = with_softplus(formula.xreplace(floats))
    modules = [{"softplus": lambda q: np.logaddexp(0.0, q)}, "scipy", "numpy"]
    function = numeric([inputs], stable, modules)
    with np.errstate(all="ignore"):
        found = np.broadcast_to(function(rows.numpy().T), truth.shape).astype(np.float64)
    good = np.isfinite(truth)
    largest = np.abs(truth[good]).max(initial=0.0)
    gap = np.abs(found[good] - truth[good]).max(initial=0.0)
    gap = np.inf if np.isnan(gap) else gap
    return float(gap / largest) if largest > 0 else float(gap)
