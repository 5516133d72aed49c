"""Least squares: linear ones that always end, and Levenberg-Marquardt for few parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .types import Array


def lstsq(matrix: Array, right: Array, rcond: float | None = None) -> Array:
    """The least-squares solution of least norm, as `numpy.linalg.lstsq` has it, without failing.

    LAPACK's divide and conquer does not converge on some nearly singular matrices whose entries are
    all finite and of like size; there the slower and older singular value decomposition does.
    """
    try:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=rcond)[0])
    except np.linalg.LinAlgError:
        import scipy.linalg  # takes a while to import, and is hardly ever needed

        cut = np.finfo(float).eps * max(matrix.shape) if rcond is None else rcond
        return np.asarray(scipy.linalg.lstsq(matrix, right, cond=cut, lapack_driver="gelss")[0])


def levenberg_marquardt(
    residual: Callable[[Array], Array],
    jacobian: Callable[[Array], Array],
    theta: Array,
    steps: int = 25,
    floor: float = 0.0,
    least_gain: float = 1e-9,
) -> tuple[Array, float]:
    """Parameters that lower the mean square of the residual, and its root.

    Args:
        residual: of the parameters, (rows,).
        jacobian: its slopes, (rows, parameters).
        theta: where to begin.
        steps: at most.
        floor: root mean square below which nothing is left to gain.
        least_gain: relative gain of a step below which it is the last.
    """
    theta, damping = theta.copy(), 1e-4
    with np.errstate(all="ignore"):
        r = residual(theta)
        cost = float(r @ r)
    if not np.isfinite(cost):
        return theta, np.inf
    for _ in range(steps):
        if np.sqrt(cost / len(r)) < floor:
            break
        with np.errstate(all="ignore"):
            J = jacobian(theta)
        if not np.isfinite(J).all():
            break
        norms = np.linalg.norm(J, axis=0)
        norms[norms == 0] = 1.0
        Q, R = np.linalg.qr(J / norms)
        image = np.r_[Q.T @ r, np.zeros(len(theta))]
        improved = False
        for _ in range(6):
            system = np.vstack([R, np.sqrt(damping) * np.eye(len(theta))])
            trial = theta - lstsq(system, image) / norms
            with np.errstate(all="ignore"):
                s = residual(trial)
                new = float(s @ s)
            if np.isfinite(new) and new < cost:
                improved = True
                break
            damping = max(damping, 1e-8) * 10
        if not improved:
            break
        gain, theta, r, cost = 1 - new / cost, trial, s, new
        damping = damping / 30 if damping > 1e-14 else 0.0
        if gain < least_gain:
            break
    return theta, float(np.sqrt(cost / len(r)))


def standard_errors(J: Array, theta: Array, error: float) -> Array:
    """Of each parameter, from the slopes and the root mean square of the residual."""
    norms = np.linalg.norm(J, axis=0)
    norms[norms == 0] = 1.0
    inverse = np.linalg.pinv(J / norms)
    out: Array = np.sqrt(np.einsum("ij,ij->i", inverse, inverse)) * error / norms
    return np.maximum(out, 1e-15 * np.abs(theta))
