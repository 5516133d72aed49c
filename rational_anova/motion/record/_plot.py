"""Pictures of a system: trajectories with the data, what they leave over, the phase portrait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np

from ..._core.figures import Picture
from ..._core.types import Array
from ...discovery.law import INK, STYLE, short
from .._runs import Run, input_at
from .._simulate import simulated
from ._records import Start

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ._dynamics import Dynamics

_COLOURS = ("#1f5fa8", "#c4541a", "#2b8a57", "#7a4fa3", "#8a6d1f", "#5b6770")
_FINE = 400  # places of a simulated curve
_ARROWS = 22  # a side, of a phase portrait
_SHOWN_RUNS = 6


def plot(dynamics: Dynamics) -> Figure:
    """Draw a row for each measured state, and the phase portrait where there are two states."""
    alone = dynamics.groups is None  # groups have portraits of their own
    portrait = len(dynamics.states) == 2 and alone and not (dynamics.discrete or dynamics.inputs)
    states = dynamics.measured
    with matplotlib.rc_context(STYLE):
        size = (12 if portrait else 8.5, 1.2 + 2.1 * len(states))
        figure = Picture(figsize=size, layout="constrained")
        widths = [2, 1, 1.6] if portrait else [2, 1]
        axes = figure.subplots(len(states), len(widths), squeeze=False, width_ratios=widths)
        for k, name in enumerate(states):
            _trajectories(axes[k, 0], dynamics, k)
            _residuals(axes[k, 1], dynamics, k)
            axes[k, 0].set_ylabel(name)
        axes[-1, 0].set_xlabel(dynamics.time)
        axes[-1, 1].set_xlabel(dynamics.time)
        axes[0, 1].set_title("residuals")
        if portrait:
            _portrait(figure, axes, dynamics)
        figure.suptitle(_title(dynamics), fontsize=10)
    return figure


def _title(dynamics: Dynamics) -> str:
    lines = [f"{law.target} = {short(law.rounded(4))}" for law in dynamics.equations.values()]
    typical = "" if dynamics.groups is None else f"; typical of {dynamics.groups.column}"
    return "\n".join([*lines, f"({dynamics.grade}{typical})"])


def _curve(dynamics: Dynamics, start: Start, run: Run | None, t: Array) -> Array:
    timed = dynamics.time in dynamics.inputs

    def held(time: float) -> Array:
        if run is None:
            return np.array([time] if timed else [])
        return input_at(run, np.array(time), timed)

    own = dynamics if dynamics.groups is None else dynamics.for_group(start.group)
    return simulated(own.system, own.theta, start.state, t, held)


def _runs(dynamics: Dynamics) -> list[tuple[Start, Run | None, str]]:
    data: list[Run | None] = list(dynamics.data) if dynamics.data else [None] * len(dynamics.starts)
    shown = list(zip(dynamics.starts, data, strict=True))[:_SHOWN_RUNS]
    return [(start, run, _COLOURS[k % len(_COLOURS)]) for k, (start, run) in enumerate(shown)]


def _times(dynamics: Dynamics, start: Start, run: Run | None) -> Array:
    if dynamics.discrete:
        return run.t if run is not None else np.arange(start.t[0], start.t[1] + 1)
    return np.linspace(*start.t, _FINE)


def _trajectories(ax: Axes, dynamics: Dynamics, state: int) -> None:
    for start, run, colour in _runs(dynamics):
        t = _times(dynamics, start, run)
        ax.plot(t, _curve(dynamics, start, run, t)[:, state], color=colour, lw=1.4)
        if run is not None:
            ax.plot(run.t, run.X[:, state], ".", color=colour, ms=3, alpha=0.6, label=run.label)
    if state == 0 and len(dynamics.starts) > 1 and dynamics.data:
        ax.legend(fontsize=7, markerscale=2, title=f"first {_SHOWN_RUNS} runs"
                  if len(dynamics.starts) > _SHOWN_RUNS else None, title_fontsize=7)  # fmt: skip


def _residuals(ax: Axes, dynamics: Dynamics, state: int) -> None:
    ax.axhline(0.0, color=INK, lw=0.6)
    for start, run, colour in _runs(dynamics):
        if run is not None:
            left = run.X[:, state] - _curve(dynamics, start, run, run.t)[:, state]
            ax.plot(run.t, left, ".", color=colour, ms=3, alpha=0.7)


def _portrait(figure: Figure, axes: Any, dynamics: Dynamics) -> None:
    """Arrows of the flow, the runs and the fixed points, over all rows of the figure."""
    grid = axes[0, 2].get_gridspec()
    for ax in axes[:, 2]:
        ax.remove()
    ax = figure.add_subplot(grid[:, 2])
    box = np.array(next(iter(dynamics.equations.values())).box[:2])
    low, high = (box + np.array([-0.1, 0.1]) * np.ptp(box, axis=1)[:, None]).T
    x, y = np.meshgrid(*(np.linspace(a, b, _ARROWS) for a, b in zip(low, high, strict=True)))
    places = np.c_[x.ravel(), y.ravel()]
    with np.errstate(all="ignore"):
        flow = dynamics.system.rates(places, np.empty((len(places), 0)), dynamics.theta)
    flow = np.where(np.isfinite(flow), flow, 0.0).reshape(*x.shape, 2)
    ax.streamplot(x, y, flow[..., 0], flow[..., 1], color="#b9c2cb", linewidth=0.7, arrowsize=0.8,
                  density=0.9)  # fmt: skip
    for start, run, colour in _runs(dynamics):
        path = _curve(dynamics, start, run, _times(dynamics, start, run))
        ax.plot(path[:, 0], path[:, 1], color=colour, lw=1.4)
        ax.plot(*path[0, :2], "o", color=colour, ms=4)
    for point in dynamics.fixed_points():
        if ((point.state >= low) & (point.state <= high)).all():
            face = INK if point.stable else "white"
            ax.plot(*point.state, "o", mec=INK, mfc=face, ms=7, zorder=5)
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    ax.set_xlabel(dynamics.states[0])
    ax.set_ylabel(dynamics.states[1])
    ax.set_title("phase portrait (filled: stable)")
