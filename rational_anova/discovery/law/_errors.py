"""Error bars: of the parameters of a law, and of what it predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import stats

from ..._core import checks as check
from ._expressions import short
from ._formula import compiled

if TYPE_CHECKING:
    from ._law import Law


def quantile(law: Law, level: float) -> float:
    """Return the two-sided t-quantile; nan if the fit has no degree of freedom."""
    if not 0 < check.real(level, "level") < 1:
        raise ValueError(f"level must be between 0 and 1, such as 0.95, got {level}")
    free = law.evidence.rows - sum(p.exact is None for p in law.parameters)
    return float(stats.t.ppf(0.5 + level / 2, free)) if free > 0 else float("nan")


def intervals(law: Law, level: float) -> dict[str, tuple[float, float]]:
    """Return value -+ t * stderr for each parameter; an exact one has no width."""
    t = quantile(law, level)
    widths = {p.name: 0.0 if p.exact is not None else t * p.stderr for p in law.parameters}
    return {p.name: (p.value - widths[p.name], p.value + widths[p.name]) for p in law.parameters}


def coefficients(law: Law, level: float = 0.95) -> pd.DataFrame:
    """Return one row a parameter: value, exact, stderr, low, high."""
    bounds = intervals(law, level)
    rows = {
        p.name: {
            "value": p.value,
            "exact": "" if p.exact is None else short(p.exact),
            "stderr": p.stderr,
            "low": bounds[p.name][0],
            "high": bounds[p.name][1],
        }
        for p in law.parameters
    }
    columns = ["value", "exact", "stderr", "low", "high"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def predicted(
    law: Law, rows: np.ndarray, level: float, noise: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return low and high by the delta method: the gradient at each row times the covariance."""
    t = quantile(law, level)
    free = [n for n, p in enumerate(law.parameters) if p.exact is None]
    centre = law.predict(rows)
    variance = np.zeros(len(rows))
    with np.errstate(all="ignore"):
        if free:
            slopes = [law.template.diff(law.parameters[n].symbol) for n in free]
            gradient = np.stack(
                [compiled(slope, law.names, law.parameters)(*rows.T) for slope in slopes], 1
            )
            cov = law.covariance[np.ix_(free, free)]
            variance = np.maximum(np.einsum("ni,ij,nj->n", gradient, cov, gradient), 0.0)
        if noise:
            variance = variance + (law.evidence.noise * law.evidence.spread) ** 2
        width = t * np.sqrt(variance) if free or noise else variance
    return centre - width, centre + width
