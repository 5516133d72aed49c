"""Editing a fitted model: drop a term, fix a term, forbid a pair; proofs of rising and falling."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..deep import effects_only, has_deep_part
from ..explain import Measured
from ..model import Additive, Axes, Part, Rows
from ..monotone import Proof, as_signs, position, proof_of, proofs
from ._curve import own_parts, rising

E = TypeVar("E", bound="EditMixin")
_OWN = ("fix_term", "drop_term", "make_monotone")  # edits that give a main effect its shape


class EditMixin:
    """Edits return a new estimator and leave this one as it is.

    All edits take `refit`, a tuple (X, y) or (X, y, sample_weight): with it all other effects are
    solved again on that table, with the same heads; without it they stay as they are, and shares
    of the variance are estimates. All take a `reason`, which `edits_` keeps.
    """

    model_: Additive
    measured_: Measured
    edits_: list[dict[str, Any]]
    monotone_: dict[str, Proof]
    monotone: Any
    forbid: Any

    def drop_term(self: E, term: Any, refit: Any = None, reason: str = "") -> E:
        """Return the model without one effect.

        Args:
            term: name of an effect, `age` or `age x income`, or a tuple of inputs.
            refit: see above.
            reason: why, for those who read the model later.
        """
        axes = self._effect_axes(term)
        new = self._copied()
        new._without(axes)
        return new._edited({"edit": "drop_term", "term": self._effect_name(axes)}, refit, reason)

    def fix_term(self: E, term: Any, values: Any, refit: Any = None, reason: str = "") -> E:
        """Return the model with a main effect as given; later edits with `refit` keep it, too.

        A number's effect is a sum of heads that goes through the given points, and follows pieces
        of cubics that do not overshoot in between; how far it is from them at most, measured at 100
        places between any two points, is in `edits_`.
        It is constant beyond the points. Missing numbers get what the value NaN has, or 0. The
        effect of an input that `monotone` names is proved to rise or fall, and may miss the points
        by a little.

        Args:
            term: name or position of an input.
            values: what each number or level adds to f: a dict, a Series, or a DataFrame as
                `effects_[term].curve()` gives it; with several classes a number for each class.
            refit: see above.
            reason: why.
        """
        check_is_fitted(self)
        names = [f.name for f in self.model_.features]
        axis = position(term, names, "fix_term")
        new = self._copied()
        error = new._fix(axis, values)
        return new._edited({"edit": "fix_term", "term": names[axis], "error": error}, refit, reason)

    def _fix(self, axis: int, values: Any) -> float:
        """Replace a main effect; return how far the new one is from the values at most."""
        classes = tuple(getattr(self, "classes_", ()))
        parts, error = own_parts(
            self.model_.features[axis], axis, values, classes if len(classes) > 2 else (),
            self.model_.intercept_draws.shape[1],
            as_signs(self.monotone, self.model_.features).get(axis, 0),
        )  # fmt: skip
        self._without((axis,))
        self.model_ = replace(self.model_, parts=[*self.model_.parts, *parts])
        self._measure_own((axis,), parts)
        return error

    def make_monotone(self: E, term: Any, sign: int, refit: Any = None, reason: str = "") -> E:
        """Return the model with a main effect that rises or falls everywhere, with its proof.

        The new curve is the nearest one to the old that never turns, by least squares over the
        training rows. `monotone` names the input from then on, and `monotone_` has the proof.

        Args:
            term: name or position of an input, a number that takes part in no pair.
            sign: +1 or -1.
            refit: see above.
            reason: why.
        """
        check_is_fitted(self)
        names = [f.name for f in self.model_.features]
        axis = position(term, names, "make_monotone")
        proof = proof_of(self.model_, axis, sign)
        if any(len(axes) > 1 and axis in axes for axes in self.model_.axes):
            raise ValueError(
                f"{names[axis]!r} {proof.reason}; forbid its pairs first, by forbid_pair"
            )
        new = self._copied()
        known = as_signs(self.monotone, self.model_.features)
        new.monotone = {names[i]: s for i, s in (known | {axis: sign}).items()}
        if (axis,) in self.model_.axes:
            curve = self.effects_[names[axis]].curve()  # type: ignore[attr-defined]
            error = new._fix(axis, rising(curve, sign))
        else:
            error = 0.0
        record = {"edit": "make_monotone", "term": names[axis], "sign": sign, "error": error}
        return new._edited(record, refit, reason)

    def forbid_pair(self: E, first: Any, second: Any, refit: Any = None, reason: str = "") -> E:
        """Return the model without the pair of two inputs, and with `forbid` for later fits.

        Args:
            first: name or position of an input.
            second: the other one.
            refit: see above.
            reason: why.
        """
        check_is_fitted(self)
        names = [f.name for f in self.model_.features]
        pair = sorted(position(one, names, "forbid_pair") for one in (first, second))
        if pair[0] == pair[1]:
            raise ValueError(f"forbid_pair names {first!r} twice")
        axes = (pair[0], pair[1])
        new = self._copied()
        new.forbid = (*self.forbid, (names[pair[0]], names[pair[1]]))
        new._without(axes)
        return new._edited({"edit": "forbid_pair", "term": self._effect_name(axes)}, refit, reason)

    def prove_monotone(self, term: Any, sign: int) -> Proof:
        """Return a proof that f never falls (+1) or never rises (-1) in an input, or a witness.

        The proof covers all numbers, not a sample: bounds of the slope on pieces of the range.

        Args:
            term: name or position of an input.
            sign: +1 or -1.
        """
        check_is_fitted(self)
        effects_only(self, "a proof")
        names = [f.name for f in self.model_.features]
        return proof_of(self.model_, position(term, names, "prove_monotone"), sign)

    # -- help

    def _effect_name(self, axes: Axes) -> str:
        return " x ".join(self.model_.features[i].name for i in axes)

    def _effect_axes(self, term: Any) -> Axes:
        """Return the inputs of an effect, given by its name or a tuple of inputs."""
        check_is_fitted(self)
        names = [f.name for f in self.model_.features]
        known = {}
        for axes in self.model_.axes:
            for order in (axes, axes[::-1]):
                known[" x ".join(names[i] for i in order)] = axes
        if isinstance(term, tuple):
            term = " x ".join(names[position(one, names, "the term")] for one in term)
        if term not in known:
            there = [self._effect_name(axes) for axes in self.model_.axes]
            raise ValueError(f"the model has no effect {term!r}; there are {there}")
        return known[term]

    def _copied(self: E) -> E:
        if has_deep_part(self):
            raise ValueError(
                "a deep model cannot be edited: its network would make up for what is taken away; "
                "fit with depth='shallow'"
            )
        new = copy.copy(self)
        new.edits_ = [dict(edit) for edit in getattr(self, "edits_", [])]
        return new

    def _without(self, axes: Axes) -> None:
        """Take away an effect; effects have mean zero, so the intercept stays."""
        parts = [part for part in self.model_.parts if part.term.axes != axes]
        self.model_ = replace(self.model_, parts=parts)
        measured = getattr(self, "measured_", None)
        if measured is not None and axes in measured.axes:
            self.measured_ = _less(measured, measured.axes.index(axes))

    def _measure_own(self, axes: Axes, parts: list[Part]) -> None:
        """Measure a new effect over what is known of its input's distribution."""
        measured = getattr(self, "measured_", None)
        if measured is None:
            return
        seen = measured.inputs[axes[0]]
        count = max(len(seen.points), 1)
        weight = seen.weight if len(seen.weight) else np.full(len(seen.points), 1 / count)
        points = np.append(seen.points, np.nan) if seen.missing else seen.points
        weight = np.append(weight * (1 - seen.missing), seen.missing) if seen.missing else weight
        rows = np.zeros((len(points), len(self.model_.features)))
        rows[:, axes[0]] = points
        value = sum((part.at(Rows(rows)) for part in parts), np.zeros((len(rows), 1)))
        weight = weight / (weight.sum() or 1.0)
        variance = np.maximum(weight @ value**2 - (weight @ value) ** 2, 0)
        self.measured_ = _more(measured, axes, variance, np.abs(value).max(0))

    def _edited(self: E, record: dict[str, Any], refit: Any, reason: str) -> E:
        """Note an edit, solve the other effects again if asked to, and prove what must hold."""
        said = {"reason": str(reason)} if reason else {}
        self.edits_.append({**record, "refit": refit is not None, **said})
        if refit is not None:
            from ._refit import refitted

            own = self._own()
            kept = [p for p in self.model_.parts if p.term.axes in {(i,) for i in own}]
            refitted(self, refit, kept, own)
        signs = as_signs(getattr(self, "monotone", None), self.model_.features)
        if signs:
            self.monotone_ = proofs(self.model_, signs)
        return self

    def _own(self) -> set[int]:
        """Return the inputs whose main effects were fixed or dropped."""
        names = [f.name for f in self.model_.features]
        edited = {e["term"] for e in self.edits_ if e["edit"] in _OWN}
        return {names.index(term) for term in edited if term in names}


def _less(measured: Measured, at: int) -> Measured:
    """Return statistics without an effect; the other shares are scaled to add up to one."""
    keep = np.arange(len(measured.axes)) != at
    total = measured.total * (1 - 2 * measured.share[at]) + measured.std[at] ** 2
    left = measured.share[keep]
    whole = left.sum(0)
    return replace(
        measured, axes=[a for a, kept in zip(measured.axes, keep, strict=True) if kept],
        std=measured.std[keep], height=measured.height[keep],
        share=np.divide(left, whole, out=np.zeros_like(left), where=whole > 0),
        total=np.maximum(total, 0),
        tables={k: v for k, v in measured.tables.items() if k != measured.axes[at]},
    )  # fmt: skip


def _more(measured: Measured, axes: Axes, variance: np.ndarray, height: np.ndarray) -> Measured:
    """Return statistics with one more effect, as if it did not go with the others."""
    total = measured.total + variance
    ratio = np.divide(measured.total, total, out=np.zeros_like(total), where=total > 0)
    own = np.divide(variance, total, out=np.zeros_like(total), where=total > 0)
    joined = [*measured.axes, axes]
    order = sorted(range(len(joined)), key=lambda k: (len(joined[k]), joined[k]))
    return replace(
        measured, axes=[joined[k] for k in order],
        std=np.vstack([measured.std, np.sqrt(variance)])[order],
        height=np.vstack([measured.height, height])[order],
        share=np.vstack([measured.share * ratio, own])[order], total=total,
    )  # fmt: skip
