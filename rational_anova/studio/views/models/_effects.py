"""What a fitted model does: how good it is, shares, curves and surfaces."""

from __future__ import annotations

from ...models import Session
from ...pages import card, draw, notice, number, numbers_table, text
from ._pictures import curve_figure, shares_figure, surface_figure

_CURVES, _SURFACES = 12, 6
_LITTLE = 0.001  # of the variance: smaller pairs are counted and not drawn


def scores(session: Session) -> None:
    """Put the measures on the rows held out on the page."""
    facts = session.facts
    if not facts.scores:
        notice("No rows were held out: the error on new rows is unknown.", "warn")
        return
    now = session.measures(session.decision(session.rows)) if session.done else {}
    heads = ["", "model", f"guess of the {facts.baseline}"]
    rows = [[name, number(pair[0]), number(pair[1])] for name, pair in facts.scores.items()]
    if now:
        heads.insert(2, "with the edits")
        rows = [[*row[:2], number(now[row[0]]), row[2]] for row in rows]
    numbers_table(heads, rows, "Measures on the rows held out")
    text(f"On {facts.held} held-out rows of {facts.rows}.", "soft small", "p")


def effects(session: Session) -> None:
    """Put measures, shares, curves and surfaces on the page."""
    from nicegui import ui

    found = session.effects()
    with ui.element("div").classes("grid"):
        with card("Goodness of fit", testid="model-scores"):
            scores(session)
            for note in session.facts.notes[:4]:
                text(f"Note: {note}.", "soft small", "p")
        with card("What matters"):
            draw(
                shares_figure(found), testid="model-shares",
                label="Shares of the variance: " + ", ".join(
                    f"{e.name} {e.share:.1%}" for e in found[:8]),
            )  # fmt: skip
            text("Blue: one input. Violet: two inputs together.", "soft small", "p")
    mains = [effect for effect in found if effect.kind == "main"]
    with card("Curves", about=f"Contribution of each input to {session.scale}, with its 95 % band. "
              "Pale bars: histogram of the rows."):  # fmt: skip
        with ui.element("div").classes("grid"):
            for effect in mains[:_CURVES]:
                with ui.element("div"):
                    curve = session.curve(effect.name)
                    draw(
                        curve_figure(curve, f"adds to {session.outputs[0] or 'it'}"),
                        label=f"Effect of {effect.name}, from {number(float(curve.effect.min()))} "
                        f"to {number(float(curve.effect.max()))}",
                    )
        if len(mains) > _CURVES:
            text(f"and {len(mains) - _CURVES} smaller ones", "soft small", "p")
    pairs = [effect for effect in found if effect.kind == "pair"]
    shown = [effect for effect in pairs if abs(effect.share) >= _LITTLE][:_SURFACES]
    if pairs:
        with card("Pairs", about="Interactions of two inputs, beyond their main effects. "
                  "Blank: no rows."):  # fmt: skip
            with ui.element("div").classes("grid"):
                for effect in shown:
                    with ui.element("div"):
                        text(f"{effect.name}: {effect.share:.1%} of the variance", "label")
                        draw(surface_figure(effect), label=f"Effect of {effect.name}",
                             testid="model-pair")  # fmt: skip
            if len(pairs) > len(shown):
                text(f"{len(pairs) - len(shown)} pairs with negligible effects are not drawn.",
                     "soft small", "p")  # fmt: skip
