"""`plot_network`: nodes, edges, and the curve of every unit, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from ..networks import RAN
from ..tables import input_names, read_tensor
from ..units import symbols
from ._graph import Graph, Link, graph_of
from ._record import Reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NODES = 30  # of a diagram that can be read
MOST_UNITS = 60  # between two rows
_ROWS = 400  # of the data that are drawn
_LARGE, _SMALL = 0.62, 0.34  # inches, of a unit
_WIDEST = 16.0
_GAP = 0.22  # between units
_RISE = 1.75  # inches from a row of nodes to the next
_PLAIN = 0.95  # the same where only lines lead
_INK, _LINE, _HEAT = "#1f2a37", "#2563a8", "RdBu_r"
_FAINT = 0.12  # the least opacity
_WORDS = {
    "x": r"$x$", "x**2": r"$x^2$", "x**3": r"$x^3$", "x**4": r"$x^4$", "1/x": r"$1/x$",
    "1/x**2": r"$1/x^2$", "sqrt(x)": r"$\sqrt{x}$", "sqrt(-x)": r"$\sqrt{-x}$",
    "1/sqrt(x)": r"$1/\sqrt{x}$", "1/sqrt(-x)": r"$1/\sqrt{-x}$", "exp(x)": r"$\exp$",
    "log(x)": r"$\log$", "log(-x)": r"$\log(-x)$", "sin(x)": r"$\sin$", "tanh(x)": r"$\tanh$",
    "atan(x)": r"$\mathrm{atan}$", "exp(-x**2)": r"$e^{-x^2}$", "abs(x)": r"$|x|$",
    "x*y": r"$x\,y$", "x/y": r"$x/y$", "y/x": r"$y/x$", "quotient": "quotient",
}  # fmt: skip


def plot_network(
    net: nn.Module, data: Any = None, *, reading: Reading | None = None, names: Any = None
) -> Figure:
    """Draw a network: the inputs below, the outputs above, a picture of each unit between.

    A unit of one node is its curve over the range of its data, a unit of two a heat map with red
    above and blue below its middle. What matters less is paler: the spread of what a unit gives,
    times the slope of the outputs along it where the network is a `LayeredRAN`. Of a `DeepRAN` the
    messages and the updates of the nodes are drawn in rows of their own; lines without a picture
    are linear maps, and the state that goes on.

    Args:
        net: a `RAN`, `DeepRAN` or `LayeredRAN`, trained or not, of 30 nodes at most.
        data: X, or (X, y); by default the data that a `RAN` remembers of its fit, else 400 points
            between -1 and 1.
        reading: what `read_network` said of this network; names stand under the units then.
        names: of the inputs; by default those of the reading or the data, or x0, x1, ...

    Returns:
        A figure of matplotlib; `figure.savefig("network.pdf")` writes it.
    """
    if not isinstance(net, nn.Module) or not hasattr(net, "in_features"):
        raise TypeError(f"plot_network draws a RAN, a DeepRAN or a LayeredRAN, got {net!r}")
    width: Any = net.in_features
    X = data[0] if isinstance(data, tuple | list) and len(data) == 2 else data
    given = input_names(names, X)
    if given is None and reading is not None:
        given = [str(symbol) for symbol in reading.symbols]
    labels = [str(symbol) for symbol in symbols(given, width)]
    graph = graph_of(net, _rows(net, X), labels)
    count = sum(map(len, graph.rows))
    units = max(sum(link.picture is not None for link in links) for links in graph.links)
    if count > MOST_NODES or units > MOST_UNITS:
        raise ValueError(
            f"the network has {count} nodes and up to {units} units in a row; a diagram can be "
            f"read up to {MOST_NODES} nodes and {MOST_UNITS} units: prune it first, or plot a "
            "smaller one"
        )
    words = {} if reading is None else {(u.layer, u.nodes, u.target): u.name for u in reading.units}
    return _drawn(graph, words)


def _rows(net: Any, X: Any) -> torch.Tensor:
    like = next(net.parameters())
    if X is not None:
        rows = read_tensor(X, net.in_features)[:_ROWS]
    elif isinstance(net, RAN) and net.observed is not None:
        rows = torch.tensor(net.observed["quantiles"], dtype=torch.float64)
        for n, column in enumerate(rows.T):  # as if independent
            order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(n))
            rows[:, n] = column[order]
    else:
        generator = torch.Generator().manual_seed(0)
        rows = 2 * torch.rand(_ROWS, net.in_features, generator=generator, dtype=torch.float64) - 1
    return rows.to(like)


def _drawn(graph: Graph, words: dict[Any, str]) -> Figure:
    from matplotlib.figure import Figure

    most = max(
        *(sum(link.picture is not None for link in links) for links in graph.links),
        *(len(row) for row in graph.rows),
    )
    side = float(np.clip((_WIDEST - 1) / most - _GAP, _SMALL, _LARGE))
    width = max(3.2, most * (side + _GAP) + 0.9)
    pictured = [any(link.picture is not None for link in links) for links in graph.links]
    rises = [_RISE if has else _PLAIN for has in pictured]
    height = sum(rises) + 0.9
    figure = Figure(figsize=(width, height), facecolor="white")
    canvas = figure.add_axes((0, 0, 1, 1))
    canvas.set(xlim=(0, width), ylim=(0, height))
    canvas.axis("off")
    places, y = [], 0.42
    for k, row in enumerate(graph.rows):
        places.append([(x, y) for x in _even(len(row), width)])
        y += rises[k] if k < len(rises) else 0.0
    for k, links in enumerate(graph.links):
        _draw_links(figure, canvas, links, places[k], places[k + 1], (width, height, side), words)
    for k, (row, at) in enumerate(zip(graph.rows, places, strict=True)):
        for label, (x, level) in zip(row, at, strict=True):
            canvas.plot(x, level, "o", color=_INK, ms=6, zorder=5)
            below = k == 0
            canvas.annotate(label, (x, level), (0, -9 if below else 9), ha="center", zorder=6,
                            textcoords="offset points", va="top" if below else "bottom",
                            fontsize=11, color=_INK)  # fmt: skip
    return figure


def _even(count: int, width: float) -> list[float]:
    return [width * (n + 0.5) / count for n in range(count)]


def _draw_links(
    figure: Figure,
    canvas: Axes,
    links: list[Link],
    below: list[tuple[float, float]],
    above: list[tuple[float, float]],
    size: tuple[float, float, float],
    words: dict[Any, str],
) -> None:
    width, height, side = size

    def middle(link: Link) -> tuple[float, float, tuple[int, ...]]:
        ends = [below[n][0] for n in link.sources], [above[n][0] for n in link.targets]
        return float(np.mean(ends[1])), float(np.mean(ends[0])), link.sources

    boxes = sorted((link for link in links if link.picture is not None), key=middle)
    for link in links:
        if link.picture is None:
            opacity = 0.25 if link.weight == 0 else _opacity(link)
            for i in link.sources:
                for o in link.targets:
                    _line(canvas, below[i], above[o], opacity)
    centre = (below[0][1] + above[0][1]) / 2
    for link, x in zip(boxes, _even(len(boxes), width), strict=True):
        opacity = _opacity(link)
        for i in link.sources:
            _line(canvas, below[i], (x, centre - side / 2), opacity)
        for o in link.targets:
            _line(canvas, (x, centre + side / 2), above[o], opacity)
        box = ((x - side / 2) / width, (centre - side / 2) / height, side / width, side / height)
        _draw_unit(figure.add_axes(box, zorder=4), link, opacity)
        if link.key in words:
            word = words[link.key]
            canvas.annotate(
                _WORDS.get(word, word), (x, centre - side / 2), (0, -3), ha="center", va="top",
                textcoords="offset points", fontsize=10, color=_LINE, zorder=7,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85},
            )  # fmt: skip


def _opacity(link: Link) -> float:
    return _FAINT + (1 - _FAINT) * min(1.0, link.weight) ** 0.5


def _line(
    canvas: Axes, start: tuple[float, float], end: tuple[float, float], opacity: float
) -> None:
    canvas.plot(*zip(start, end, strict=True), color=_INK, lw=1.1, alpha=opacity, zorder=1,
                solid_capstyle="round")  # fmt: skip


def _draw_unit(axes: Axes, link: Link, opacity: float) -> None:
    axes.set(xticks=[], yticks=[], facecolor="white")
    for spine in axes.spines.values():
        spine.set(color=_INK, lw=0.8, alpha=max(opacity, 0.35))
    picture = link.picture
    assert picture is not None
    if link.heat:
        values = picture.T - np.median(picture)
        most = float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0
        axes.imshow(values, origin="lower", cmap=_HEAT, vmin=-most, vmax=most, alpha=opacity,
                    aspect="auto", interpolation="bilinear")  # fmt: skip
        return
    x, y = picture.T
    axes.plot(x, y, color=_LINE, lw=1.6, alpha=opacity)
    margin = 0.12 * (float(np.ptp(y)) or 1.0)
    if np.isfinite(margin):
        axes.set(xlim=(x[0], x[-1]) if x[-1] > x[0] else None,
                 ylim=(float(y.min()) - margin, float(y.max()) + margin))  # fmt: skip
