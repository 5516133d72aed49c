"""A fingerprint of what the library answers, to see that a change of the house changed nothing.

Predictions of the estimators on five tables, laws of the sixty Feynman equations without noise and
with 1 %, certificates of two hundred units. The first run records; later runs compare with it.

python -m experiments.behaviour [--jobs 2] [--again]
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import sympy as sp
import torch

import rational_anova as ra
from experiments.certificates.soundness import draw, settings
from experiments.discovery.judge import noisy_table
from experiments.discovery.laws import feynman
from experiments.results import read, write
from experiments.table import arguments
from experiments.tabular.tables import tables
from rational_anova.certificates import PoleError

TABLES = ("auto_mpg", "concrete_compressive_strength", "credit-g", "churn", "yacht_hydrodynamics")
NOISES = (0.0, 0.01)
SHOWN = 40  # rows whose predictions are kept
UNITS = 20  # of a batch of certificates
CLOSE = 1e-9  # relative difference that counts as the same

Print = dict[str, Any]


def estimator(name: str, depth: str, seed: int = 0) -> Print:
    """Fit the defaults on the first fold of a table; keep predictions, shares and the formula."""
    table = next(table for table in tables() if table.name == name)
    X, y = table.data
    train, test = table.split(0)
    kind = ra.RANRegressor if table.task == "regression" else ra.RANClassifier
    model = kind(depth=depth, random_state=seed).fit(X.iloc[train], y[train])
    rows = X.iloc[test[:SHOWN]]
    predicted = model.predict if table.task == "regression" else model.predict_proba
    return {
        "key": f"estimator {name} {depth}",
        "numbers": np.ravel(predicted(rows)).tolist(),
        "text": ", ".join(model.effects_),
    }


def law(name: str, noise: float) -> Print:
    """Find one equation again."""
    problem = next(problem for problem in feynman() if problem.name == name)
    X, y = noisy_table(problem, noise, 0)
    found = ra.discover(X, y, names=problem.names, target=problem.target, seed=0)
    return {
        "key": f"law {name} at {noise:g}",
        "numbers": [
            *found.predict(X[:SHOWN]).tolist(),
            *(p.stderr for p in found.parameters),
            found.evidence.error,
            float(found.complexity),
        ],
        "text": f"{found.grade.claimed} {sp.sstr(found.rounded())}",
    }


def certificates(seed: int) -> Print:
    """Certify a batch of units."""
    unit, box = draw(settings(seed), UNITS)
    try:
        proved = ra.certify(unit, box, samples=1)
    except PoleError as error:
        return {"key": f"certificates {seed}", "numbers": list(error.point), "text": str(error)}
    numbers = [proved.lipschitz, proved.denominator_min, proved.lipschitz_theorem]
    for record in proved.units:
        numbers += [record.lipschitz, *record.range, *np.ravel(record.slopes).tolist()]
        numbers += [record.denominator_min, record.theorem.lipschitz]
    return {"key": f"certificates {seed}", "numbers": numbers, "text": f"{len(proved.units)}"}


def tasks() -> Iterator[tuple[Any, ...]]:
    """Yield each function to call, with its arguments."""
    for seed in range(200 // UNITS):
        yield certificates, seed
    for name in TABLES:
        yield estimator, name, "shallow"
    yield estimator, TABLES[0], "deep"
    for noise in NOISES:
        for problem in feynman():
            yield law, problem.name, noise


def _alone(call: Any, *arguments: Any) -> Print:
    torch.set_num_threads(1)
    result = call(*arguments)
    # JSON has no nan and no infinity
    kept = [n if math.isfinite(n) else str(n) for n in result["numbers"]]
    return {**result, "numbers": kept}


def differs(old: Print, new: Print) -> str:
    """Say how two prints of one key differ, in words; nothing where they are the same."""
    if old["text"] != new["text"]:
        return f"was {old['text']!r}, is {new['text']!r}"
    if len(old["numbers"]) != len(new["numbers"]):
        return f"had {len(old['numbers'])} numbers, has {len(new['numbers'])}"
    a, b = (np.array(part["numbers"], dtype=float) for part in (old, new))
    scale = np.abs(a[np.isfinite(a)]).max(initial=0.0)
    same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= CLOSE * np.abs(a))
    tiny = np.abs(a - b) <= 1e-14 * scale  # rounding of zero
    worst = float(np.nanmax(np.abs(a - b) / np.abs(a), where=~(same | tiny), initial=0.0))
    return "" if (same | tiny).all() else f"{(~same).sum()} numbers differ, by {worst:.1e} at most"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--again", action="store_true", help="record anew")
    options = parser.parse_args()
    todo = list(tasks())[: 3 if options.smoke else None]
    recorded = {} if options.again or options.smoke else read("behaviour")
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        prints = joblib.Parallel(n_jobs=options.jobs)(joblib.delayed(_alone)(*t) for t in todo)
    if not recorded:
        write("behaviour_smoke" if options.smoke else "behaviour", {"prints": prints})
        return
    before = {part["key"]: part for part in recorded["prints"]}
    changes = {part["key"]: differs(before[part["key"]], part) for part in prints}
    for key, words in changes.items():
        if words:
            print(f"{key}: {words}")
    same = sum(not words for words in changes.values())
    print(f"{same} of {len(changes)} are the same")
    if same < len(changes):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
