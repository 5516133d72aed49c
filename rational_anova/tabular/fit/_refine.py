"""Moving the heads: Gauss-Newton steps on centres and widths, the numerators projected out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri

from ..._core.types import Array
from ..model import Heads, Rows, Term
from ._solve import Fit, Problem

Place = tuple[int, int]  # a term, and an axis of it

PRIOR = 0.2  # standard deviation of the shifts, in widths
LONGEST = 0.6  # step
MOST = 4000  # shifts that are moved at once


def refine(problem: Problem, fit: Fit) -> tuple[list[Term], float]:
    """Return terms with moved heads, and the degrees of freedom that the moves used."""
    places = _movable(fit)
    if not places:
        return fit.terms, 0.0
    system, gradient = _normal_equations(problem, fit, places)
    heads = [_heads(fit.terms, place) for place in places]
    now = np.concatenate([h.shift for h in heads])
    width, diagonal = PRIOR, np.diag_indices(len(now))
    for _ in range(3):  # the prior's width by evidence, never wider than PRIOR
        matrix = system.copy()
        matrix[diagonal] += fit.noise / width**2
        factor, info = dpotrf(matrix, lower=1, overwrite_a=1)
        if info:
            return fit.terms, 0.0
        shift = cho_solve((factor, True), gradient + system @ now)
        trace = np.trace(dpotri(factor, lower=1)[0])
        edf = max(len(now) - fit.noise / width**2 * trace, 1.0)
        width = float(np.clip(np.sqrt(shift @ shift / edf), 0.02, PRIOR))
    shift = now + np.clip(shift - now, -LONGEST, LONGEST)
    bases = [list(term.bases) for term in fit.terms]
    at = 0
    for (k, axis), old in zip(places, heads, strict=True):
        size = 2 * len(old.centre)
        new = old.moved(shift[at : at + size])
        coordinate = problem.rows.coordinate(fit.terms[k].axes[axis], new)
        bases[k][axis] = new.filled(coordinate, problem.weight)
        at += size
    return [replace(t, bases=tuple(b)) for t, b in zip(fit.terms, bases, strict=True)], edf


def _movable(fit: Fit) -> list[Place]:
    """Return heads of terms that matter, those that matter most first, up to a limit."""
    chosen: list[Place] = []
    total = 0
    for k in np.argsort(-fit.edf):
        if fit.edf[k] < 1:
            break
        for axis, basis in enumerate(fit.terms[k].bases):
            fixed = not isinstance(basis, Heads) or basis.values is not None
            if not fixed and total + 2 * len(basis.centre) <= MOST:
                chosen.append((int(k), axis))
                total += 2 * len(basis.centre)
    return sorted(chosen)


def _heads(terms: list[Term], place: Place) -> Heads:
    basis = terms[place[0]].bases[place[1]]
    assert isinstance(basis, Heads)
    return basis


def _normal_equations(problem: Problem, fit: Fit, places: list[Place]) -> tuple[Array, Array]:
    """Return J'J with the numerators projected out, and J'r, over all outputs."""
    size = sum(2 * len(_heads(fit.terms, place).centre) for place in places)
    design = fit.design
    numerators = fit.theta / design.scale[:, None]
    system, gradient = np.zeros((size, size)), np.zeros(size)
    for output, solution in enumerate(fit.solutions):
        r, h = problem.loss.working(problem.y, fit.f, output)
        h = h * problem.weight
        cross = np.zeros((len(design.group), size))
        for part, phi in design.chunks():
            for at in range(0, len(phi), design.chunk):
                piece = slice(at, at + design.chunk)
                root = np.sqrt(h[part][piece])[:, None]
                rows = problem.rows[part][piece]
                jacobian = _jacobian(fit, places, rows, numerators[:, output]) * root
                # A direction needs no more than single precision, and it is twice as fast.
                single = jacobian.astype(np.float32)
                cross += (phi[piece] * root).astype(np.float32).T @ single
                system += single.T @ single
                gradient += jacobian.T @ (r[part][piece] * root[:, 0])
        projected = solve_triangular(solution.factor, cross, lower=True, check_finite=False)
        system -= projected.T @ projected
    return system, gradient


def _jacobian(fit: Fit, places: list[Place], rows: Rows, numerators: Array) -> Array:
    blocks = []
    for k, axis in places:
        term = fit.terms[k]
        own = numerators[fit.design.group == k]
        heads = _heads(fit.terms, (k, axis))
        coordinate = rows.coordinate(term.axes[axis], heads)
        m = len(heads.centre)
        if len(term.axes) == 1:
            blocks.append(heads.slopes(coordinate, own[:m], own[m:] if heads.odd else None))
            continue
        table = own.reshape(term.bases[0].size, term.bases[1].size)
        other = rows.basis(term.axes[1 - axis], term.bases[1 - axis])
        blocks.append(heads.slopes(coordinate, other @ (table.T if axis == 0 else table), None))
    return np.concatenate(blocks, 1)
