"""Bars: shares of the variance, and what adds up to one prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.patches import Patch

from ..networks._plots import panels, percent
from ._effects import Effect
from ._panels import short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._explain import ExplainMixin


def importance(model: ExplainMixin, effects: list[Effect], most: int, target: Any) -> Figure:
    """Draw the shares of the variance, those past the first ones together."""
    k = None if target is None else model._outputs(target)[0]
    shares = [e.share if k is None else float(e.shares[k]) for e in effects]
    order = np.argsort(-np.array(shares), kind="stable")
    shown, rest = order[:most], order[most:]
    figure, (panel,) = panels(1, 7.2, 0.28 * (len(shown) + bool(len(rest))) + 1.4)
    colour = {"main": "C0", "pair": "C1"}
    for at, n in enumerate(shown):
        panel.barh(at, shares[n], color=colour[effects[n].kind])
    names = [short(effects[n].name, 44) for n in shown]
    values = [shares[n] for n in shown]
    if len(rest):
        values.append(float(sum(shares[n] for n in rest)))
        names.append(f"{len(rest)} more effects")
        panel.barh(len(shown), values[-1], color="0.7")
    for at, value in enumerate(values):
        panel.annotate(percents(value), (max(value, 0), at), (3, 0), textcoords="offset points",
                       va="center", fontsize=8)  # fmt: skip
    panel.set_yticks(range(len(names)), names)
    panel.invert_yaxis()
    panel.margins(x=0.15)
    panel.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    everything = len(model._output_classes()) > 0 and k is None
    of = "all softmax scores" if everything else short(model._said(k or 0), 40)
    panel.set_xlabel(f"share of the variance of {of}")
    kinds = {effects[n].kind for n in shown}
    handles = [Patch(color=colour[kind], label=kind) for kind in colour if kind in kinds]
    panel.legend(handles=handles, loc="lower right", frameon=False)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    return figure


def local(model: ExplainMixin, effects: list[Effect], X: Any, most: int, target: Any) -> Figure:
    """Draw how effects add up from the intercept to the prediction for one row."""
    if X is None or len(X) != 1:
        got = "none" if X is None else f"{len(X)} rows"
        raise ValueError(f"mode='local' draws one row, got {got}; pass X=table.iloc[[k]]")
    decisions = model.model_.decision(model._rows(X))[0]  # type: ignore[attr-defined]
    outputs = model._outputs(target)
    k = outputs[int(np.argmax(decisions[outputs]))]
    chosen = model._output_classes()[k] if model._output_classes() else None
    table = model.explain_local(X, chosen).iloc[0]
    effects = sorted(effects, key=lambda effect: -abs(float(table[effect.name])))[:most]
    sizes = [float(table[effect.name]) for effect in effects]
    texts = [_with_values(effect, X) for effect in effects]
    others = len(model.effects_) - len(effects)
    if others:
        sizes.append(float(table["prediction"] - table["intercept"]) - sum(sizes))
        texts.append(f"{others} more effects")
    ends = float(table["intercept"]) + np.cumsum(sizes)
    starts = ends - sizes
    figure, (panel,) = panels(1, 7.6, 0.3 * len(sizes) + 1.6)
    at = np.arange(len(sizes))
    panel.barh(at, sizes, left=starts, color=["C3" if s > 0 else "C0" for s in sizes], height=0.7)
    for n in at:
        if n:
            panel.plot([starts[n]] * 2, [n - 1, n], color="0.6", linewidth=0.8)
        right = max(starts[n], ends[n])
        text = f"{sizes[n]:+.3g}".replace("-", "\N{MINUS SIGN}")
        panel.annotate(text, (right, n), (3, 0), textcoords="offset points", va="center",
                       fontsize=8)  # fmt: skip
    panel.set_yticks(at, texts)
    panel.set_ylim(len(sizes) - 0.4, -0.6)
    reach = np.concatenate([starts, ends, [float(table["intercept"])]])
    room = 0.04 * (reach.max() - reach.min()) or 1.0
    panel.set_xlim(reach.min() - room, reach.max() + 3 * room)
    for name, style in (("intercept", ":"), ("prediction", "--")):
        value = float(table[name])
        text = f"{name} {value:.4g}".replace("-", "\N{MINUS SIGN}")
        panel.axvline(value, color="0.3", linewidth=1, linestyle=style, label=text, zorder=0)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    panel.set_xlabel(short(model._said(k), 50))
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    return figure


def _with_values(effect: Effect, X: Any) -> str:
    """Write an effect's inputs with the values that a row has."""
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    texts = []
    for feature in effect.features:
        value = frame.iloc[0, feature.column]
        if pd.isna(value):
            text = "missing"
        elif isinstance(value, pd.Timestamp):
            text = str(value.date())
        elif isinstance(value, str) or feature.category:
            text = short(value, 14)
        else:
            text = f"{value:.4g}" if abs(value) < 1e4 or value % 1 else f"{value:.0f}"
        texts.append(f"{short(feature.name, 20)} = {text}")
    return ", ".join(texts)


def percents(share: float) -> str:
    """Write a share, which may be negative."""
    if not np.isfinite(share):
        return "unknown share"
    return "\N{MINUS SIGN}" + percent(-share) if share < -0.0005 else percent(share)
