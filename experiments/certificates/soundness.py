"""Does any point beat a certificate? Random units, boxes and dtypes; samples, edges, optimisers.

Units with all denominators and bases, degrees to (8, 8) in one variable and to 4 in two, one to
three heads, coefficients of size 0.001 to 1000, boxes from 1e-6 to 50 wide, weights in four dtypes.
Each is certified, then evaluated at 100,000 points (at least; ends included), and the best of these
are improved by zooming in, and by SciPy for one unit of each batch. Where a unit comes nearest to a
bound it is evaluated with fifty digits, and that must not pass the bound: there is no tolerance.

python -m experiments.certificates.soundness [--smoke]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import torch

import rational_anova as ra
from experiments.certificates.exact import Exact
from experiments.certificates.sampled import Sampled
from experiments.results import Log
from rational_anova.certificates import PoleError, UnitCertificate
from rational_anova.functional import BASES, DENOMINATORS

DTYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16,
          "float16": torch.float16}  # fmt: skip
SIZES = (0.001, 0.03, 0.3, 1.0, 1.0, 10.0, 1000.0)


def settings(seed: int) -> dict[str, Any]:
    """Draw what the units of a batch have in common."""
    rng = np.random.default_rng(seed)
    variables = 2 if seed % 7 == 6 else 1
    most = 8 if variables == 1 else 4
    return {
        "seed": seed,
        "variables": variables,
        "denominator": list(DENOMINATORS)[seed % len(DENOMINATORS)],
        "base": str(rng.choice(list(BASES))),
        "degrees": [int(rng.integers(0, most + 1)), int(rng.integers(1, most + 1))],
        "heads": int(rng.choice([1, 1, 1, 2, 3])),
        "size": float(rng.choice(SIZES)),
        "gated": bool(rng.random() < 0.8),
        "dtype": str(rng.choice(list(DTYPES))),
    }  # fmt: skip


def draw(key: dict[str, Any], units: int) -> tuple[torch.nn.Module, np.ndarray]:
    """Return units and a box (inputs, 2)."""
    rng = np.random.default_rng(key["seed"] + 10**6)
    v = key["variables"]
    options: dict[str, Any] = {
        "denominator": key["denominator"], "base": key["base"], "heads": key["heads"],
        "gate": "auto" if key["gated"] else None,
    }  # fmt: skip
    options["base"] = options["base"] if key["gated"] else "zero"
    degrees = tuple(key["degrees"])
    if v == 1:
        unit: Any = ra.Rational1d(units, degrees, **options)
    else:
        pairs = [(2 * n, 2 * n + 1) for n in range(units)]
        unit = ra.Rational2d(pairs, degrees, **options)
    middle = rng.uniform(-2, 2, (units * v, 1)) * rng.choice([0.0, 1.0, 1.0, 5.0], (units * v, 1))
    half = 10 ** rng.uniform(-6, 1.7, (units * v, 1)) / 2
    box = np.concatenate([middle - half, middle + half], 1)
    reach = np.abs(box).reshape(units, -1).max(1)
    with torch.no_grad():
        for rows in (unit.numerator, unit.denominator):
            rows.copy_(torch.tensor(rng.normal(size=rows.shape) * key["size"]))
        if key["denominator"] == "polynomial":  # most of them without a pole
            flat = np.abs(unit.denominator.double().numpy()).sum(-2)
            fit = 0.7 / flat / np.maximum(reach, 1) ** degrees[1]
            unit.denominator.mul_(torch.tensor(np.minimum(fit, 1.0))[..., None, :])
        if unit.gate is not None:
            unit.gate.copy_(torch.tensor(rng.choice([0.0, 0.3, 0.9, 1.0, -0.5, 1.7], units)))
    return unit.to(DTYPES[key["dtype"]]), box


def passed(record: UnitCertificate, exact: Exact, places: np.ndarray) -> tuple[list[str], float]:
    """Return what the exact unit passes, and how near it comes to its Lipschitz bound."""
    wrong, nearest = [], 0.0
    for place in np.unique(places, axis=0):
        value, slopes, least = exact.at(tuple(place.tolist()))
        norm = sum(s * s for s in slopes) ** 0.5 if len(slopes) > 1 else abs(slopes[0])
        checks = {
            "range": record.range[0] <= value <= record.range[1],
            "lipschitz": norm <= record.lipschitz <= record.theorem.lipschitz,
            "denominator": 0 < record.denominator_min <= least,
            "slopes": all(a <= s <= b for (a, b), s in zip(record.slopes, slopes, strict=True)),
        }
        wrong += [
            f"{record.name} {name} at {place.tolist()}" for name, ok in checks.items() if not ok
        ]
        nearest = max(nearest, float(norm / record.lipschitz) if record.lipschitz else 0.0)
    return wrong, nearest


def batch(key: dict[str, Any], units: int, points: int) -> dict[str, Any]:
    """Certify a batch and try to beat it."""
    unit, box = draw(key, units)
    rng = np.random.default_rng(key["seed"] + 2 * 10**6)
    start = time.perf_counter()
    try:
        certificate = ra.certify(unit, box, samples=1)
    except PoleError as error:
        return {"units": 0, "pole": str(error)}
    seconds = time.perf_counter() - start
    exact = [Exact(unit, n) for n in range(units)]
    with np.errstate(all="ignore"):
        sampled = Sampled(unit, box, key["variables"])
        sampled.everywhere(points, rng)
        sampled.zoom(rng)
        sampled.climb(key["seed"] % units)
        wrong, nearest = [], []
        for n, record in enumerate(certificate.units):
            more, near = passed(record, exact[n], sampled.place[n])
            wrong, nearest = wrong + more, [*nearest, near]
    return {"units": units, "wrong": wrong, "nearest": float(np.median(nearest)),
            "unbounded": sum(not np.isfinite(r.lipschitz) for r in certificate.units),
            "points": points, "seconds": seconds}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    log = Log("certificates_soundness_smoke" if smoke else "certificates_soundness", fresh=smoke)
    batches, units, points = (14, 1, 500) if smoke else (665, 20, 100_000)
    for seed in range(batches):
        if not log.has(seed=seed):
            key = settings(seed)
            log.add(**key, **batch(key, units, points))
    wrong = [line for row in log for line in row.get("wrong", [])]
    print(
        f"{sum(row['units'] for row in log)} units, {len(wrong)} points beat a bound", *wrong[:20]
    )
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
