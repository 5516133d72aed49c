"""The plots of a law as SVG that takes its ink from the page: light and dark alike."""

from __future__ import annotations

import io
import re
import warnings
from html import escape

import matplotlib
from matplotlib.figure import Figure

from ..discovery.law import INK, STYLE, Panel

_SIZE, _WIDE = (5.0, 3.6), (9.0, 4.4)  # inches


def svg(panel: Panel) -> str:
    """Return a plot as SVG without identifiers, colours of text, or a size of its own."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=_WIDE if panel.wide else _SIZE, layout="constrained")
        panel.draw(figure.subplots())
        return drawn(figure, panel.key, panel.about)


def drawn(figure: Figure, key: str, about: str, transparent: bool = True) -> str:
    """Return a figure as SVG.

    Args:
        figure: of matplotlib.
        key: no other plot of the page may have it.
        about: what it shows, in words.
        transparent: whether it lies on the page's own ground.
    """
    out = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": key}), warnings.catch_warnings():
        # letters that matplotlib's font lacks are drawn by the browser, from its own
        warnings.simplefilter("ignore", UserWarning)
        metadata = {"Date": None, "Creator": None}
        figure.savefig(out, format="svg", transparent=transparent, metadata=metadata)
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = text.replace(INK, "currentColor") if transparent else text
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # several plots in one page would share them
    head, rest = text[4:].split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)  # the page decides
    return f'<svg role="img" aria-label="{escape(about)}"{head}>{rest}'
