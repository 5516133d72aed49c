"""Real measurements: the laws found in five classical tables, beside those of the textbooks.

Each textbook's law is fitted to the same rows by least squares. Where ours is of the same form, its
numbers are compared with the textbook's, in units of their own standard errors (`off`). Needs
RAN_DATA with science_laws/ (--smoke does not).

python -m experiments.discovery.real [--smoke] [--jobs 2]
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import sympy as sp
from scipy.optimize import least_squares

from experiments.discovery import judge, laws
from experiments.discovery.calling import discovered
from experiments.discovery.real_tables import TABLES, Measured, made_up
from experiments.discovery.structure import true_values
from experiments.table import Row, Table, arguments, run


def one(measured: Measured) -> Row:
    """Return the law found, its numbers with their errors, and the textbook's beside it."""
    table = measured.read()
    names = list(measured.inputs)
    X, y = table[names].to_numpy(), table[measured.target].to_numpy()
    text, rmse = fitted_textbook(measured, table)
    row: Row = {
        "measured": measured.name, "rows": len(table), "textbook": text, "textbook_rmse": rmse,
    }  # fmt: skip
    law, row["seconds"], row["failure"] = discovered(X, y, names, measured.target)
    if law is None:
        return {**row, "found": False}
    left = law.predict(X) - y
    numbers = [
        f"{p.name}={p.value:.5g}" + (" exactly" if p.exact is not None else f"+-{p.stderr:.2g}")
        for p in law.parameters
    ]
    return {
        **row,
        "found": bool(law.grade.claimed),
        "law": str(law.rounded())[:200],
        "rmse": float(np.sqrt(np.mean(left**2))),
        "numbers": " ".join(numbers),
        "off": off_by(measured, law, table, text),
        "front": " | ".join(str(entry.formula.evalf(4)) for entry in law.pareto)[:600],
        "trust": law.trust[:400],
    }


def fitted_textbook(measured: Measured, table: pd.DataFrame) -> tuple[str, float]:
    """Return the textbook's law with its numbers fitted to the rows, and its RMSE."""
    inputs = [sp.Symbol(name) for name in measured.inputs]
    start = {sp.Symbol(name): value for name, value in measured.start}
    names = {str(symbol): symbol for symbol in (*inputs, *start)}
    formula = sp.sympify(measured.textbook, locals=names)
    function = sp.lambdify([*start, *inputs], formula, "numpy")
    columns = table[list(measured.inputs)].to_numpy(np.float64).T
    y = table[measured.target].to_numpy(np.float64)
    scale = np.array(list(start.values()))  # the numbers differ by powers of ten
    fit = least_squares(
        lambda v: function(*(v * scale), *columns) - y, np.ones(len(scale)), method="lm",
        xtol=1e-14, ftol=1e-14, gtol=1e-14,
    )  # fmt: skip
    numbers = {
        symbol: sp.Float(value, 6) for symbol, value in zip(start, fit.x * scale, strict=True)
    }
    return str(formula.xreplace(numbers)), float(np.sqrt(np.mean(fit.fun**2)))


def off_by(measured: Measured, law: object, table: pd.DataFrame, text: str) -> str:
    """Return how far the law's numbers are from the textbook's, or that the form is another."""
    ranges = [(n, float(table[n].min()), float(table[n].max())) for n in measured.inputs]
    book = laws.Problem(measured.name, "real", measured.target, text, tuple(ranges))
    truth = true_values(book, *judge.in_plain_symbols(book, law))
    if truth is None:
        return "another form"
    words = []
    for p in law.parameters:  # type: ignore[attr-defined]
        value = truth.get(sp.Symbol(f"_{p.name}"), float("nan"))
        scale = p.stderr if np.isfinite(p.stderr) and p.stderr > 0 else float("nan")
        words.append(f"{p.name}: {(p.value - value) / scale:+.2g} se")
    return " ".join(words)


def main() -> None:
    options = arguments(__doc__).parse_args()
    name = "real_smoke" if options.smoke else "real"
    table = Table(name, ("measured",), fresh=options.smoke)
    measured = [made_up()] if options.smoke else TABLES
    run(table, one, [{"measured": m} for m in measured], options.jobs)
    for row in table.rows:
        print(f"{row['measured']}: {row.get('law', '')}  (rmse {row.get('rmse', '')})")
        print(f"    textbook: {row['textbook']}  (rmse {row['textbook_rmse']}); {row.get('off')}")


if __name__ == "__main__":
    main()
