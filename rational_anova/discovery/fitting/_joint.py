"""Damped least squares for several experiments: numbers of a group's own beside shared ones.

Only the rows of a group depend on its own numbers, so the normal equations have the shape of an
arrow: small blocks, one for each group, and a border of what is shared. They are solved group by
group (Schur complement), whose cost grows with the number of groups and not with its cube.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._core.types import Array
from ._fit import CONSTANT, GIVEN, LOG_NORMAL, Fit, NoiseShape, Rows, deviations, evaluated_fit
from ._form import Form

_NOTHING = np.zeros(0)
_TINY = 1e-13  # what a scaled block needs on its diagonal to be solved


@dataclass(frozen=True, eq=False)
class Experiments:
    """Rows of several groups.

    Args:
        form: of all groups.
        rows: those of one group next to each other.
        index: which group a row belongs to, rising from 0 (rows,).
        noise: the model of the noise.
    """

    form: Form
    rows: Rows
    index: Array
    noise: NoiseShape

    @cached_property
    def begins(self) -> Array:
        """First row of each group."""
        return np.flatnonzero(np.diff(self.index, prepend=-1))

    @property
    def count(self) -> int:
        """How many groups."""
        return len(self.begins)

    @cached_property
    def wide(self) -> Form:
        """The form with its parameters as inputs, since they differ from row to row."""
        return Form(self.form.expression, (*self.form.inputs, *self.form.parameters), ())

    def table(self, values: Array) -> Rows:
        """Rows with the parameters of their group, (groups, parameters), as further columns."""
        rows, by_row = self.rows, values[self.index]
        errors = rows.x_sigma
        if errors is not None:
            errors = np.hstack([errors, np.zeros_like(by_row)])
        return Rows(np.hstack([rows.X, by_row]), rows.y, rows.sigma, errors)

    def root(self, values: Array) -> Array:
        """Roots of the weights."""
        table = self.table(values)
        said = self.wide.value(table.X, _NOTHING)
        return 1 / deviations(table, said, self.noise, self.wide, _NOTHING)

    def evaluated(self, values: Array) -> Fit | None:
        """Likelihood at given parameters, as if these were known."""
        return evaluated_fit(self.wide, self.table(values), self.noise, _NOTHING)

    def residual(self, values: Array, root: Array) -> Array:
        """What is left over, weighted; of logarithms where the noise is log-normal."""
        said = self.wide.value(self.table(values).X, _NOTHING)
        if self.noise.model == LOG_NORMAL:
            return np.asarray(np.log(said) - np.log(self.rows.y))
        return np.asarray(root * (said - self.rows.y))

    def slopes(self, values: Array, root: Array) -> Array:
        """Slopes of the residual in the parameters of the row's group, (rows, parameters)."""
        X = self.table(values).X
        J = self.wide.input_slopes(X, _NOTHING)[:, len(self.form.inputs) :]
        # x**b at x = 0 is 0 whatever b is, but its slope in b is written 0*log(0)
        J = np.nan_to_num(J, nan=0.0, posinf=0.0, neginf=0.0)
        if self.noise.model == LOG_NORMAL:
            return np.asarray(J / self.wide.value(X, _NOTHING)[:, None])
        return np.asarray(J * root[:, None])


@dataclass(frozen=True, eq=False)
class Layout:
    """Which parameters a group has of its own, and on which scale all are sought.

    Args:
        own: places of a group's own among the parameters.
        shared: places of the others.
        logged: whether the logarithm of a parameter is sought (parameters,).
        factor: root of the covariance of a group's own between groups, (own, own): if given, they
            are mean + factor @ u, where u has unit variance and the mean is sought, too.
    """

    own: tuple[int, ...]
    shared: tuple[int, ...]
    logged: Array
    factor: Array | None = None

    def values(self, form: Form, u: Array, z: Array) -> Array:
        """Parameters of each group, (groups, parameters).

        Args:
            form: whose bounds are kept.
            u: of each group (groups, own).
            z: the shared ones, then the means if there is a factor.
        """
        out = np.empty((len(u), len(self.logged)))
        count = len(self.shared)
        out[:, self.shared] = z[:count]
        out[:, self.own] = u if self.factor is None else z[count:] + u @ self.factor.T
        out[:, self.logged] = np.exp(out[:, self.logged])
        return np.clip(out, *form.limits(form.parameters))

    def taken(self, values: Array) -> tuple[Array, Array]:
        """u and z that give parameters, where no factor binds them."""
        scaled = np.array(values)
        scaled[:, self.logged] = np.log(scaled[:, self.logged])
        return scaled[:, self.own], np.median(scaled[:, self.shared], axis=0)

    def slopes(self, J: Array, by_row: Array) -> tuple[Array, Array]:
        """Slopes in u, (rows, own), and in z."""
        J = np.where(self.logged, J * by_row, J)
        own, shared = J[:, self.own], J[:, self.shared]
        if self.factor is None:
            return own, shared
        return own @ self.factor, np.hstack([shared, own])

    def limits(self, form: Form) -> tuple[Array, Array, Array, Array]:
        """Bounds of u, low and high, and of z."""
        low, high = form.limits(form.parameters)
        own, shared = list(self.own), list(self.shared)
        if self.factor is not None:  # u and the means have none: `values` keeps to them
            low, high, shared = np.full_like(low, -np.inf), np.full_like(high, np.inf), shared + own
        return low[own], high[own], low[shared], high[shared]


@dataclass(frozen=True, eq=False)
class Arrow:
    """Normal equations: blocks of the groups, their border and the shared corner.

    Attributes:
        blocks: (groups, own, own).
        border: (groups, own, shared).
        corner: (shared, shared).
    """

    blocks: Array
    border: Array
    corner: Array

    @classmethod
    def of(cls, own: Array, shared: Array, begins: Array, penalty: float) -> Arrow:
        """From slopes; the penalty is the weight of |u|^2."""
        blocks = np.add.reduceat(own[:, :, None] * own[:, None, :], begins)
        border = np.add.reduceat(own[:, :, None] * shared[:, None, :], begins)
        return cls(blocks + penalty * np.eye(own.shape[1]), border, shared.T @ shared)

    @cached_property
    def sizes(self) -> tuple[Array, Array]:
        """Roots of the diagonal, by which all is scaled."""
        own = np.sqrt(np.einsum("gii->gi", self.blocks))
        shared = np.sqrt(np.diagonal(self.corner))
        return np.where(own > 0, own, 1.0), np.where(shared > 0, shared, 1.0)

    def scaled(self, damping: float) -> tuple[Array, Array, Array]:
        """The three parts with ones on the diagonal, and damped."""
        own, shared = self.sizes
        extra = damping + _TINY
        blocks = self.blocks / (own[:, :, None] * own[:, None, :]) + extra * np.eye(own.shape[1])
        border = self.border / (own[:, :, None] * shared)
        corner = self.corner / np.outer(shared, shared) + extra * np.eye(len(shared))
        return blocks, border, corner

    def step(self, right: tuple[Array, Array], damping: float) -> tuple[Array, Array]:
        """Solve for u and z."""
        own, shared = self.sizes
        blocks, border, corner = self.scaled(damping)
        first = np.linalg.solve(blocks, np.dstack([border, (right[0] / own)[:, :, None]]))
        carried, alone = first[:, :, :-1], first[:, :, -1]
        left = corner - np.einsum("gqs,gqt->st", border, carried)
        z = np.linalg.solve(left, right[1] / shared - np.einsum("gqs,gq->s", border, alone))
        return (alone - carried @ z) / own, z / shared

    def inverse(self) -> Inverse:
        """Covariances for unit noise."""
        own, shared = self.sizes
        blocks, border, corner = self.scaled(0.0)
        alone = np.linalg.pinv(blocks, rcond=_TINY, hermitian=True)
        carried = alone @ border
        left = corner - np.einsum("gqs,gqt->st", border, carried)
        z = np.linalg.pinv(left, rcond=_TINY, hermitian=True)
        poor = np.linalg.eigvalsh(blocks).min(axis=1, initial=1.0) < 1e-12
        return Inverse(
            alone / (own[:, :, None] * own[:, None, :]),
            carried * shared / own[:, :, None],
            z / np.outer(shared, shared),
            poor,
        )


@dataclass(frozen=True, eq=False)
class Inverse:
    """Parts of the inverse of an `Arrow`.

    Attributes:
        alone: covariance of u if z were known (groups, own, own).
        carried: minus the slopes of u in z (groups, own, shared).
        z: covariance of z.
        poor: groups whose rows do not fix their own parameters (groups,).
    """

    alone: Array
    carried: Array
    z: Array
    poor: Array

    @property
    def u(self) -> Array:
        """Covariance of u of each group, (groups, own, own)."""
        return np.asarray(self.alone + self.carried @ self.z @ np.swapaxes(self.carried, 1, 2))

    def of_values(self, layout: Layout) -> Array:
        """Covariance of the parameters of each group, (groups, parameters, parameters)."""
        return self._mapped(layout, self.alone, self.carried)

    def of_mean(self, layout: Layout) -> Array:
        """Covariance of the parameters' mean over the groups, (parameters, parameters)."""
        alone = self.alone.mean(axis=0, keepdims=True) / len(self.alone)
        return self._mapped(layout, alone, self.carried.mean(axis=0, keepdims=True))[0]

    def of_means(self, layout: Layout) -> Array:
        """Covariance of the shared parameters and of the means that a factor goes with."""
        still = np.zeros((1, *self.alone.shape[1:]))
        return self._mapped(layout, still, np.zeros((1, *self.carried.shape[1:])))[0]

    def _mapped(self, layout: Layout, alone: Array, carried: Array) -> Array:
        """Covariance of A u + B z, where u = e - carried @ z and e has the covariance `alone`."""
        size, count = len(layout.logged), len(layout.shared)
        A, B = np.zeros((size, len(layout.own))), np.zeros((size, len(self.z)))
        A[list(layout.own)] = np.eye(len(layout.own)) if layout.factor is None else layout.factor
        B[list(layout.shared), :count] = np.eye(count)
        if layout.factor is not None:
            B[list(layout.own), count:] = np.eye(len(layout.own))
        both = B - A @ carried
        return np.asarray(A @ alone @ A.T + both @ self.z @ np.swapaxes(both, 1, 2))


@dataclass(eq=False)
class Descent:
    """Parameters on their way down.

    Args:
        data: what is fitted.
        layout: what is shared.
        u: of each group (groups, own).
        z: shared.
        root: roots of the weights (rows,).
        penalty: weight of |u|^2.
    """

    data: Experiments
    layout: Layout
    u: Array
    z: Array
    root: Array
    penalty: float = 0.0

    @property
    def values(self) -> Array:
        """(groups, parameters)."""
        return self.layout.values(self.data.form, self.u, self.z)

    def run(self, steps: int, enough: float = 1e-12) -> float:
        """Levenberg-Marquardt until the relative gain is small enough; returns the cost."""
        damping = 1e-4
        with np.errstate(all="ignore"):
            left, cost = self._cost(self.u, self.z)
            for _ in range(steps if np.isfinite(cost) else 0):
                found = self._better(left, cost, damping)
                if found is None:
                    break
                self.u, self.z, left, new, damping = found
                gain, cost = 1 - new / cost, new
                if gain < enough:
                    break
        return cost

    def normal(self) -> Arrow:
        """Normal equations at the current place."""
        values = self.values
        J = self.data.slopes(values, self.root)
        return Arrow.of(
            *self.layout.slopes(J, values[self.data.index]), self.data.begins, self.penalty
        )

    def _cost(self, u: Array, z: Array) -> tuple[Array, float]:
        left = self.data.residual(self.layout.values(self.data.form, u, z), self.root)
        return left, float(left @ left + self.penalty * np.sum(u**2))

    def _better(
        self, left: Array, cost: float, damping: float
    ) -> tuple[Array, Array, Array, float, float] | None:
        """A step that lowers the cost; None if there is none."""
        values = self.values
        J = self.data.slopes(values, self.root)
        if not np.isfinite(J).all():
            return None
        own, shared = self.layout.slopes(J, values[self.data.index])
        own, shared, right = self._inside(own, shared, left)
        arrow = Arrow.of(own, shared, self.data.begins, self.penalty)
        low_u, high_u, low_z, high_z = self.layout.limits(self.data.form)
        for _ in range(9):
            try:
                du, dz = arrow.step(right, damping)
            except np.linalg.LinAlgError:
                du = dz = np.array(np.nan)
            u, z = np.clip(self.u + du, low_u, high_u), np.clip(self.z + dz, low_z, high_z)
            trial, new = self._cost(u, z)
            if np.isfinite(new) and new < cost:
                return u, z, trial, new, max(damping / 20, 1e-14)
            damping = max(damping, 1e-8) * 10
        return None

    def _inside(
        self, own: Array, shared: Array, left: Array
    ) -> tuple[Array, Array, tuple[Array, Array]]:
        """Slopes and gradients without the parameters that a bound holds."""
        right = self._gradient(own, shared, left)
        ends = self.layout.limits(self.data.form)
        if not any(np.isfinite(e).any() for e in ends):
            return own, shared, right
        held = [
            ((p <= low) & (g < 0)) | ((p >= high) & (g > 0))
            for p, g, low, high in zip((self.u, self.z), right, ends[::2], ends[1::2], strict=True)
        ]
        own = np.where(held[0][self.data.index], 0.0, own)
        shared = np.where(held[1], 0.0, shared)
        return own, shared, (np.where(held[0], 0, right[0]), np.where(held[1], 0, right[1]))

    def _gradient(self, own: Array, shared: Array, left: Array) -> tuple[Array, Array]:
        down = -np.add.reduceat(own * left[:, None], self.data.begins) - self.penalty * self.u
        return down, -(left @ shared)


def jointly(
    data: Experiments, layout: Layout, values: Array, steps: int = 40, enough: float = 1e-12
) -> Descent | None:
    """All groups fitted together from a start; None if it has no value there.

    Args:
        data: what is fitted.
        layout: what is shared.
        values: start (groups, parameters); the median where they are shared.
        steps: at most, for each set of weights.
        enough: relative gain of a step that ends them.
    """
    with np.errstate(all="ignore"):
        u, z = layout.taken(values)
        descent = Descent(data, layout, u, z, _NOTHING)
        fixed = data.noise.model in (CONSTANT, GIVEN) and data.rows.x_sigma is None
        once = fixed or data.noise.model == LOG_NORMAL
        for _ in range(1 if once else 6):  # weights follow what is fitted
            before, descent.root = descent.values, data.root(descent.values)
            if not (np.isfinite(descent.root).all() and np.isfinite(descent.run(steps, enough))):
                return None
            if np.allclose(before, descent.values, rtol=max(1e-9, enough), atol=0):
                break
    return descent
