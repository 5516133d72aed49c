"""What may be claimed of a system: its rivals, tests of what it leaves over, a forecast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from .._core.types import Array
from ..discovery import Grade
from ..symbols import program
from ._choice import Choice, Fitted, assembled, key_of, listed
from ._finish import Finished
from ._runs import Run, input_at
from ._shooting import Rows, predicted_variance, shot
from ._simulate import simulated
from .known import called
from .record import Rival

# Scores are minus twice a log probability, and thresholds those of discovery where they are alike.
OVER_CHANCE = 10.0  # by so much a system must be more probable than states that do not change
COMPARABLE = 0.2  # of the weight of the best: another system of so much is level with it
NEIGHBOURS, STRONG_SHAPE = 3.0, 4.5  # standard deviations of the correlation of neighbours
EXACT = 1e-6  # of the spread: what is left over is the rounding of the data
FEW_ROWS = 4  # cells that each fitted number must have
FIRST_PART, FEWEST = 0.7, 8  # of a run, that the rest is forecast from; rows that this takes
ASTRAY = 3.0  # mean square of a forecast's error, in units of its variance
UNKNOWN = 0.5  # standard error of a number relative to it, beyond which it is hardly known
PLAIN = 2.5  # price of a cube: dearer terms of a system without a name are a doubt under noise
FEW_TERMS = 3  # of an equation without a name that is established under noise
_SHOWN = 12  # rivals
_PLACES, _SAME = 200, 1e-3  # at which two systems are compared, and how near they are as one


@dataclass(frozen=True)
class Judgement:
    """A grade, its reasons, and the rivals."""

    grade: Grade
    doubts: tuple[str, ...]
    rivals: tuple[Rival, ...]


def judged(choice: Choice, best: Fitted, settled: Finished, stopped: bool) -> Judgement:
    """Grade a system."""
    rivals = _rivals(choice, best)
    if not any(side.terms or side.fixed != 0 for side in best.sides):
        return Judgement(Grade.NOTHING, ("No term was found to matter.",), rivals)
    if _still(choice) - best.score < OVER_CHANCE:
        doubt = "It does not fit significantly better than constant states."
        return Judgement(Grade.NOTHING, (doubt,), rivals)
    against = tuple(_against(choice, settled))
    if against:
        return Judgement(Grade.INTERPOLATION, against, rivals)
    doubts = tuple(_doubts(choice, best, settled, rivals, stopped))
    return Judgement(Grade.SEVERAL if doubts else Grade.ESTABLISHED, doubts, rivals)


def _rivals(choice: Choice, best: Fitted) -> tuple[Rival, ...]:
    weighed = sorted((f for f in choice.seen.values() if np.isfinite(f.score)),
                     key=lambda f: f.score)[:_SHOWN]  # fmt: skip
    shares = np.exp(-np.array([f.score - weighed[0].score for f in weighed]) / 2)
    shares /= shares.sum()
    return tuple(
        Rival(_formulas(choice, f), float(share), len(f.trajectories.theta), f is best)
        for f, share in zip(weighed, shares, strict=True)
    )


def _formulas(choice: Choice, fitted: Fitted) -> tuple[sp.Expr, ...]:
    """Right-hand sides with their numbers, the mean ones if groups have their own."""
    system, theta = assembled(fitted.sides, choice.states, choice.inputs)
    values = dict(zip(system.parameters, map(sp.Float, theta.tolist()), strict=True))
    return tuple(right.xreplace(values) for right in system.right)


def _still(choice: Choice) -> float:
    """Score of states that do not change in a run."""
    means = [np.broadcast_to(np.nanmean(run.X, axis=0), run.X.shape) for run in choice.rows.runs]
    squares = np.nansum(((choice.rows.X - np.concatenate(means)) / choice.rows.sizes) ** 2, axis=0)
    counts = np.isfinite(choice.rows.X).sum(axis=0)
    return float(counts @ np.log(squares / counts + choice.data.floor**2))


def is_exact(choice: Choice, settled: Finished) -> bool:
    """Whether nothing is left over but rounding."""
    spread = np.nanstd(choice.rows.X, axis=0)
    return bool((settled.trajectories.noise < EXACT * spread).all())


def _against(choice: Choice, settled: Finished) -> Iterator[str]:
    """Reasons to take the system for a mere curve through the rows."""
    cells, numbers = np.isfinite(choice.rows.X).sum(), len(settled.trajectories.theta)
    if numbers * FEW_ROWS > cells:
        yield f"It has {numbers} fitted parameters for {cells} measurements."
    if not is_exact(choice, settled) and _alike(choice, settled) > STRONG_SHAPE:
        yield "The residuals are not random: those of neighbouring rows are correlated."


def _alike(choice: Choice, settled: Finished) -> float:
    """By how many standard deviations neighbours are missed alike, of the worst state."""
    X, begin = choice.rows.X, choice.rows.begin
    left = (X - settled.trajectories.nodes[:, : X.shape[1]]) / choice.rows.sizes
    products = np.nansum(left[begin] * left[begin + 1], axis=0)
    squares, counts = np.nansum(left**2, axis=0), np.isfinite(X).sum(axis=0)
    return float(np.max(np.sqrt(counts) * products / np.maximum(squares, 1e-300)))


def _doubts(
    choice: Choice, best: Fitted, settled: Finished, rivals: tuple[Rival, ...], stopped: bool
) -> Iterator[str]:  # fmt: skip
    """Reasons not to call the system established."""
    own = max((r.weight for r in rivals if r.own), default=0.0)
    level = [r for r in rivals if not r.own and r.weight > COMPARABLE * own
             and not _same(choice, best, r)]  # fmt: skip
    if level:
        many = "Another system fits" if len(level) == 1 else f"{len(level)} other systems fit"
        yield f"{many} as well (weight {level[0].weight:.2f} to {own:.2f})."
    if stopped:
        yield "The search ran out of time."
    if is_exact(choice, settled):
        return
    if _alike(choice, settled) > NEIGHBOURS:
        yield "The residuals show a pattern."
    few = [run.group for run in choice.rows.runs if choice.groups and _few_rows(choice, best, run)]
    if few:
        yield f"There are few rows of {few[0]}: its parameters depend on those of the other groups."
    theta = np.abs(settled.trajectories.theta)
    loose = [p for p, value, error in zip(settled.system.parameters, theta, settled.errors,
             strict=True) if not error < UNKNOWN * value]  # fmt: skip
    if loose:
        yield f"The data hardly determine {', '.join(_names(choice, best, loose))}."
    if key_of(best.sides) not in choice.named:
        yield from _unnamed(best)
    missed = forecast_error(choice, settled)
    if missed is not None and not missed < ASTRAY:
        yield "Fitted to the first part of the runs, it does not forecast the rest."


def _names(choice: Choice, best: Fitted, symbols: Sequence[sp.Symbol]) -> list[str]:
    """What numbers are called, each once: those of groups stand beside each other."""
    names, count = called(listed(best.sides)), max(len(choice.groups), 1)
    places = [int(symbol.name[1:]) // count for symbol in symbols]
    return list(dict.fromkeys(names[sp.Symbol(f"c{place}")].name for place in places))


def _few_rows(choice: Choice, best: Fitted, run: Run) -> bool:
    """Whether the group of a run has too few measurements for numbers of its own."""
    own = [r for r in choice.rows.runs if r.group == run.group]
    cells = sum(np.isfinite(r.X).sum() for r in own)
    return bool(cells < FEW_ROWS * sum(side.size for side in best.sides))


def _unnamed(best: Fitted) -> Iterator[str]:
    """Doubts about a system that no textbook has, found in noisy rows."""
    longest = max(len(side.terms) - side.held for side in best.sides)
    if longest > FEW_TERMS:
        yield f"An equation has {longest} terms: so many follow many a curve, with this noise."
    terms = [term for side in best.sides[len(best.sides) - len(best.trajectories.counts) :]
             for term in side.terms[side.held :]]  # fmt: skip
    rare = [str(term.expression) for term in terms if term.price > PLAIN]
    if rare:
        yield (
            f"It has no name, and a term of a rare kind ({rare[0]}): with this noise, others "
            "would do as well."
        )


def _same(choice: Choice, best: Fitted, rival: Rival) -> bool:
    """Whether a rival is the same function of the states, written in other terms."""
    nodes = best.trajectories.nodes
    inputs = choice.rows.inputs(1)[0, 0]
    rng = np.random.default_rng(0)
    x = rng.uniform(nodes.min(axis=0), nodes.max(axis=0), (_PLACES, nodes.shape[1]))
    u = inputs[rng.integers(0, len(inputs), _PLACES)]
    arguments = (*choice.states, *choice.inputs)
    other = np.stack([np.broadcast_to(v, _PLACES)
                      for v in program(arguments, rival.formulas)(*x.T, *u.T)], axis=1)  # fmt: skip
    own = best.system.rates(x, u, best.trajectories.theta)
    return bool((np.abs(other - own).max(axis=0) <= _SAME * np.abs(own).max(axis=0)).all())


def forecast_error(choice: Choice, settled: Finished) -> float | None:
    """Mean square by which a fit to the first part of each run misses the rest, over its variance.

    None if runs are too short; inf if the fit or the simulation fails.
    """
    runs = choice.rows.runs
    lengths = [len(run.t) for run in runs]
    cuts = [int(n * FIRST_PART) if n * FIRST_PART >= FEWEST else n for n in lengths]
    if choice.discrete or cuts == lengths:
        return None
    late = np.concatenate([np.arange(len(r.t)) >= c for r, c in zip(runs, cuts, strict=True)])
    sizes = np.broadcast_to(choice.rows.sizes, choice.rows.X.shape)
    first = Rows.of([r.until(c) for r, c in zip(runs, cuts, strict=True)], choice.rows.timed,
                    sizes=sizes[~late])  # fmt: skip
    nodes = np.split(settled.trajectories.nodes, np.cumsum([len(r.t) for r in runs])[:-1])
    early = np.concatenate([n[:c] for n, c in zip(nodes, cuts, strict=True)])
    fit = shot(settled.system, first, settled.trajectories.theta, early, settled.sigma)
    if not np.isfinite(fit.squares).all():
        return np.inf
    parts = [_ahead(choice, settled, run, fit.theta, fit.nodes[at])
             for run, at in zip(runs, first.first, strict=True)]  # fmt: skip
    whole = np.concatenate(parts)
    if not np.isfinite(whole).all():
        return np.inf
    variance = predicted_variance(settled.system, choice.rows, fit, whole, settled.sigma)
    measured = choice.rows.X.shape[1]
    noise = (settled.sigma * sizes) ** 2
    error = (choice.rows.X - whole[:, :measured]) ** 2 / (noise + variance)
    return float(np.nanmean(error[late]))


def _ahead(choice: Choice, settled: Finished, run: Run, theta: Array, start: Array) -> Array:
    timed = choice.rows.timed
    return simulated(settled.system, theta, start, run.t,
                     lambda t: input_at(run, np.array(t), timed))  # fmt: skip
