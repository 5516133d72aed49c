"""The paper's Lipschitz constant of a unit, with its parts.

K <= W_P S_1(m, B) + W_P S_0(m, B) W_Q S_1(n, B) for |x| <= B, W the sums of absolute coefficients
and S_0, S_1 the sums of B^i and of i B^(i-1) (theorem "Explicit Lipschitz Constant").
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from .._core.types import Array
from ..functional import Powers
from ..proofs import Interval
from ._cells import Bank
from ._curves import BASE, PSI, own

_UP = 1 + 1e-12  # all numbers here are sums of positive ones: this covers their rounding


@dataclass(frozen=True)
class Theorem:
    """The theorem's bound for one unit (the worst of its heads in each part).

    Args:
        W_P: sum of the absolute coefficients of the numerator.
        W_Q: the same of q.
        S_0: sum of the absolute monomials of the numerator on the box.
        S_1: sum of the absolute derivatives of these monomials.
        S_1_Q: sum of the absolute derivatives of the monomials of q.
        linear: W_P S_1 over the least denominator.
        interaction: W_P S_0 times the bound of |d'|, over the least denominator squared.
        lipschitz: the bound, with gate, base and heads.
    """

    W_P: float
    W_Q: float
    S_0: float
    S_1: float
    S_1_Q: float
    linear: float
    interaction: float
    lipschitz: float

    def to_dict(self) -> dict[str, float]:
        """Return the fields as a dictionary."""
        return asdict(self)


def theorem(bank: Bank, low: Array, high: Array) -> list[Theorem]:
    """Return the theorem's bound of each unit on boxes low to high, (units, variables)."""
    # NOTE[DIFF] The paper has softplus in one variable without gate. Other denominators bring the
    # slope of psi (2 |q| for squares) and, for `polynomial`, the least denominator; in two
    # variables S_1 is the sum over both partial derivatives. Beyond their reach units have the
    # slope of the base.
    most = np.maximum(np.abs(low), np.abs(high))  # (units, variables)
    reach = most if bank.form.reach is None else np.minimum(most, bank.form.reach)
    s0, s1 = _monomials(bank.form.numerator, reach), _slopes(bank.form.numerator, reach)
    wp = np.abs(bank.numerator).sum(2)  # (units, heads)
    wq = np.abs(bank.denominator).sum(2)
    floor = np.maximum(bank.floor, 0)[:, None]  # without a proved floor there is no bound
    slope = _denominator_slope(bank, reach)
    linear, interaction = wp * s1[:, None] / floor, wp * s0[:, None] * slope / floor**2
    lipschitz = (linear + interaction).sum(1)
    base = BASE[bank.form.base.name][1](Interval(-most.max(1), most.max(1))).most
    if bank.gate is not None:
        lipschitz = np.abs(bank.gate) * lipschitz + np.abs(1 - bank.gate) * base
    if bank.form.reach is not None:
        lipschitz = np.maximum(lipschitz, base)
    s1q = sum(_slopes(powers, reach) for powers in bank.form.denominator)
    parts = (wp.max(1), wq.max(1), s0, s1, s1q, linear.max(1), interaction.max(1), lipschitz)
    return [Theorem(*(float(v) for v in row * _UP)) for row in np.stack(parts, 1)]


def _denominator_slope(bank: Bank, reach: Array) -> Array:
    """Bound |d'| by sum of sup |psi'| W_Q S_1, (units, heads)."""
    result, done = np.zeros(bank.numerator.shape[:2]), 0
    for powers in bank.form.denominator:
        rows = np.abs(bank.denominator[:, :, done : done + len(powers)]).sum(2)
        done += len(powers)
        most = rows * _monomials(powers, reach)[:, None]  # of |q|
        outer: Array | float = 1.0  # |psi'| <= 1
        if bank.form.kind.name in ("square", "sos"):
            outer = 2 * most
        elif own(bank.form.kind.name):
            outer = PSI[bank.form.kind.name][1](Interval(-most * _UP, most * _UP)).known().most
        result += outer * rows * _slopes(powers, reach)[:, None]
    return result


def _monomials(powers: Powers, reach: Array) -> Array:
    rows = np.array(powers)
    result: Array = (reach[:, None] ** rows[None]).prod(2).sum(1)
    return result


def _slopes(powers: Powers, reach: Array) -> Array:
    rows = np.array(powers)
    result = np.zeros(len(reach))
    for v in range(rows.shape[1]):
        less = rows.copy()
        less[:, v] = np.maximum(less[:, v] - 1, 0)
        result += ((reach[:, None] ** less[None]).prod(2) * rows[None, :, v]).sum(1)
    return result
