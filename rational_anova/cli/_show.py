"""`ran show`: what a file of this library holds, in plain lines."""

from __future__ import annotations

import os
import zipfile
from typing import Any

import sympy

from ..budgets import count_parameters
from ..networks import RAN
from ..serialization import load
from ..tabular import load_estimator
from ..units import RationalUnit
from ._console import console, say

_SMALL = 200  # parameters, up to which a formula is printed
_TOP = 12  # effects that are printed


def show(path: str | os.PathLike[str]) -> None:
    """Print the architecture, the size and, if it is small, the formula of a saved model."""
    found = _estimator(path) if zipfile.is_zipfile(path) else _network(load(path))
    say(console(), "\n".join(found))


def _network(model: Any) -> list[str]:
    count = count_parameters(model)
    lines = [repr(model), f"{count:,} parameters"]
    if isinstance(model, RAN | RationalUnit) and count <= _SMALL:
        lines += [f"y{n} = {readable(formula, 6)}" for n, formula in enumerate(model.to_sympy())]
    return lines


def _estimator(path: str | os.PathLike[str]) -> list[str]:
    model = load_estimator(path)
    effects = model.explain_global().head(_TOP).to_string(index=False)
    return [repr(model), f"{len(model.effects_)} effects; the largest:", effects]


def readable(formula: sympy.Expr, digits: int) -> str:
    """Return a formula with all numbers rounded, log(1 + exp(q)) as softplus(q)."""
    named = formula.replace(
        lambda part: part.func is sympy.log and (part.args[0] - 1).func is sympy.exp,
        lambda part: sympy.Function("softplus")((part.args[0] - 1).exp),
    )
    floats = named.atoms(sympy.Float)
    return str(named.xreplace({number: sympy.Float(number, digits) for number in floats}))
