"""Functions of pykan's tutorials as formulas, by a network that is fitted, pruned and read.

Ours goes from a shallow network to deeper ones and stops at the first that is read as a formula
which holds to rounding; else the reading with the least error on rows that validate counts. pykan
does what its tutorial "Hello, KAN!" does, with the widths of its tutorials and 20 steps for each
fit. What `discover` makes of the same functions, without a network, is recorded by
`experiments.discovery.kan`. Errors are those of the formulas on 1,000 rows that nobody
has seen, root mean squares over the spread.

python -m experiments.symbolic.functions [--smoke] [--jobs 1]
"""

from __future__ import annotations

import tempfile
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
import torch

import rational_anova as ra
from experiments.table import Row, Table, arguments, run

_ROWS, _NEW = 500, 1000
_SHAPES: tuple[tuple[int, ...], ...] = ((), (5,), (5, 1))
_RESTARTS = {0: 1, 1: 4, 2: 16}  # by the number of hidden layers
_SHORT = 40


class Function(NamedTuple):
    """A function, the range of its inputs, and pykan's widths for it."""

    formula: str
    inputs: tuple[str, ...]
    low: float
    high: float
    widths: tuple[int, ...]


FUNCTIONS = {
    "exponential of a sum": Function("exp(sin(pi*x) + y**2)", ("x", "y"), -1, 1, (2, 5, 1)),
    "product": Function("x*y", ("x", "y"), -1, 1, (2, 5, 1)),
    "quotient": Function("x/y", ("x", "y"), 0.5, 2, (2, 5, 1)),
    "two layers": Function(
        "exp((sin(pi*(a**2 + b**2)) + sin(pi*(c**2 + d**2)))/2)",
        ("a", "b", "c", "d"), -1, 1, (4, 2, 1, 1),
    ),
}  # fmt: skip


def rows(function: Function, seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and values."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(function.low, function.high, (count, len(function.inputs)))
    law = sp.sympify(function.formula)
    return X, sp.lambdify(sp.symbols(function.inputs), law)(*X.T)


def error_of(formula: Any, names: tuple[str, ...], X: np.ndarray, y: np.ndarray) -> float:
    """Return the error of a formula on rows, inf where it has no value."""
    with np.errstate(all="ignore"):
        found = sp.lambdify(sp.symbols(names), formula, ["scipy", "numpy"])(*X.T)
        found = np.broadcast_to(np.asarray(found, dtype=complex), y.shape)
    error = float(np.sqrt(np.mean(np.abs(found - y) ** 2)) / y.std())
    return error if np.isfinite(error) else np.inf


def ours(function: Function, X: np.ndarray, y: np.ndarray, seed: int) -> tuple[Any, str]:
    """Return the formula, and the shape of the network that it was read from."""
    best: Any = None
    inputs = len(function.inputs)
    for hidden in _SHAPES:
        torch.manual_seed(seed)
        pairs, degrees = ("all", (3, 2)) if not hidden else ("none", (4, 4))
        net = ra.LayeredRAN(inputs, 1, hidden, degrees, pairs=pairs, dtype=torch.float64)
        net.fit((X, y), restarts=_RESTARTS[len(hidden)], restart_noise=0, epochs=_SHORT, seed=seed)
        net.fit((X, y))
        small = net.prune(X, y, seed=seed)
        small.fit((X, y))
        reading = ra.read_network(small, X, y, names=function.inputs, seed=seed)
        shape = "-".join(map(str, small.widths))
        if best is None or reading.held_out_error < best[0].held_out_error:
            best = reading, shape
        if reading.exact:
            break
    return best[0].formula, best[1]


def pykan(function: Function, X: np.ndarray, y: np.ndarray, seed: int) -> tuple[Any, str]:
    """Return the formula of pykan's own workflow: fit, prune, refine, auto_symbolic, fit."""
    from kan import KAN

    torch.set_default_dtype(torch.float64)
    count = len(X) * 4 // 5
    tensors = [torch.tensor(part) for part in (X, y[:, None])]
    names = ("train_input", "train_label", "test_input", "test_label")
    parts = [t[s] for s in (slice(count), slice(count, None)) for t in tensors]
    data = dict(zip(names, parts, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        model = KAN(
            list(function.widths), grid=3, k=3, seed=seed, ckpt_path=folder, auto_save=False
        )
        model(data["train_input"])
        model.fit(data, opt="LBFGS", steps=20, lamb=0.001)
        model = model.prune()
        model.fit(data, opt="LBFGS", steps=20)
        model = model.refine(10)
        model.fit(data, opt="LBFGS", steps=20)
        model.auto_symbolic(verbose=0)
        model.fit(data, opt="LBFGS", steps=20)
        formula = model.symbolic_formula(var=list(sp.symbols(function.inputs)))[0][0]
        return formula, "-".join(map(str, (n for n, _ in model.width)))


_ORDER = ("product", "quotient", "exponential of a sum", "two layers")  # the slow ones last
METHODS = {"ours": ours, "pykan": pykan}


def measured(function: str, method: str, seed: int) -> Row:
    """Return the row of one run."""
    case = FUNCTIONS[function]
    X, y = rows(case, seed, _ROWS)
    new_X, new_y = rows(case, 1000 + seed, _NEW)
    begun = time.perf_counter()
    formula, shape, failure = None, "", ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            formula, shape = METHODS[method](case, X, y, seed)
        except Exception as problem:
            failure = type(problem).__name__
    seconds = time.perf_counter() - begun
    error = np.inf if formula is None else error_of(formula, case.inputs, new_X, new_y)
    numbers = 0 if formula is None else len(formula.atoms(sp.Float))
    return {
        "function": function, "method": method, "seed": seed, "error": error, "shape": shape,
        "numbers": numbers, "operations": 0 if formula is None else int(sp.count_ops(formula)),
        "seconds": seconds, "failure": failure,
        "formula": "" if formula is None else str(_short(formula)),
    }  # fmt: skip


def _short(formula: Any) -> Any:
    """A formula with three digits of each number, for the table."""
    return formula.xreplace({f: sp.Float(f, 3) for f in formula.atoms(sp.Float)})


def main() -> None:
    options = arguments(__doc__, jobs=1).parse_args()
    key = ("function", "method", "seed")
    table = Table(
        "functions_smoke" if options.smoke else "functions", key, options.smoke, "symbolic"
    )
    cases = [(f, m, s) for m in METHODS for f in _ORDER for s in range(3)]
    if options.smoke:
        cases = [("product", "ours", 0)]
    run(table, measured, [dict(zip(key, case, strict=True)) for case in cases], options.jobs)


if __name__ == "__main__":
    main()
