"""Effects that only rise or only fall: the same penalised fit, under slopes of one sign."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..._core.types import Array
from ..fit import START_PENALTY, Fit, Problem, evidence_ridge, solve
from ..model import Additive, Feature, Heads, Term
from ._cone import Cone, Held, reaching, stairs
from ._proof import Proof, proof_of

NEWTON = 6  # steps at most, for classes
SETTLED = 1e-3  # mean change of the decision at which they stop


def position(one: Any, names: list[str], what: str) -> int:
    """Return the position of an input that is given by its name or position."""
    if isinstance(one, str) and one in names:
        return names.index(one)
    if isinstance(one, int | np.integer) and not isinstance(one, bool) and 0 <= one < len(names):
        return int(one)
    raise ValueError(f"{what} names {one!r}, which is no input; there are {names}")


def as_signs(monotone: Any, features: list[Feature]) -> dict[int, int]:
    """Return the option `monotone` as a sign for each constrained input.

    Args:
        monotone: a dict from names or positions of inputs to +1 (rising), -1 (falling) or 0 (free);
            or None.
        features: the inputs.
    """
    if monotone is None:
        return {}
    if not isinstance(monotone, Mapping):
        raise ValueError(
            f"monotone takes a dict such as {{'age': 1}}, of inputs and signs, got {monotone!r}"
        )
    names = [f.name for f in features]
    signs: dict[int, int] = {}
    for one, sign in monotone.items():
        i = position(one, names, "monotone")
        if isinstance(sign, bool) or sign not in (1, -1, 0):
            raise ValueError(
                f"monotone[{one!r}] must be 1 (rising), -1 (falling) or 0 (free), got {sign!r}"
            )
        if i in signs and signs[i] != sign:
            raise ValueError(f"monotone names {names[i]!r} twice, with signs {signs[i]} and {sign}")
        if sign and features[i].category:
            raise ValueError(
                f"monotone names {names[i]!r}, a category: its levels have no order to rise along; "
                "give the column as numbers, or leave it out"
            )
        signs[i] = int(sign)
    return {i: sign for i, sign in signs.items() if sign}


def proofs(model: Additive, signs: dict[int, int]) -> dict[str, Proof]:
    """Return the proof of each constrained input of a fitted model, by name."""
    return {model.features[i].name: proof_of(model, i, sign) for i, sign in signs.items()}


def constrain(problem: Problem, fit: Fit, signs: dict[int, int]) -> Fit:
    """Return the same penalised fit with effects that are proved to rise or to fall.

    An effect is the sum of all heads of an input, between its least and greatest number in the
    rows; what missing numbers get is left free.

    Args:
        problem: rows and targets of one output.
        fit: without constraints.
        signs: +1 or -1 for inputs that have main effects only.
    """
    if len(fit.solutions) != 1:
        raise ValueError(
            f"monotone needs one output, got {len(fit.solutions)}: it is for a number and for two "
            "classes"
        )
    fit = _enriched(problem, fit, signs)
    inputs = [_held(problem, fit, i, sign) for i, sign in signs.items() if _heads(fit, i)]
    if not inputs:
        return fit
    solution = fit.solutions[0]
    if problem.loss.quadratic:
        theta = Cone(inputs, solution.theta, solution.factor).proved()
    else:
        theta = _newton(problem, fit, inputs)
    f = fit.design.apply(theta)[:, None]
    noise = solution.noise
    if problem.loss.quadratic:  # what the constraints leave over is noise, too
        freedom = max(problem.count - solution.edf.sum() - 1, 0.1 * problem.count)
        rest = problem.loss.mean(problem.y, f, problem.weight) * problem.count / freedom
        noise = max(noise, rest)
    line = ("monotone", len(fit.terms), len(theta), float(fit.edf.sum()))
    return replace(
        fit, solutions=[replace(solution, theta=theta, noise=noise)], f=f,
        history=[*fit.history, line],
    )  # fmt: skip


def _heads(fit: Fit, axis: int) -> list[tuple[int, Heads]]:
    """Return the heads of an input with the positions of their terms."""
    found = []
    for k, term in enumerate(fit.terms):
        if axis not in term.axes:
            continue
        if len(term.axes) > 1:
            raise ValueError(f"input {axis} is monotone, and must take no part in pairs")
        basis = term.bases[0]
        if isinstance(basis, Heads):
            if basis.values is not None:
                raise ValueError(f"input {axis} is a category: its levels have no order")
            found.append((k, basis))
    return found


def _range(problem: Problem, axis: int, heads: Heads) -> tuple[float, float]:
    x = problem.rows.coordinate(axis, heads)
    return float(np.nanmin(x)), float(np.nanmax(x))


def _enriched(problem: Problem, fit: Fit, signs: dict[int, int]) -> Fit:
    """Return a fit with the heads that a curve needs to rise over long tails, or by stairs."""
    new = []
    for i in signs:
        heads = [basis for _, basis in _heads(fit, i)]
        if not heads:
            continue
        x = problem.rows.coordinate(i, heads[0])
        ends = _range(problem, i, heads[0])
        for more in (reaching(heads, *ends), stairs(np.unique(x[~np.isnan(x)]))):
            if more is not None and not any(_same(more, h) for h in heads):
                more = replace(more, special=heads[0].special)
                new.append(Term((i,), (more.filled(x, problem.weight),)))
    if not new:
        return fit
    start = np.full((len(new), 1), START_PENALTY)
    found = solve(problem, [*fit.terms, *new], 3, fit, np.concatenate([fit.penalty, start]))
    line = ("heads to rise", len(found.terms), len(found.theta), float(found.edf.sum()))
    return replace(found, edf_heads=fit.edf_heads, history=[*fit.history, line])


def _same(one: Heads, other: Heads) -> bool:
    return len(one.centre) == len(other.centre) and np.allclose(one.centre, other.centre)


def _held(problem: Problem, fit: Fit, axis: int, sign: int) -> Held:
    """Return the heads of an input with its range."""
    found = _heads(fit, axis)
    columns = np.concatenate([np.flatnonzero(fit.design.group == k) for k, _ in found])
    scale = fit.design.scale[columns]
    ends = _range(problem, axis, found[0][1])
    return Held([basis for _, basis in found], columns, scale, sign, *ends)


def _newton(problem: Problem, fit: Fit, inputs: list[Held]) -> Array:
    """Return coefficients for a loss that is not quadratic; those of the last step are proved."""
    design, loss, f = fit.design, problem.loss, fit.f
    for step in range(NEWTON):
        r, h = loss.working(problem.y, f, 0)
        gram = design.gram(problem.weight * h, f[:, 0] + r)
        free = evidence_ridge(
            *gram,
            problem.count,
            design.group,
            fit.solutions[0].penalty,
            design.main,
            0,
            loss.fixed_noise,
        )
        cone = Cone(inputs, free.theta, free.factor)
        theta = cone.sampled()
        previous, f = f, design.apply(theta)[:, None]
        if step and float(np.abs(f - previous).mean()) < SETTLED:
            break
    return cone.proved()
