"""`ran show`: what a file of this library holds, in plain lines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sympy

_SMALL = 200  # parameters, up to which a formula is printed


def show(path: str | os.PathLike[str]) -> None:
    """Print what a file holds: its kind and version, and a summary of the object."""
    from .._core.records import built, open_file
    from ._console import console, say

    found = open_file(path)
    version, library = found.header["version"], found.header["library"]
    if found.kind == "surgery":
        lines = _places(found.content)
    elif found.kind == "network":
        lines = _network(built(found))
    else:
        lines = built(found).summary()
    head = f"{found.kind}, version {version}, written by rational-anova {library}"
    say(console(), f"{head}\n{lines}")


def _network(model: Any) -> str:
    from ..budgets import count_parameters
    from ..networks import RAN
    from ..units import RationalUnit

    count = count_parameters(model)
    lines = [repr(model), f"{count:,} parameters"]
    topology = getattr(model, "topology", None)
    if topology is not None:
        lines.append(f"{topology!r}{_pairs(topology)}")
    if isinstance(model, RAN | RationalUnit) and count <= _SMALL:
        lines += [f"y{n} = {readable(f, 6)}" for n, f in enumerate(model.to_sympy())]
    return "\n".join(lines)


def _pairs(topology: Any) -> str:
    shown = ", ".join(f"{i} x {j}" for i, j in topology.pairs[:12])
    more = ", ..." if len(topology.pairs) > 12 else ""
    return f": {shown}{more}" if shown else ""


def _places(plan: Any) -> str:
    places = plan["places"]
    lines = [f"  {entry['name']}: {entry['class']}" for entry in places]
    head = f"the plan of a surgery with {len(places)} places; ra.reapply_ does it again"
    return "\n".join([head, *lines])


def readable(formula: sympy.Expr, digits: int) -> str:
    """Return a formula with all numbers rounded, log(1 + exp(q)) as softplus(q)."""
    import sympy

    named = formula.replace(
        lambda part: part.func is sympy.log and (part.args[0] - 1).func is sympy.exp,
        lambda part: sympy.Function("softplus")((part.args[0] - 1).exp),
    )
    floats = named.atoms(sympy.Float)
    return str(named.xreplace({number: sympy.Float(number, digits) for number in floats}))
