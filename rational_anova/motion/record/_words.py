"""A system in plain lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...discovery import Grade, Parameter
from ...discovery.law import short

if TYPE_CHECKING:
    from ._dynamics import Dynamics

_GRADES = {
    Grade.ESTABLISHED: "Established: no rival is comparably probable, and all tests are passed.",
    Grade.SEVERAL: "One of several: it fits the trajectories within the noise, but",
    Grade.INTERPOLATION: "Interpolation: it describes the data, but may not hold beyond them.",
    Grade.NOTHING: "Nothing: no equation of motion was found in these rows.",
}


def lines(dynamics: Dynamics) -> list[str]:
    """One equation a line."""
    if dynamics.grade is Grade.NOTHING:
        return ["no equations of motion"]
    return [f"{law.target} = {short(law.rounded())}" for law in dynamics.equations.values()]


def trust(dynamics: Dynamics) -> str:
    """The grade and its reasons."""
    if dynamics.grade is Grade.SEVERAL:
        return f"{_GRADES[Grade.SEVERAL]}: " + " ".join(dynamics.doubts)
    return " ".join([_GRADES[dynamics.grade], *dynamics.doubts])


def summary(dynamics: Dynamics) -> str:
    """Equations, error bars, what they explain, and the grade."""
    out = [*lines(dynamics), ""]
    if dynamics.name and dynamics.grade is not Grade.NOTHING:
        out.insert(0, f"{dynamics.name}:")
    if dynamics.grade is not Grade.NOTHING:
        out += [_number(p) for p in dynamics.parameters]
        out += _groups(dynamics)
        shares = [f"{name} {100 * share:.4g}%" for name, share in dynamics.explained.items()]
        out += ["", f"explained by trajectories: {', '.join(shares)}"]
    noise = [_noise(dynamics, name, value) for name, value in dynamics.noise.items()]
    runs, tried = len(dynamics.starts), dynamics.candidates
    out += [
        f"noise: {', '.join(noise)}",
        f"rows: {dynamics.rows} in {runs} run{'s' if runs > 1 else ''}, "
        f"{dynamics.seconds:.1f} s, {tried} system{'s' if tried > 1 else ''}",
        trust(dynamics),
    ]
    return "\n".join(out)


def _groups(dynamics: Dynamics) -> list[str]:
    """Which numbers groups have of their own, and how far they differ."""
    groups = dynamics.groups
    if groups is None:
        return []
    count = f"{len(groups.values)} of {groups.column}"
    own = [f"{name} ({groups.values[name].min():.4g} to {groups.values[name].max():.4g})"
           for name in groups.own]  # fmt: skip
    lines = [f"the same for all {count}: {', '.join(groups.shared)}"] if groups.shared else []
    if own:
        lines.append(f"of their own for {count}, above their mean: {', '.join(own)}")
    return lines


def _noise(dynamics: Dynamics, name: str, value: float) -> str:
    if dynamics.noise_model.get(name) == "proportional":
        return f"{name} {100 * value:.3g}% of its value"
    return f"{name} {value:.3g}"


def _number(parameter: Parameter) -> str:
    name, value = parameter.name, parameter.value
    exact, error = parameter.exact, parameter.stderr
    unit = f" {parameter.unit}" if parameter.unit not in ("", "1") else ""
    if exact is not None:
        return f"{name} = {exact}{unit} (taken as exact; fitted within +- {error:.2g})"
    return f"{name} = {value:.6g} +- {error:.2g}{unit}"
