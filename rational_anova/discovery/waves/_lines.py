"""Spectral lines of one column: a target that is a number and a few sines, or a modulated one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import sympy as sp

from ..._core.least_squares import levenberg_marquardt, lstsq
from ..._core.types import Array

_LINES = 4  # at most
_QUICKEST = 400.0  # radians over the range
_PER_WAVE = 4  # rows of the quickest line, in half turns
_STEP = 0.5  # radians over the range, between rates that are tried
_TURNS = 3.0  # of the quickest line at least: slower sums are as smooth as polynomials
_SLOWEST = 0.5  # turns of each
_LOWERED = 0.8  # what a line leaves of the error, if it is to be believed; of two alike 0.71
_STEPS = 60
_SAME = 1e-3  # relative difference of numbers of a modulated wave that are the same
_NONE = 1e-6  # share of the strongest wave below which a sine or cosine is left out ...
_CHANCE = 4.0  # ... and standard errors


@dataclass(frozen=True)
class Lines:
    """A number and waves a cos(w x) + b sin(w x).

    Attributes:
        rates: w, the strongest line first.
        cosines, sines: a and b.
        constant: the number.
        error: root mean square of what is left, in units of the weights.
        doubt: standard error of a and b, nearly.
    """

    rates: Array
    cosines: Array
    sines: Array
    constant: float
    error: float
    doubt: float

    def formulas(self, x: sp.Expr) -> Iterator[sp.Expr]:
        """The sum as it is, and as a modulated wave where it may be one."""
        size = float(np.hypot(self.cosines, self.sines).max())
        least = max(_NONE * size, _CHANCE * self.doubt)
        each = zip(self.cosines, self.sines, self.rates, strict=True)
        waves = [_wave(a, b, rate, x, least) for a, b, rate in each]
        number = 0 if abs(self.constant) < least else sp.Float(self.constant, 17)
        yield sp.Add(number, *waves)
        modulated = self._modulated(x, least)
        if modulated is not None:
            yield number + modulated

    def _modulated(self, x: sp.Expr, least: float) -> sp.Expr | None:
        """A (1 + m cos(d x + p)) cos(w x + q), whose lines are w, w + d and w - d."""
        if len(self.rates) != 3:
            return None
        order = np.argsort(self.rates)
        below, carrier, above = self.rates[order]
        amplitude = np.hypot(self.cosines, self.sines)[order]
        phase = np.arctan2(-self.sines, self.cosines)[order]
        even = abs(above + below - 2 * carrier) < _SAME * carrier
        if not even or abs(amplitude[2] - amplitude[0]) > max(_SAME * amplitude[0], 2 * least):
            return None
        inner = (phase[2] - phase[0]) / 2
        turn = np.cos((phase[2] + phase[0]) / 2 - phase[1])  # one or minus one, if it is modulated
        if abs(abs(turn) - 1) > 0.1:
            return None
        depth = 2 * amplitude[0] / amplitude[1] * np.sign(turn)
        strong, half = amplitude[1], (above - below) / 2
        slow = _wave(depth * np.cos(inner), -depth * np.sin(inner), half, x, 2 * least / strong)
        quick = _wave(strong * np.cos(phase[1]), -strong * np.sin(phase[1]), carrier, x, least)
        return (1 + slow) * quick


def _wave(a: float, b: float, rate: float, x: sp.Expr, least: float) -> sp.Expr:
    """The wave by its cosine or sine alone where the other is nothing."""
    size, turn = float(np.hypot(a, b)), sp.Float(float(rate), 17) * x
    if abs(b) < least:
        return sp.Float(float(a), 17) * sp.cos(turn)
    if abs(a) < least:
        return sp.Float(float(b), 17) * sp.sin(turn)
    return sp.Float(size, 17) * sp.cos(turn + sp.Float(float(np.arctan2(-b, a)), 17))


def spectral_lines(x: Array, y: Array, weight: Array) -> Iterator[Lines]:
    """Yield sums of one line more each, the strongest first, while each lowers the error much."""
    span = float(np.ptp(x))
    quickest = min(_QUICKEST, np.pi * len(x) / (2 * _PER_WAVE))
    if span == 0 or quickest < 2 * np.pi * _TURNS:
        return
    grid = np.arange(2 * np.pi * _SLOWEST, quickest, _STEP) / span
    angles = np.outer(grid, x)
    waves = np.cos(angles) * weight, np.sin(angles) * weight
    norms = [np.sum(w**2, axis=1) + 1e-300 for w in waves]
    rates = np.zeros(0)
    left, before = y * weight - weight * np.average(y, weights=weight**2), np.inf
    before = float(np.sqrt(np.mean(left**2)))
    for _ in range(_LINES):
        power = sum((w @ left) ** 2 / n for w, n in zip(waves, norms, strict=True))
        rates = _sharpened(np.r_[rates, grid[int(np.argmax(power))]], x, y, weight)
        theta, left = _solved(rates, x, y, weight)
        error = float(np.sqrt(np.mean(left**2)))
        if not error < _LOWERED * before:
            return
        before, k = error, len(rates)
        if np.abs(rates).max() * span > 2 * np.pi * _TURNS and (rates > 0).all():
            doubt = error * float(np.sqrt(2 / np.sum(weight**2)))
            yield Lines(rates, theta[1 : k + 1], theta[k + 1 :], float(theta[0]), error, doubt)


def _design(rates: Array, x: Array, weight: Array) -> Array:
    angles = np.outer(x, rates)
    return np.column_stack([np.ones(len(x)), np.cos(angles), np.sin(angles)]) * weight[:, None]


def _solved(rates: Array, x: Array, y: Array, weight: Array) -> tuple[Array, Array]:
    """Amplitudes for these rates, and what is left."""
    M = _design(rates, x, weight)
    theta = lstsq(M, y * weight)
    return theta, y * weight - M @ theta


def _sharpened(rates: Array, x: Array, y: Array, weight: Array) -> Array:
    """All rates refined together with the amplitudes."""
    k = len(rates)

    def slopes(values: Array) -> Array:
        rates, a, b = values[:k], values[k + 1 : 2 * k + 1], values[2 * k + 1 :]
        angles = np.outer(x, rates)
        inner = x[:, None] * (b * np.cos(angles) - a * np.sin(angles))
        return np.column_stack([inner * weight[:, None], _design(rates, x, weight)])

    def misses(values: Array) -> Array:
        return np.asarray(_design(values[:k], x, weight) @ values[k:] - y * weight)

    start = np.r_[rates, _solved(rates, x, y, weight)[0]]
    return levenberg_marquardt(misses, slopes, start, _STEPS, 1e-15)[0][:k]
