"""Are the effects that are shown to be trusted? Tables whose effects are known.

- `coverage`: 95% bands of curves whose inputs take part in a true pair, of inputs that do not, and
  of the mean (`predict`), at 60 points of the range and at 500 new rows; numbers and two classes,
  200 to 8,000 rows; EBM's bands (`standard_deviations_`, bins as they are) beside.
- `pairs`: three pairs planted among eight inputs that go together: how many are found, and how many
  others have more than 1% of the variance.
- `collinear`: ten measures driven by two factors, and credit lines whose columns hold -9, -8, -7
  together: the widest effect over the spread of the decision, shares, and the error on new rows.

python -m experiments.tabular.trust [--smoke] [--only coverage pairs collinear]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import rational_anova as ra
from experiments.results import Log

POINTS, NEW = 60, 500
STEEP = 1.5  # log odds for each unit of the sum
COVERAGE = ((200, 6), (1000, 3), (8000, 1))  # rows, tables
NAME = "tabular_trust"

Curve = Callable[[np.ndarray], np.ndarray]
TRUE: dict[str, Curve] = {
    "x0": lambda u: np.sin(2 * u),
    "x1": lambda u: 0.5 * u**2 - 2 / 3,
    "x2": lambda u: 0.3 * u,
}


def table(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Return inputs, even on [-2, 2], and the sum of three curves and the pair of x0 and x1."""
    rng = np.random.default_rng([rows, seed])
    x = rng.uniform(-2, 2, (rows, 4))
    curves = sum(TRUE[f"x{k}"](x[:, k]) for k in range(3))
    return x, curves + 0.8 * x[:, 0] * x[:, 1], rng


def coverage(log: Log, smoke: bool) -> None:
    for rows, tables in COVERAGE[: 1 if smoke else None]:
        for seed in range(1 if smoke else tables):
            for task in ("numbers", "classes"):
                for model in ("RAN", "EBM"):
                    key = {"study": "coverage", "task": task, "model": model, "rows": rows,
                           "seed": seed}  # fmt: skip
                    if not log.has(**key) and (model == "RAN" or (rows <= 1000 and seed < 1)):
                        log.add(**key, **_covered(task, model, rows, seed))


def _covered(task: str, model: str, rows: int, seed: int) -> dict[str, float]:
    x, f, rng = table(rows, seed)
    factor = STEEP if task == "classes" else 1.0
    y = f + 0.5 * rng.normal(size=rows)
    if task == "classes":
        y = rng.random(rows) < 1 / (1 + np.exp(-STEEP * f))
    start = time.process_time()
    fitted = _ran(task, x, y) if model == "RAN" else _ebm(task, x, y)
    found: dict[str, float] = {"seconds": round(time.process_time() - start, 2)}
    grid = np.linspace(-1.96, 1.96, POINTS)
    inside = {}
    for k, (name, curve) in enumerate(TRUE.items()):
        effect, std = fitted(k, grid)
        inside[name] = np.abs(effect - factor * curve(grid)) <= 1.96 * std
    paired = np.stack([inside["x0"], inside["x1"]])
    found |= {"paired": float(paired.mean()), "alone": float(inside["x2"].mean())}
    found["edges"] = float(paired[:, [0, 1, 2, -3, -2, -1]].mean())
    if model == "RAN":
        new, truth, _ = table(NEW, 10_000 + seed)
        mean, std = fitted(None, new)
        found["mean"] = float((np.abs(mean - factor * truth) <= 1.96 * std).mean())
    return found


Fitted = Callable[[Any, np.ndarray], tuple[np.ndarray, np.ndarray]]


def _ran(task: str, x: np.ndarray, y: np.ndarray) -> Fitted:
    model = (ra.RANClassifier() if task == "classes" else ra.RANRegressor(link="identity")).fit(
        x, y
    )

    def at(k: int | None, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if k is None:
            rows = model._rows(points)
            return model.model_.decision(rows)[:, 0], model.model_.spread(rows)[:, 0]
        if f"x{k}" not in model.effects_:
            return np.zeros(len(points)), np.zeros(len(points))
        values = np.zeros((len(points), x.shape[1]))
        values[:, k] = points
        effect = model.effects_[f"x{k}"]
        spread = effect.spread(values)
        assert spread is not None
        return effect.at(values)[:, 0], spread[:, 0]

    return at


def _ebm(task: str, x: np.ndarray, y: np.ndarray) -> Fitted:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    kind = ExplainableBoostingClassifier if task == "classes" else ExplainableBoostingRegressor
    model = kind(n_jobs=1, random_state=0).fit(x, y)

    def at(k: int | None, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert k is not None
        code = np.searchsorted(model.bins_[k][0], points, side="right") + 1
        return model.term_scores_[k][code], model.standard_deviations_[k][code]

    return at


def pairs(log: Log, smoke: bool) -> None:
    """Plant three pairs among eight inputs that go together (0.6)."""
    planted = {("x0", "x1"), ("x2", "x5"), ("x3", "x7")}
    for rows in (1000, 4000)[: 1 if smoke else None]:
        for seed in range(1 if smoke else 3):
            key = {"study": "pairs", "rows": rows, "seed": seed}
            if log.has(**key):
                continue
            rng = np.random.default_rng([rows, seed])
            x = np.sqrt(0.6) * rng.normal(size=(rows, 1)) + np.sqrt(0.4) * rng.normal(
                size=(rows, 8)
            )
            f = x[:, 0] + np.sin(x[:, 4]) + 0.5 * x[:, 6] ** 2 + x[:, 0] * x[:, 1]
            f += np.abs(x[:, 2]) * x[:, 5] + 1.0 * ((x[:, 3] > 0) & (x[:, 7] > 0))
            model = ra.RANRegressor(link="identity").fit(x, f + rng.normal(size=rows))
            found = {e.inputs: e.share for e in model.effects_.values() if e.kind == "pair"}
            best = sorted(found, key=lambda pair: -found[pair])
            log.add(
                **key, hits=len(planted & set(best[:3])),
                false=sum(share > 0.01 for pair, share in found.items() if pair not in planted),
                pairs=len(found),
            )  # fmt: skip


def body(rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray, np.random.Generator]:
    """Return ten measures of two factors, and what the factors say."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(rows, 2))
    loads = rng.uniform(0.5, 1, (10, 2))
    x = 100 + 10 * (factors @ loads.T) + rng.normal(size=(rows, 10))
    names = [f"measure {k}" for k in range(10)]
    return pd.DataFrame(x, columns=names), 20 + factors @ np.array([6.0, 2.0]), rng


def credit(rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray, np.random.Generator]:
    """Return fifteen columns of one factor with codes that stand in several at once."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(rows, 2))
    x = pd.DataFrame()
    for k in range(15):
        mixed = z[:, 0] if k % 2 else 0.8 * z[:, 0] + 0.6 * z[:, 1]
        x[f"c{k}"] = np.round(50 + 18 * (0.93 * mixed + 0.37 * rng.normal(size=rows))).clip(0, 110)
    f = 0.05 * (x.c0 - 50) + 0.8 * np.tanh((x.c6 - 55) / 12) - 0.0012 * (x.c13 - 50).clip(0) ** 2
    f = (f + 0.0006 * (x.c1 - 50) * (x.c12 - 50)).clip(-4, 4).to_numpy()
    none, clean, light = rng.random(rows) < 0.06, rng.random(rows) < 0.15, rng.random(rows) < 0.1
    f = np.where(none, -0.6, f + 0.7 * clean - 0.3 * light)
    x.loc[clean, ["c5", "c7", "c8"]] = -7
    x.loc[light, ["c11", "c13"]] = -8
    x.loc[none] = -9
    return x, f, rng


def collinear(log: Log, smoke: bool) -> None:
    for name, make, rows in (("body", body, 250), ("body", body, 2000), ("credit", credit, 3000)):
        for seed in range(1 if smoke else 3):
            key = {"study": "collinear", "table": name, "rows": rows, "seed": seed}
            if log.has(**key) or (smoke and rows > 250):
                continue
            x, f, rng = make(rows + 4000, seed)
            if name == "body":
                y: np.ndarray = f + 4 * rng.normal(size=len(f))
                model: Any = ra.RANRegressor(link="identity").fit(x[:rows], y[:rows])
                decision = model.predict_link(x)
                error = np.sqrt(np.mean((y - decision)[rows:] ** 2))
            else:
                y = rng.random(len(f)) < 1 / (1 + np.exp(-f))
                model = ra.RANClassifier().fit(x[:rows], y[:rows])
                decision = model.decision_function(x)
                error = np.mean(np.logaddexp(0, np.where(y, -decision, decision))[rows:])
            shown = model.explain_global()
            log.add(
                **key, widest=float(shown["std"].max() / decision[:rows].std()),
                share=float(shown["share"].max()), covariance_most=float(shown["covariance"].max()),
                covariance_least=float(shown["covariance"].min()), error=float(error),
                effects=len(shown), few=model.measured_.few(),
            )  # fmt: skip


STUDIES = {"collinear": collinear, "pairs": pairs, "coverage": coverage}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--only", nargs="*", choices=STUDIES, default=list(STUDIES))
    chosen = parser.parse_args(arguments)
    log = Log(NAME + ("_smoke" if chosen.smoke else ""), fresh=chosen.smoke)
    for name in chosen.only:
        STUDIES[name](log, chosen.smoke)


if __name__ == "__main__":
    main()
