"""`plot_anova` of the estimators: main effects, pairs, importance, one prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _validation as check
from ..networks._plots import panels
from ._bars import importance, local, percents
from ._effect_map import Effects
from ._effects import Effect
from ._heatmap import pair_panel
from ._panels import Lines, main_panel, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._explain import ExplainMixin

COLOURS = tuple(f"C{k}" for k in range(8))  # classes that one panel has room for


def plot(
    model: ExplainMixin, mode: str, X: Any, names: Sequence[str] | None, top: int | None,
    target: Any,
) -> Figure:  # fmt: skip
    """See `ExplainMixin.plot_anova`."""
    room = check.lookup(mode, MODES, "mode")
    most = room if top is None else check.integer(top, "top", 1)
    model._outputs(target)  # a wrong target is an error whatever is drawn
    effects = _chosen(model.effects_, mode, names)
    if mode == "local":
        return local(model, effects, X, most, target)
    if mode == "importance":
        return importance(model, effects, most, target)
    draw = _mains if mode == "main" else _interactions
    return draw(model, effects if names is not None else effects[:most], target)


def _chosen(effects: Effects, mode: str, names: Sequence[str] | None) -> list[Effect]:
    """Return the effects of a mode that have these names, or all of them."""
    kinds = {"main": ("main",), "interaction": ("pair",)}.get(mode, ("main", "pair"))
    if names is None:
        found = [effect for effect in effects.values() if effect.kind in kinds]
    else:
        found = [effects[name] for name in ([names] if isinstance(names, str) else names)]
        other = [effect.name for effect in found if effect.kind not in kinds]
        if other:
            raise ValueError(f"mode={mode!r} draws the kind {kinds[0]!r}, not {other[0]!r}")
    if not found and mode != "local":
        way = "; use mode='main'" if mode == "interaction" else ""
        raise ValueError(f"this model has no effects to draw with mode={mode!r}{way}")
    return found


def _mains(model: ExplainMixin, effects: list[Effect], target: Any) -> Figure:
    outputs = model._outputs(target)
    strongest = sorted(outputs, key=lambda k: -float(model.measured_.total[k]))[: len(COLOURS)]
    classes = model._output_classes()
    lines: Lines = [
        (k, str(classes[k]) if classes else "", COLOURS[n % len(COLOURS)])
        for n, k in enumerate(sorted(strongest))
    ]
    figure, axes = panels(len(effects), 4.0, 3.2)
    on = model._said(lines[0][0]) if len(lines) == 1 else "softmax score"
    for panel, effect in zip(axes, effects, strict=True):
        main_panel(panel, effect, lines)
        label = f"effect on {short(on, 34)}"
        if effect.features[0].category:
            panel.set_xlabel(label)
        else:
            panel.set_ylabel(label)
        share = effect.share if len(lines) > 1 else float(effect.shares[lines[0][0]])
        panel.set_title(f"{percents(share)} of the variance", fontsize=10)
    if len(lines) > 1:
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    return figure


def _interactions(model: ExplainMixin, effects: list[Effect], target: Any) -> Figure:
    figure, axes = panels(len(effects), 4.6, 3.6)
    outputs = model._outputs(target)
    for panel, effect in zip(axes, effects, strict=True):
        k = max(outputs, key=lambda k: float(effect.stds[k]))
        bar = pair_panel(figure, panel, effect, k, model.measured_)
        bar.set_label(f"effect on {short(model._said(k), 30)}", fontsize=8)
        panel.set_title(f"{percents(float(effect.shares[k]))} of the variance", fontsize=10)
    figure.supxlabel("pale: no training rows near", fontsize=8, color="0.4")
    return figure


MODES = {"main": 9, "interaction": 6, "importance": 20, "local": 12}  # what there is room for
