"""Candidates in one ranking: how probable each is, given the rows and a stated prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp

from ..._core.types import Array
from ..catalogue import NamedForm
from ..fitting import Fit
from ..search import Template, small_sample, written

# Minus twice the log of the prior probability, stated and not fitted: laws that every textbook has
# before those of a field, by e**-2.5, and these before rare ones; named laws before made-up
# formulas, which share what is left by their length. A number more is paid for once more than by
# BIC alone, which lets a useless one pass for one seventh at fifty rows; and beyond four of them
# once more again, since a formula of seven numbers follows any bend, named or not.
PRIOR = {1: 6.0, 2: 11.0, 3: 16.0}
NUMBER = 2.0
FEW, MANY = 4, 3.0
MADE_UP, OPERATION = 14.0, 2.0
ODD = 4.0  # a pole or a turn right outside of the data, which no law of textbooks likes to have
USERS_OWN = 4.0  # a form that the user brings


@dataclass(frozen=True, eq=False)
class Candidate:
    """A fit that is weighed.

    Attributes:
        fit: the form and its numbers.
        prior: minus twice the log of its prior probability.
        named: its entry in the catalogue, if it has one.
        template: its template of the search, if it comes from there.
        general: the fit with free exponents, where some were set to simple numbers.
        exact: these, by their symbols.
    """

    fit: Fit
    prior: float
    named: NamedForm | None = None
    template: Template | None = None
    general: Fit | None = None
    exact: tuple[tuple[sp.Symbol, sp.Rational], ...] = ()

    @property
    def name(self) -> str:
        """That of the catalogue; empty if it has none."""
        return "" if self.named is None else self.named.name

    @property
    def score(self) -> float:
        """Minus twice the log of its posterior probability, up to a constant: BIC and prior."""
        n, k = self.fit.rows, self.fit.numbers
        few = small_sample(n, k + 1) / 2
        return float(self.fit.deviance + k * np.log(n) + few + self.prior)


def named_candidate(fit: Fit, named: NamedForm, columns: Sequence[str] = ()) -> Candidate:
    """A form of the catalogue, on columns of these names if they are known."""
    level = USERS_OWN if named.field == "own" else PRIOR[named.common]
    strange = ODD if columns and not named.expects(columns) else 0.0
    return Candidate(fit, level + strange + _numbers(fit), named)


def searched_candidate(fit: Fit, template: Template) -> Candidate:
    """A formula of the search."""
    length = OPERATION * written(template.expression) + _numbers(fit)
    return Candidate(fit, MADE_UP + length + template.written, None, template)


def composed_candidate(fit: Fit) -> Candidate:
    """A formula without a name that was put together from functions."""
    length = OPERATION * written(fit.form.expression) + _numbers(fit)
    return Candidate(fit, MADE_UP + length)


def _numbers(fit: Fit) -> float:
    """What its numbers cost beside BIC."""
    return NUMBER * fit.numbers + MANY * max(fit.numbers - FEW, 0)


def with_oddities(candidate: Candidate, count: int) -> Candidate:
    """The candidate, less probable by what is odd about it just outside of the data."""
    return replace(candidate, prior=candidate.prior + ODD * min(count, 1))


def ranked(candidates: Sequence[Candidate], X: Array) -> list[Candidate]:
    """The candidates, the most probable first, each function once.

    Of two that say the same of the rows and, in one column, of what lies around them, the more
    probable stays; a tie goes to the named form.
    """
    kept: list[Candidate] = []
    for candidate in sorted(candidates, key=lambda c: c.score):
        same = [k for k, other in enumerate(kept) if _same(candidate, other, X)]
        if not same:
            kept.append(candidate)
        elif _ties(candidate, kept[same[0]]):
            kept[same[0]] = candidate
    return sorted(kept, key=lambda c: c.score)


def distinct(candidates: Sequence[Candidate], X: Array) -> list[Candidate]:
    """The candidates in their order, each function once."""
    kept: list[Candidate] = []
    for candidate in candidates:
        if not any(_same(candidate, other, X) for other in kept):
            kept.append(candidate)
    return kept


def _ties(named: Candidate, other: Candidate) -> bool:
    """Return whether a named form is level with the same function without a name."""
    return named.named is not None and other.named is None and named.score < other.score + _TIE


_TIE = 6.0  # score by which numbers made exact may be ahead of the named law with free ones
_FINER = 0.1  # of the noise: a difference that no number of rows of this kind shows
_AROUND, _APART = 0.5, 0.02  # of the range of the input on either side; of that of the target


def _same(a: Candidate, b: Candidate, X: Array) -> bool:
    """Return whether two fits are one function, as far as anybody could tell."""
    if abs(a.fit.deviance - b.fit.deviance) > 4.0:
        return False
    with np.errstate(all="ignore"):
        left, right = a.fit.predict(X), b.fit.predict(X)
    noise = a.fit.scale * (1.0 if a.fit.noise.model == "constant" else np.abs(left))
    apart = np.abs(left - right)
    if bool((apart <= 0.003 * noise + 1e-9 * (np.abs(left).max() or 1.0)).all()):
        return True
    if a.named is not None and b.named is not None:
        return False  # two laws, though these rows show one curve
    if X.shape[1] > 1 or not np.sqrt(np.mean((apart / noise) ** 2)) < _FINER:
        return False
    low, high = float(X.min()), float(X.max())
    start = low - _AROUND * (high - low)
    end = high + _AROUND * (high - low)
    line = np.linspace(max(start, 0.5 * low) if low >= 0 else start, end, 200)[:, None]
    with np.errstate(all="ignore"):
        apart = np.abs(a.fit.predict(line) - b.fit.predict(line))
    return bool((apart <= _APART * np.ptp(left)).all())


def weights(candidates: Sequence[Candidate]) -> Array:
    """Posterior probabilities."""
    scores = np.array([c.score for c in candidates])
    share = np.exp(-0.5 * (scores - scores.min()))
    return np.asarray(share / share.sum())


def with_fit(candidate: Candidate, fit: Fit) -> Candidate:
    """The candidate on other rows or under other noise."""
    return replace(candidate, fit=fit)


def formula(candidate: Candidate) -> sp.Expr:
    """The candidate's formula with numbers."""
    return candidate.fit.form.with_numbers(candidate.fit.values)
