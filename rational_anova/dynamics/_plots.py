"""Figures: a map of influence, a kernel by its terms, reach against distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .._core import checks as check
from ._kernel import Kernel
from ._locality import InfluenceMap, Locality

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _figure(width: float, height: float = 3.6) -> Figure:
    from .._core.figures import Picture  # slow to import, and most users do not draw

    return Picture(figsize=(width, height), layout="constrained")


def plot_influence(
    maps: InfluenceMap | Mapping[str, InfluenceMap], names: Sequence[str] | None = None
) -> Figure:
    """Draw what one step changes over two inputs, truly; a panel for each model, one colour scale.

    Args:
        maps: of `influence_map`, or several by title.
        names: of all inputs; x0, x1, ... by default.

    Example:
        >>> import torch
        >>> from rational_anova import RAN
        >>> from rational_anova.dynamics import influence_map
        >>> seen = influence_map(RAN(2), torch.zeros(1, 2), torch.ones(1), 0.1, points=5)
        >>> plot_influence(seen).axes[0].get_xlabel()
        'x0'
    """
    panels = {"": maps} if isinstance(maps, InfluenceMap) else dict(maps)
    if not panels:
        raise ValueError("there is no map to draw, got an empty dictionary")
    figure = _figure(1.2 + 3.4 * len(panels))
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    most = max(float(each.true.abs().max()) for each in panels.values()) or 1.0
    for axis, (title, each) in zip(axes, panels.items(), strict=True):
        drawn = axis.pcolormesh(
            *(part.cpu().numpy() for part in (each.u, each.v, each.true.T)),
            cmap="RdBu_r", vmin=-most, vmax=most, shading="nearest", rasterized=True,
        )  # fmt: skip
        axis.plot(*each.at.cpu().tolist(), "kx", markersize=8)
        words = [names[n] if names is not None else f"x{n}" for n in each.features]
        axis.set(xlabel=words[0], ylabel=words[1], title=title)
    figure.colorbar(drawn, ax=list(axes)).set_label("change of the output")
    return figure


def plot_kernel(kernel: Kernel, top: int = 12) -> Figure:
    """Draw the norms of the parts of a kernel relative to the total, the largest first.

    Args:
        kernel: of `ntk` on a RAN.
        top: how many parts at most.

    Example:
        >>> import torch
        >>> from rational_anova import RAN
        >>> from rational_anova.dynamics import ntk
        >>> x = torch.linspace(-1, 1, 6).reshape(3, 2)
        >>> plot_kernel(ntk(RAN(2), x, x)).axes[0].get_ylabel()
        'part of the kernel'
    """
    count = check.integer(top, "top", 1)
    shares = sorted(kernel.shares().items(), key=lambda item: -item[1])
    shown = shares[:count][::-1]
    figure = _figure(5.4, 1.2 + 0.28 * len(shown))
    axis = figure.subplots()
    colours = ["C7" if k == "head" else "C1" if " " in k else "C0" for k, _ in shown]
    axis.barh([name for name, _ in shown], [size for _, size in shown], color=colours)
    axis.set(xlabel="norm of the part / norm of the kernel", ylabel="part of the kernel")
    axis.spines[["top", "right"]].set_visible(False)
    left = len(shares) - len(shown)
    if left:
        axis.set_title(f"{left} smaller parts left out", fontsize=10)
    return figure


def plot_locality(found: Mapping[str, Locality]) -> Figure:
    """Draw reach against distance, a curve for each model; the band is the range of directions.

    Args:
        found: of `locality`, by name of the model.

    Example:
        >>> import torch
        >>> from rational_anova import MLP
        >>> from rational_anova.dynamics import locality
        >>> curve = locality(MLP(2, 1), torch.zeros(1, 2), [0.5, 1.0])
        >>> plot_locality({"MLP": curve}).axes[0].get_xlabel()
        'distance from the update'
    """
    if not found:
        raise ValueError("there is nothing to draw, got an empty dictionary")
    figure = _figure(5.4)
    axis = figure.subplots()
    for name, each in found.items():
        order = each.distances.argsort().cpu()
        far, reach = each.distances.cpu()[order].numpy(), each.reach.cpu()[order].numpy()
        (line,) = axis.plot(far, reach.mean(1), label=name, linewidth=2)
        axis.fill_between(far, reach.min(1), reach.max(1), color=line.get_color(), alpha=0.15)
    axis.set(xlabel="distance from the update", ylabel="|K(x_o, x_u)| / |K(x_u, x_u)|")
    axis.legend(frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
    return figure
