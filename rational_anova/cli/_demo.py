"""The demonstration: fit a RAN to a table of a law, print what it learned and draw it."""

from __future__ import annotations

import csv
from importlib import resources
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import sympy
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Column, Table

from ..budgets import count_parameters
from ..networks import RAN
from ..training import fit
from ._formulas import readable

Array = NDArray[np.float64]

_UNITS = ("T / K", "V / (L/mol)", "P / bar")
_STARTS = 4
_NEAR = 4  # K
# One unit of each scaled column; of the order of the data, so that coefficients are too.
_SCALE = np.array([300.0, 0.5])


def run_demo(console: Console, picture: Path) -> None:
    """Fit, report on the console and write the picture."""
    table = _read()
    console.print(
        f"{len(table)} states of carbon dioxide by the van der Waals law: "
        "temperature T (K), molar volume V (L/mol), pressure P (bar).",
        highlight=False,
    )
    order = np.random.default_rng(0).permutation(len(table))
    held, fitted = np.split(order, [len(table) // 5])
    X, P = table[:, :2] / _SCALE, table[:, 2]
    unit = P[fitted].std()
    net = _fit(X[fitted], P[fitted] / unit, console)
    _report(console, net, X, P, unit, held)
    _draw(net, table, unit, picture)
    console.print(f"picture: {picture}", highlight=False)


def _read() -> Array:
    file = resources.files(__package__).joinpath("van_der_waals.csv")
    rows = list(csv.reader(file.read_text().splitlines()))
    return np.array(rows[1:], dtype=np.float64)


def _fit(X: Array, y: Array, console: Console) -> RAN:
    """Fit from several starts by Levenberg-Marquardt, and keep the best."""
    torch.manual_seed(0)
    net = RAN(2, topology="all", base="zero", gate=None, noise=0.05, dtype=torch.float64)
    fit(net, (X, y), optimizer="lm", restarts=_STARTS, progress=console)
    return net


def _terms(net: RAN, X: Array, unit: float) -> Array:
    """Contribution of each term in bar: (rows, terms)."""
    with torch.no_grad():
        return net.features(torch.from_numpy(X)).numpy() * unit


def _report(
    console: Console, net: RAN, X: Array, P: Array, unit: float, held: NDArray[Any]
) -> None:
    terms = _terms(net, X, unit)
    error = terms.sum(1)[held] - P[held]
    rmse = np.sqrt(np.mean(error**2))
    console.print(
        f"A RAN of {count_parameters(net)} parameters leaves {rmse:.3g} bar RMSE on the "
        f"{len(held)} rows it has not seen: {rmse / P.std():.1e} of the spread of P.",
        highlight=False,
    )
    units = [unit for unit in (net.main, net.pair) if unit is not None]
    least = min(float(u.denominator_min(torch.from_numpy(X)).min()) for u in units)
    console.print(
        f"Its denominators cannot vanish anywhere; on the data the least is {least:.3f}.",
        highlight=False,
    )
    console.print("What it learned, with t = T / 300 K and v = V / (0.5 L/mol), in bar:")
    table = Table("term", "spread / bar", Column("formula", overflow="fold"), show_lines=True)
    names = ("T", "V", "T and V")
    for name, column, formula in zip(names, terms.T, _formulas(net, unit), strict=True):
        table.add_row(name, f"{column.std():.1f}", formula)
    console.print(table)


def _formulas(net: RAN, unit: float) -> list[str]:
    t, v = sympy.symbols("t v")
    assert net.main is not None
    assert net.pair is not None
    terms = [*net.main.to_sympy([t, v]), *net.pair.to_sympy([t, v])]
    fractions = map(sympy.fraction, terms)
    return [
        f"  ({readable(sympy.expand(unit * p), 3)})\n/ ({readable(d, 3)})" for p, d in fractions
    ]


def _draw(net: RAN, table: Array, unit: float, path: Path) -> None:
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt  # the backend must be chosen first
    from matplotlib import ticker

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4.4), layout="constrained")
    volume = np.geomspace(table[:, 1].min(), table[:, 1].max(), 200)
    for temperature in (280, 340, 400, 460):
        X = np.stack([np.full_like(volume, temperature), volume], 1) / _SCALE
        near = np.abs(table[:, 0] - temperature) < _NEAR
        (line,) = left.plot(volume, _terms(net, X, unit).sum(1), label=f"{temperature} K")
        left.plot(*table[near, 1:].T, ".", color=line.get_color())
    left.set(xlabel=_UNITS[1], ylabel=_UNITS[2], xscale="log", title="Isotherms: RAN and data")
    title = f"lines: RAN\ndots: data within {_NEAR} K"
    left.legend(title=title, fontsize=8, title_fontsize=8)

    grid = [np.linspace(table[:, 0].min(), table[:, 0].max(), 80), volume]
    T, V = np.meshgrid(*grid, indexing="ij")
    terms = _terms(net, np.stack([T.ravel(), V.ravel()], 1) / _SCALE, unit)
    total = terms.sum(1).reshape(T.shape)
    by_T, by_V = total.mean(1) - total.mean(), total.mean(0) - total.mean()
    middle.plot(volume, by_V, label="effect of V")
    above = middle.twiny()
    above.plot(grid[0], by_T, "C1", label="effect of T")
    middle.set(xlabel=_UNITS[1], ylabel="effect on P / bar", xscale="log")
    above.set_xlabel(_UNITS[0], color="C1")
    middle.legend(handles=[*middle.lines, *above.lines], fontsize=8)

    pair = total - total.mean() - by_T[:, None] - by_V
    most = np.abs(pair).max()
    mesh = right.pcolormesh(
        T, V, pair, shading="gouraud", cmap="RdBu_r", vmin=-most, vmax=most, rasterized=True
    )
    right.set(xlabel=_UNITS[0], ylabel=_UNITS[1], yscale="log", title="Interaction of T and V")
    figure.colorbar(mesh, ax=right, label="effect on P / bar beyond both main effects")
    for axis in (left.xaxis, middle.xaxis, right.yaxis):
        axis.set_major_locator(ticker.FixedLocator([0.1, 0.2, 0.5, 1, 2]))
        axis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
        axis.set_minor_locator(ticker.NullLocator())
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
