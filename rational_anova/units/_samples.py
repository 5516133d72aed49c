"""A function on a grid over a range and on rings outside it, and how near a unit comes to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .._core.types import Array
from ..functional import Form

_REACH = 10.0  # how far out the tail is watched, in half-widths of the range
_FINE = 0.1  # what a tail error as large as the tolerance adds to the error in the range
_RESOLUTION = 1e-7  # float32: below this, relative to the peak of f, the tail decides


@dataclass(frozen=True)
class FitError:
    """How far a fitted unit is from its target on a stated range, and how far just outside it.

    Args:
        low: lower end of the range, on every axis.
        high: upper end.
        rmse: root mean square error over a dense uniform grid on the range.
        maximum: largest absolute error there, end points included.
        tail: largest |p/d - f| / (1 + |x|) outside, out to ten times the range about its centre;
            |x| is the largest coordinate. Where f is not finite, its value at the nearest point
            of the range stands in.
    """

    low: float
    high: float
    rmse: float
    maximum: float
    tail: float


class Samples:
    """The target on a grid over the range, followed by rings around it."""

    def __init__(
        self,
        variables: int,
        function: Callable[..., Tensor],
        low: float,
        high: float,
        per_axis: int,
        rings: int,
    ) -> None:
        axes = np.meshgrid(*[np.linspace(-1.0, 1.0, per_axis)] * variables)
        inside = np.stack([axis.ravel() for axis in axes])
        edge = inside[:, np.abs(inside).max(0) == 1]
        scales = np.geomspace(1.0, _REACH, rings + 1)[1:]
        outside = (edge[:, None, :] * scales[:, None]).reshape(variables, -1)
        self.low, self.high, self.count = low, high, inside.shape[1]
        self.x = 0.5 * (low + high) + 0.5 * (high - low) * np.concatenate([inside, outside], 1)
        nearest = self.x.clip(low, high)
        self.x[:, : self.count] = nearest[:, : self.count]
        value, instead = _call(function, self.x), _call(function, nearest)
        if not np.isfinite(instead).all():
            where = nearest[:, ~np.isfinite(instead)][:, 0].tolist()
            raise ValueError(
                f"function must be finite on the interval ({low}, {high}), ends included, but is "
                f"not at {where}; choose an interval without that point"
            )
        self.y = np.where(np.isfinite(value), value, instead)
        self.peak = float(np.abs(self.y[: self.count]).max()) or 1.0
        # Outside, an error is held against linear growth, or against f where f grows faster.
        growth = self.peak * np.abs(outside).max(0)
        self.tolerance = np.maximum(growth, np.abs(self.y[self.count :]))

    def scores(self, values: Array) -> Array:  # p/d, (starts, points) to (starts,)
        """Rank fits: root mean square error in the range, times a fine for the tail.

        With `tail` the largest error outside over its tolerance, the fine is 1 + tail^2 / 10: a
        tail as wrong as zero would be costs 10 %, ten times that a factor of 11.
        """
        error = np.abs(values - self.y)
        rmse = np.sqrt(np.square(error[:, : self.count] / self.peak).mean(1))
        tail = (error[:, self.count :] / self.tolerance).max(1)
        return np.nan_to_num((rmse + _RESOLUTION) * (1 + _FINE * tail**2), nan=np.inf)

    def judge(self, form: Form, numerator: Array, denominator: Array) -> tuple[float, FitError]:
        """Return score and error of p/d, evaluated as the units evaluate it."""
        variables = [torch.from_numpy(x).reshape(1, 1, -1) for x in self.x]
        top, bottom = (torch.from_numpy(c).reshape(1, -1, 1, 1) for c in (numerator, denominator))
        values = form.value(variables, top, bottom, None).numpy().reshape(1, -1)
        positive = bool((form.denominators(variables, bottom[0])[0] > 0).all())
        inside, outside = np.split(np.abs(values[0] - self.y), [self.count])
        error = FitError(
            self.low,
            self.high,
            rmse=float(np.sqrt(np.square(inside).mean())),
            maximum=float(inside.max()),
            tail=float((outside / (1 + np.abs(self.x[:, self.count :]).max(0))).max()),
        )
        return float(self.scores(values)[0]) if positive else np.inf, error


def _call(function: Callable[..., Tensor], x: Array) -> Array:
    with torch.no_grad():
        value = function(*torch.from_numpy(x.copy()))
    if not isinstance(value, Tensor) or value.is_complex():
        kind = value.dtype if isinstance(value, Tensor) else type(value).__name__
        raise TypeError(f"function must return a real torch.Tensor, got {kind}")
    if value.shape != x.shape[1:]:
        raise ValueError(
            f"function must return one value for each point: called with {len(x)} tensor(s) of "
            f"shape {x.shape[1:]}, it returned shape {tuple(value.shape)}"
        )
    return value.to("cpu", torch.float64).numpy().copy()
