"""A system as LaTeX, Python, C, and JSON in the words of SBML."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...discovery.law import name_in_latex, text
from ...symbols import Names

if TYPE_CHECKING:
    from ._dynamics import Dynamics


def latex(dynamics: Dynamics, digits: int, errors: bool) -> str:
    """The equations, aligned."""
    rows = [
        rf"{_left(dynamics, name)} &= {law.latex(digits, errors)}"
        for name, law in dynamics.equations.items()
    ]
    body = " \\\\\n".join(rows)
    return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"


def _left(dynamics: Dynamics, state: str) -> str:
    name = name_in_latex(state)
    if dynamics.discrete:
        return rf"{name}_{{k+1}}"
    return rf"\frac{{\mathrm{{d}} {name}}}{{\mathrm{{d}} {name_in_latex(dynamics.time)}}}"


def to_python(dynamics: Dynamics) -> str:
    """A function of each equation, and `rates` that calls them all."""
    names = _functions(dynamics)
    laws = zip(dynamics.equations.values(), names, strict=True)
    parts = [law.to_python(name) for law, name in laws]
    imports = sorted({line for part in parts for line in part.splitlines() if _imports(line)})
    bodies = ["\n".join(line for line in part.splitlines() if not _imports(line)).strip("\n")
              for part in parts]  # fmt: skip
    timed = dynamics.time in dynamics.inputs
    given = [f"inputs[{k}]" for k in range(len(dynamics.inputs) - timed)]
    arguments = ", ".join(["*state", *given, *(["t"] if timed else [])])
    calls = ", ".join(f"{name}({arguments})" for name in names)
    what = "the next state" if dynamics.discrete else "rates of change"
    order = ", ".join(dynamics.states)
    rates = (
        f"def rates(t, state, inputs=()):\n"
        f'    """Return {what} of {order}, for scipy.integrate.solve_ivp."""\n'
        f"    return numpy.array([{calls}])\n"
    )
    return "\n".join(imports) + "\n\n\n" + "\n\n\n".join([*bodies, rates])


def _imports(line: str) -> bool:
    return line.startswith(("import ", "from "))


def to_c(dynamics: Dynamics) -> str:
    """A function of each equation, and `rates` that calls them all."""
    names = _functions(dynamics)
    parts = [law.to_c(n) for law, n in zip(dynamics.equations.values(), names, strict=True)]
    includes = sorted({line for part in parts for line in part.splitlines() if line[:1] == "#"})
    bodies = ["\n".join(line for line in part.splitlines() if line[:1] != "#").strip("\n")
              for part in parts]  # fmt: skip
    timed = dynamics.time in dynamics.inputs
    places = [f"state[{k}]" for k in range(len(dynamics.states))]
    places += [f"inputs[{k}]" for k in range(len(dynamics.inputs) - timed)]
    places += ["t"] if timed else []
    calls = "\n".join(
        f"    out[{k}] = {name}({', '.join(places)});" for k, name in enumerate(names)
    )
    rates = (
        "void rates(double t, const double *state, const double *inputs, double *out)\n"
        f"{{\n    (void)t;\n    (void)inputs;\n{calls}\n}}\n"
    )
    return "\n".join(includes) + "\n\n" + "\n\n".join([*bodies, rates])


def _functions(dynamics: Dynamics) -> list[str]:
    """Names of the functions of single equations."""
    return [f"rate_of_{name}" for name in Names(list(dynamics.states)).identifiers]


def to_sbml_json(dynamics: Dynamics) -> str:
    """Species with their first values, parameters with errors, and a rate rule for each species."""
    first = dynamics.starts[0].state if dynamics.starts else [None] * len(dynamics.states)
    species = [{"id": symbol.name, "name": name, "initialAmount": None if x is None else float(x)}
               for symbol, name, x in zip(dynamics.names.symbols, dynamics.states, first,
                                          strict=False)]  # fmt: skip
    rules = [
        {"type": "assignmentRule" if dynamics.discrete else "rateRule", "variable": symbol.name,
         "math": text(law.template)}
        for symbol, law in zip(dynamics.names.symbols, dynamics.equations.values(), strict=False)
    ]  # fmt: skip
    parameters = [
        {"id": p.name, "value": p.value, "stderr": None if p.stderr != p.stderr else p.stderr}
        for p in dynamics.parameters
    ]
    model = {"listOfSpecies": species, "listOfParameters": parameters, "listOfRules": rules}
    return json.dumps({"model": model, "inputs": list(dynamics.inputs)}, indent=1)
