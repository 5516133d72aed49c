"""The rate of many supports at once, by golden section."""

from __future__ import annotations

import numpy as np

from ..._core.types import Array
from ._beam import Index, System
from ._terms import FUNCTIONS, monomial


def sharpened(system: System, supports: Index, low: Array, high: Array) -> tuple[Array, Array]:
    """The rate of each support by golden section, all at once, and the squared residual there."""
    terms = [*system.P, *system.Q]
    state, rows = system.state, system.rows
    U, n_p = state.U[rows], len(system.P)
    with np.errstate(all="ignore"):
        plain = np.stack([monomial(t.powers, U) for t in terms], 0)
    plain[n_p:] *= -system.target
    plain *= system.weight
    b = system.b
    arguments = {t.atom: t.atom.z(U) for t in terms if t.atom is not None}

    def residual(rate: Array) -> Array:
        lifted = {}
        for atom in arguments:
            lifted[atom] = FUNCTIONS[atom.function][0](arguments[atom][None, :], rate[:, None])
        C = np.empty((len(supports), supports.shape[1], len(b)))
        for column in range(supports.shape[1]):
            for j in np.unique(supports[:, column]):
                who = supports[:, column] == j
                C[who, column] = plain[j]
                if terms[j].atom is not None:
                    C[who, column] *= lifted[terms[j].atom][who]
        norms = np.linalg.norm(C, axis=2, keepdims=True)
        C /= np.where(norms > 0, norms, 1.0)
        G = C @ C.transpose(0, 2, 1) + 1e-14 * np.eye(C.shape[1])
        bad = ~np.isfinite(G).all((1, 2))
        G[bad], C[bad] = np.eye(C.shape[1]), 0.0
        theta = np.linalg.solve(G, (C @ b)[..., None])
        out: Array = ((b - (theta * C).sum(1)) ** 2).sum(1)
        return out

    golden = (np.sqrt(5) - 1) / 2
    with np.errstate(all="ignore"):
        a, d = high - golden * (high - low), low + golden * (high - low)
        ra, rd = residual(a), residual(d)
        for _ in range(18):
            left = ra < rd
            low, high = np.where(left, low, a), np.where(left, d, high)
            new = np.where(left, high - golden * (high - low), low + golden * (high - low))
            r = residual(new)
            a, d, ra, rd = (
                np.where(left, new, d),
                np.where(left, a, new),
                np.where(left, r, rd),
                np.where(left, ra, r),
            )
    return np.where(ra < rd, a, d), np.minimum(ra, rd)
