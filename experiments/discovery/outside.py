"""Tables on which no law may be claimed: functions outside the language, and noise alone.

Sixty tables without noise: special functions on intervals of three lengths, random networks (tanh,
two hidden layers of eight), draws of Gaussian processes, sums like Weierstrass's, functions in
pieces. No formula of the search, and no named law, is one of them, so a claim is false however well
it fits. The error function itself is in named laws; its inverse stands here instead. Forty tables
more are noise, of the seeds that `nothing` does not use. 400 rows each; noise has its own sizes.

python -m experiments.discovery.outside [--smoke] [--jobs 2] [--only KIND ...]
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special
from scipy.spatial.distance import cdist

from experiments.discovery.calling import SECONDS, discovered
from experiments.discovery.nothing import noise_table
from experiments.table import Row, Table, arguments, rate, run

KEY = ("kind", "seed")
ROWS = 400
_PARTS = (1.0, 0.5, 0.25)  # of the range of a special function, by seed
_HIDDEN = 8
_LENGTHS = {1: (0.05, 0.3), 2: (0.2, 0.6)}  # of a Gaussian process over its range, by inputs
_TERMS = 12
_PIECES = 6

Data = tuple[np.ndarray, np.ndarray]
Curve = Callable[[np.ndarray], np.ndarray]

SPECIAL: dict[str, tuple[Curve, float, float]] = {
    "Bessel J0": (special.j0, 0.0, 20.0),
    "Bessel J1": (special.j1, 0.0, 20.0),
    "inverse erf": (special.erfinv, -0.98, 0.98),
    "gamma": (special.gamma, 0.5, 5.0),
    "log gamma": (special.gammaln, 0.2, 8.0),
    "Lambert W": (lambda x: special.lambertw(x).real, -0.3, 10.0),
    "Airy": (lambda x: special.airy(x)[0], -8.0, 4.0),
    "elliptic K": (special.ellipk, 0.0, 0.95),
    "zeta": (special.zeta, 1.2, 6.0),
    "sine integral": (lambda x: special.sici(x)[0], 0.0, 20.0),
}


def special_table(kind: str, seed: int) -> Data:
    """Return a special function on part of its range: all, half or a quarter of it."""
    function, low, high = SPECIAL[kind]
    random = np.random.default_rng([seed, *kind.encode()])
    part, width = _PARTS[seed % len(_PARTS)], high - low
    start = low + (1 - part) * width * random.random()
    X = random.uniform(start, start + part * width, (ROWS, 1))
    return X, function(X[:, 0])


def network(seed: int) -> Data:
    """Return a random network of one, two or three inputs."""
    random = np.random.default_rng([seed, 31])
    X = random.uniform(-2, 2, (ROWS, 1 + seed % 3))
    values = X
    for _ in range(2):
        inputs = values.shape[1]
        weights = random.normal(0, 2 / np.sqrt(inputs), (inputs, _HIDDEN))
        values = np.tanh(values @ weights + random.normal(0, 0.5, _HIDDEN))
    return X, values @ random.normal(0, 1, _HIDDEN)


def gaussian_process(seed: int) -> Data:
    """Return a smooth curve or surface of no form, drawn from a Gaussian process."""
    random = np.random.default_rng([seed, 32])
    inputs = 1 + seed % 2
    X = random.uniform(0, 1, (ROWS, inputs))
    length = random.uniform(*_LENGTHS[inputs])
    # By eigenvalues: a Cholesky factor would need a diagonal that is noise in the table.
    values, vectors = np.linalg.eigh(np.exp(-((cdist(X, X) / length) ** 2) / 2))
    scale = np.sqrt(np.clip(values, 0, None))
    return X, vectors @ (scale * random.standard_normal(ROWS))


def weierstrass(seed: int) -> Data:
    """Return a sum of cosines of ever shorter periods: rough at every scale."""
    random = np.random.default_rng([seed, 33])
    x = random.uniform(0, 2, ROWS)
    damping, k = random.uniform(0.4, 0.7), np.arange(_TERMS)
    return x[:, None], np.cos(np.pi * np.outer(x, 2.0**k)) @ damping**k


def pieces(seed: int) -> Data:
    """Return steps, a line with breaks, or two unlike functions with a jump between them."""
    random = np.random.default_rng([seed, 34])
    x = random.uniform(0, 10, ROWS)
    breaks = np.sort(random.uniform(0.5, 9.5, _PIECES - 1))
    levels = random.normal(0, 2, _PIECES + 1)
    pitch, place = random.uniform(0.5, 2), random.uniform(4, 6)
    y = (
        levels[np.searchsorted(breaks, x)],
        np.interp(x, [0, *breaks, 10], levels),
        np.where(x < place, np.sin(pitch * x), 2 + (0.1 + 0.05 * pitch) * (x - place) ** 2),
    )
    return x[:, None], y[seed % len(y)]


OTHERS: dict[str, tuple[Callable[[int], Data], range]] = {
    "network": (network, range(12)),
    "Gaussian process": (gaussian_process, range(8)),
    "Weierstrass": (weierstrass, range(4)),
    "pieces": (pieces, range(6)),
    "noise": (lambda seed: noise_table(seed)[:2], range(50, 90)),
}


def table_of(kind: str, seed: int) -> Data:
    """Return the inputs and the target of one table."""
    return special_table(kind, seed) if kind in SPECIAL else OTHERS[kind][0](seed)


def tables() -> list[Row]:
    """Return kind and seed of every table."""
    seeds = {kind: range(len(_PARTS)) for kind in SPECIAL}
    seeds |= {kind: own for kind, (_, own) in OTHERS.items()}
    return [{"kind": kind, "seed": seed} for kind, own in seeds.items() for seed in own]


def one(kind: str, seed: int, seconds: float = SECONDS) -> Row:
    """Return what is made of a table that has no law."""
    X, y = table_of(kind, seed)
    row: Row = {"kind": kind, "seed": seed, "rows": len(X), "columns": X.shape[1]}
    names = [f"x{i + 1}" for i in range(X.shape[1])]
    law, row["seconds"], failure = discovered(X, y, names, "y", seconds=seconds)
    if law is None:
        empty = {"grade": "", "found": False, "established": False, "error": np.nan}
        return {**row, **empty, "formula": "", "failure": failure}
    with np.errstate(all="ignore"):
        left = law.predict(X) - y
    return {
        **row,
        "grade": str(law.grade),
        "found": bool(law.grade.claimed),
        "established": str(law.grade) == "established",
        "error": float(np.sqrt(np.mean(left**2)) / y.std()),
        "formula": str(law.rounded()).replace("\n", " ")[:300],
        "failure": "",
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="+", choices=(*SPECIAL, *OTHERS), default=[])
    options = parser.parse_args()
    table = Table("outside_smoke" if options.smoke else "outside", KEY, fresh=options.smoke)
    tasks = [task for task in tables() if not options.only or task["kind"] in options.only]
    if options.smoke:
        tasks = [{"kind": kind, "seed": 50, "seconds": 2.0} for kind in ("pieces", "noise")]
    run(table, one, tasks, options.jobs)
    for kind in dict.fromkeys(row["kind"] for row in table.rows):
        rows = [row for row in table.rows if row["kind"] == kind]
        failures = sum(bool(row["failure"]) for row in rows)
        print(
            f"{kind}: a law claimed in {rate(rows, 'found')}, "
            f"established in {rate(rows, 'established')}, failures: {failures}"
        )


if __name__ == "__main__":
    main()
