"""How sharp are the bounds of units? The certified constant over the true one, and the theorem's.

Units of one variable, degrees (3, 2), and pairs of degree 2, for each denominator; coefficients
normal with deviation 0.1, 0.5 or 1, gates 0.7, boxes 0.1 to 2 wide within [-2, 3]. The true
constant is the largest slope on 20,001 points (80,802 for pairs, half of them a grid), beside the
largest of these, and where the search itself has been; it is a lower bound of the truth, so that
the ratios are upper bounds.

python -m experiments.certificates.tightness [--smoke]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import torch

import rational_anova as ra
from experiments.certificates.sampled import Sampled
from experiments.results import Log
from rational_anova.functional import DENOMINATORS

NOISE = (0.1, 0.5, 1.0)


def draw(kind: str, variables: int, units: int, noise: float, seed: int) -> tuple[Any, np.ndarray]:
    """Return units and a box (inputs, 2)."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    options: dict[str, Any] = {"denominator": kind, "noise": noise, "dtype": torch.float64}
    if variables == 1:
        unit: Any = ra.Rational1d(units, (3, 2), **options)
    else:
        unit = ra.Rational2d([(2 * n, 2 * n + 1) for n in range(units)], 2, **options)
    low = rng.uniform(-2, 1, units * variables)
    box = np.stack([low, low + rng.uniform(0.1, 2.0, units * variables)], 1)
    with torch.no_grad():
        unit.gate.fill_(0.7)
        if kind == "polynomial":  # |q| <= 0.7 on the box
            reach = np.maximum(np.abs(box).reshape(units, -1).max(1), 1.0) ** 2
            unit.denominator.mul_(torch.tensor(0.7 / reach) / unit.denominator.abs().sum(0))
    return unit, box


def study(kind: str, variables: int, units: int, points: int) -> dict[str, Any]:
    """Certify units and compare."""
    ratios, theorems, seconds = [], [], 0.0
    for seed, noise in enumerate(NOISE):
        unit, box = draw(kind, variables, units, noise, seed)
        ra.certify(unit, box, samples=1)  # once before, so that tables are made
        start = time.perf_counter()
        found = ra.certify(unit, box, samples=1)
        seconds += time.perf_counter() - start
        sampled = Sampled(unit, box, variables)
        sampled.everywhere(points, np.random.default_rng(seed))
        sampled.zoom(np.random.default_rng(seed))
        true = np.maximum(sampled.best[:, 2 + 2 * variables], [u.attained for u in found.units])
        ratios.append(np.array([u.lipschitz for u in found.units]) / true)
        theorems.append(np.array([u.theorem.lipschitz for u in found.units]) / true)
    ratio, theorem = np.concatenate(ratios), np.concatenate(theorems)
    return {
        "units": len(ratio),
        "median": float(np.median(ratio)),
        "largest": float(ratio.max()),
        "theorem": float(np.median(theorem)),
        "theorem_largest": float(theorem.max()),
        "seconds": seconds / len(ratio),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    log = Log("certificates_tightness_smoke" if smoke else "certificates_tightness", fresh=smoke)
    for variables, units, points in ((1, 100, 20_001), (2, 20, 80_802)):
        for kind in list(DENOMINATORS)[:2] if smoke else DENOMINATORS:
            if not log.has(variables=variables, denominator=kind):
                sizes = (1, 101) if smoke else (units, points)
                log.add(variables=variables, denominator=kind, **study(kind, variables, *sizes))


if __name__ == "__main__":
    main()
