"""The table of `ran demo`: carbon dioxide by the van der Waals law, with noise as of a gauge.

T / K is uniform in 280 to 460, V / (L/mol) log-uniform in 0.1 to 2. P / bar has noise of 0.5% of
its spread in every row, and two decimals.

python -m experiments.discovery.demo_table
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import rational_anova
from experiments.files import write_whole

PATH = Path(rational_anova.__file__).parent / "tables" / "van_der_waals.csv"
R, A, B = 0.083145, 3.64, 0.04267  # L bar / (mol K), L^2 bar / mol^2, L / mol
_ROWS, _NOISE, _SEED = 400, 0.005, 0


def text(seed: int = _SEED) -> str:
    """Return the table as CSV."""
    random = np.random.default_rng(seed)
    T = random.uniform(280, 460, _ROWS).round(2)
    V = np.exp(random.uniform(np.log(0.1), np.log(2), _ROWS)).round(4)
    P = R * T / (V - B) - A / V**2
    P += _NOISE * P.std() * random.standard_normal(_ROWS)
    rows = [f"{t:.2f},{v:.4f},{p:.2f}" for t, v, p in zip(T, V, P, strict=True)]
    return "\n".join(["T,V,P", *rows, ""])


def main() -> None:
    write_whole(PATH, text().encode())


if __name__ == "__main__":
    main()
