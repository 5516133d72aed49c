"""What a file of this library holds, in plain lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core.records import Found, built

if TYPE_CHECKING:
    import sympy

_SMALL = 200  # parameters, up to which a formula is printed


def described(found: Found) -> tuple[Any, str]:
    """Return the object that a file holds (None for the plan of a surgery), and lines about it."""
    version, library = found.header["version"], found.header["library"]
    obj = None if found.kind == "surgery" else built(found)
    if obj is None:
        lines = _places(found.content)
    elif found.kind == "network":
        lines = _network(obj)
    else:
        lines = obj.summary()
    return obj, f"{found.kind}, version {version}, written by rational-anova {library}\n{lines}"


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
        lines += [f"y{n} = {shortened(f, 6)}" for n, f in enumerate(model.to_sympy())]
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


def shortened(formula: sympy.Expr, digits: int) -> str:
    """Return a formula with all numbers rounded, log(1 + exp(q)) as softplus(q)."""
    import sympy

    from ..symbols import with_softplus

    named = with_softplus(formula)
    floats = named.atoms(sympy.Float)
    return str(named.xreplace({number: sympy.Float(number, digits) for number in floats}))
