"""Variable projection for many starts at once: linear parameters solved, the others improved.

Golub and Pereyra (1973), with Kaufman's shorter Jacobian: for each set of nonlinear parameters the
linear ones follow by least squares, so that only the former are searched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._core.types import Array
from ._form import Form

_RANK = 1e-10  # a part that is this near to a combination of others counts as one
_ROUNDING = 1e-28  # of the sum of squares of y


@dataclass(frozen=True)
class Projected:
    """Sets of parameters, the best first.

    Attributes:
        theta: nonlinear parameters (starts, nonlinear).
        linear: (starts, linear).
        cost: weighted sums of squares (starts,).
    """

    theta: Array
    linear: Array
    cost: Array

    def values(self, form: Form, which: int = 0) -> Array:
        """One set in the order of the form's parameters."""
        found = dict(zip(form.nonlinear, self.theta[which], strict=True))
        found |= dict(zip(form.linear, self.linear[which], strict=True))
        return np.array([found[p] for p in form.parameters], dtype=float)


@dataclass
class _State:
    """Residuals and what the next step needs, for each start."""

    residual: Array  # (starts, rows)
    frame: Array  # orthonormal columns of the linear parts (starts, rows, linear)
    linear: Array
    cost: Array


def screened(form: Form, X: Array, y: Array, root: Array, theta: Array, keep: int) -> Projected:
    """The best of many starts, no two alike, without a step from any."""
    with np.errstate(all="ignore"):
        state = _projected(form, X, y, root, theta)
    order = np.argsort(state.cost, kind="stable")
    order = order[np.isfinite(state.cost[order])]
    kept: list[int] = []
    for i in order:
        if len(kept) == keep:
            break
        if not any(_alike(theta[i], theta[j]) for j in kept[-12:]):
            kept.append(int(i))
    return Projected(theta[kept], state.linear[kept], state.cost[kept])


def improved(
    form: Form, X: Array, y: Array, root: Array, theta: Array, steps: int = 30, rough: bool = False
) -> Projected:
    """Damped Gauss-Newton from every start, the best first.

    Args:
        form: what is fitted.
        X: (rows, inputs).
        y: (rows,).
        root: roots of the weights (rows,).
        theta: starts (starts, nonlinear).
        steps: at most.
        rough: whether slopes are found by differences, which need no derivative of the formula.
    """
    low, high = form.limits(form.nonlinear)
    theta = np.clip(theta, low, high)
    with np.errstate(all="ignore"):  # a start without a value is but a bad start
        state = _projected(form, X, y, root, theta)
        if form.nonlinear:
            floor = _ROUNDING * float(np.sum((root * y) ** 2))
            _descend(form, X, y, root, theta, state, steps, floor, rough)
    order = _order(state.cost, theta)
    return Projected(theta[order], state.linear[order], state.cost[order])


def _order(cost: Array, theta: Array) -> Array:
    """The best first; of those that are as good to rounding, the one with the smallest numbers.

    On rows at even steps a fast wave goes through the same points as a slow one.
    """
    order = np.argsort(cost, kind="stable")
    order = order[np.isfinite(cost[order])]
    if not len(order) or not theta.shape[1]:
        return order
    level = cost[order] <= cost[order[0]] * (1 + 1e-6) + 1e-300
    first = order[level]
    return np.r_[first[np.argsort(np.abs(theta[first]).max(1), kind="stable")], order[~level]]


def _descend(
    form: Form,
    X: Array,
    y: Array,
    root: Array,
    theta: Array,
    state: _State,
    steps: int,
    floor: float,
    rough: bool,
) -> None:
    """Improve `theta` and `state` in place."""
    low, high = form.limits(form.nonlinear)
    damping = np.full(len(theta), 1e-2)
    active = np.flatnonzero(np.isfinite(state.cost) & (state.cost > floor))
    for _ in range(steps):
        if not len(active):
            return
        J = _slopes(form, X, root, theta[active], state, active, rough)
        step = _steps(J, state.residual[active], damping[active])
        trial = np.clip(theta[active] + step, low, high)
        new = _projected(form, X, y, root, trial)
        old = state.cost[active]
        better = new.cost < old
        won = active[better]
        gain = np.where(better, 1 - new.cost / np.maximum(old, 1e-300), 0.0)
        theta[won] = trial[better]
        for name in ("residual", "frame", "linear", "cost"):
            getattr(state, name)[won] = getattr(new, name)[better]
        damping[active] = np.where(better, damping[active] / 8, damping[active] * 6)
        damping = np.maximum(damping, 1e-12)
        moving = (better & (gain > 1e-10)) | (~better & (damping[active] < 1e6))
        active = active[moving & (state.cost[active] > floor)]


def _projected(form: Form, X: Array, y: Array, root: Array, theta: Array) -> _State:
    basis = form.basis(X, theta)
    whole = root * (y - basis[0])  # (starts, rows)
    A = np.moveaxis(basis[1:], 0, 2) * root[:, None]
    usable = np.isfinite(A).all((1, 2)) & np.isfinite(whole).all(1)
    A = np.where(usable[:, None, None], A, 0.0)
    whole = np.where(usable[:, None], whole, 0.0)
    norms = np.linalg.norm(A, axis=1)
    norms[norms == 0] = 1.0
    if A.shape[2]:
        Q, R = np.linalg.qr(A / norms[:, None, :])
        sure = np.abs(np.diagonal(R, axis1=1, axis2=2)) > _RANK
        Q = Q * sure[:, None, :]
        image = np.einsum("snk,sn->sk", Q, whole)
        linear = _back(R, image, sure) / norms
        residual = whole - np.einsum("snk,sk->sn", Q, image)
    else:
        Q, linear, residual = A, np.zeros((len(theta), 0)), whole
    cost = np.einsum("sn,sn->s", residual, residual)
    return _State(residual, Q, linear, np.where(usable & np.isfinite(cost), cost, np.inf))


def _back(R: Array, image: Array, sure: Array) -> Array:
    """Solve R c = image for each start; parts that say nothing new get zero."""
    size = R.shape[1]
    R = np.where(sure[:, :, None], R, np.eye(size))
    R = np.where(sure[:, None, :] | np.eye(size, dtype=bool), R, 0.0)
    return np.asarray(np.linalg.solve(R, (image * sure)[..., None])[..., 0])


def _slopes(
    form: Form, X: Array, root: Array, theta: Array, state: _State, active: Array, rough: bool
) -> Array:
    """Slopes of what the formula says in the nonlinear parameters, projected."""
    count, rest = len(form.nonlinear), 1 + len(form.linear)
    if rough:
        raw = form.rough_slopes(X, theta, form.basis(X, theta))
    else:
        raw = form.basis_slopes(X, theta)
    raw = raw.reshape(count, rest, len(theta), len(X))
    linear = np.concatenate([np.ones((len(theta), 1)), state.linear[active]], 1)
    J = np.einsum("qlsn,sl->snq", raw, linear) * root[:, None]
    J = np.nan_to_num(J, nan=0.0, posinf=0.0, neginf=0.0)
    Q = state.frame[active]
    return np.asarray(J - Q @ (np.swapaxes(Q, 1, 2) @ J))


def _steps(J: Array, residual: Array, damping: Array) -> Array:
    gram = np.swapaxes(J, 1, 2) @ J
    size = np.sqrt(np.maximum(np.einsum("sii->si", gram), 1e-300))
    gram = gram / (size[:, :, None] * size[:, None, :])
    eye = np.eye(J.shape[2])
    system = gram + (damping[:, None, None] + 1e-13) * eye
    right = np.einsum("snq,sn->sq", J, residual) / size
    step = np.linalg.solve(system, right[..., None])[..., 0] / size
    return np.asarray(np.nan_to_num(step, nan=0.0, posinf=0.0, neginf=0.0))


def _alike(a: Array, b: Array) -> bool:
    return bool(np.all(np.abs(a - b) <= 0.02 * (np.abs(a) + np.abs(b))))
