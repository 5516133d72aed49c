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
    out = io.StringIO()
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": panel.key}), warnings.catch_warnings():
        # letters that matplotlib's font lacks are drawn by the browser, from its own
        warnings.simplefilter("ignore", UserWarning)
        figure = Figure(figsize=_WIDE if panel.wide else _SIZE, layout="constrained")
        panel.draw(figure.subplots())
        metadata = {"Date": None, "Creator": None}
        figure.savefig(out, format="svg", transparent=True, metadata=metadata)
    text = out.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # several plots in one page would share them
    head, rest = text[4:].split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)  # the page decides
    return f'<svg role="img" aria-label="{escape(panel.about)}"{head}>{rest}'
