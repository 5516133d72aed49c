"""The sections of a report, each as HTML."""

from __future__ import annotations

import math
from html import escape
from typing import Any

import numpy as np

from ..discovery.law._expressions import short
from ..discovery.law._law import Law
from ..discovery.law._rivals import rivals as other_formulas
from ._math import readable
from ._page import figure, listing, table


def coefficients(law: Law) -> str:
    """The numbers of the law with their errors."""
    rows = []
    for name, row in law.coefficients.iterrows():
        low, high = _number(row["low"], 6), _number(row["high"], 6)
        interval = low if low == "n/a" else f"{low} … {high}"
        interval = "exact" if row["exact"] else interval
        value = row["exact"] if len(row["exact"]) < 8 else _number(row["value"], 8)
        value = value or _number(row["value"], 8)
        rows.append((str(name), str(value), _number(row["stderr"], 2), interval))
    heads = ("", "value", "standard error", "95 % interval")
    if not rows:
        return "<p>The law has no numbers that were fitted.</p>"
    about = f"As they stand in {law.target} = {short(law.template)}."
    return table(heads, rows) + f'<p class="soft">{escape(about)}</p>'


def evidence(law: Law) -> str:
    """Its errors, inside and outside of the data."""
    about = law.evidence
    spread = f"of the spread of {law.target}"
    rows = [
        ("Error on the rows of the fit", about.error),
        ("Error on rows that the search has not seen", about.held_out),
        ("Error outside: fitted to the inner part, asked for the outer", about.extrapolation),
        ("Noise: what the law leaves over", about.noise),
        ("What any smooth function reaches on these data", about.surrogate),
    ]
    told = [(name, share(value)) for name, value in rows if value is not None and value == value]
    size = [("Rows", f"{about.rows:,}"), ("Operations in the formula", str(law.complexity))]
    size += [("Formulas weighed", f"{about.candidates:,}")] if about.candidates else []
    size += [("Time", f"{about.seconds:.1f} s")] if about.seconds else []
    note = f'<p class="soft">Errors are root mean squares, as a share {escape(spread)} '
    note += f"(standard deviation {_number(about.spread, 4)}).</p>"
    stopped = "<p>The search stopped at its time limit.</p>" if about.stopped else ""
    return table(("", ""), [*told, *size]) + note + stopped


def domain(law: Law) -> str:
    """The range of the data, and whether the law has a value everywhere in it."""
    rows = [
        (name + (f" / {law.units[name]}" if name in law.units else ""), f"{low:.6g}", f"{high:.6g}")
        for name, (low, high) in zip(law.names.columns, law.box, strict=True)
    ]
    ranges = table(("input", "from", "to"), rows) if rows else ""
    domain = law.domain
    if domain.certified:
        told = "It is proven that the law has a finite value everywhere in this range of the data"
        more = f", and {domain.widest:.3g} times as wide" if domain.widest > 1.01 else ""
        return ranges + f"<p>{told}{more}.</p>"
    return (
        ranges
        + "<p>It is not proven that the law has a value everywhere in this range:</p>"
        + listing(str(reason) for reason in domain.reasons)
    )


def plots(law: Law, data: tuple[np.ndarray, np.ndarray] | None) -> str:
    """All plots; those of the data only if there are data."""
    from . import _plots  # matplotlib takes a second to import

    X, y = (None, None) if data is None or not len(data[1]) else _plots.thinned(*data)
    drawn = [figure(svg, caption) for svg, caption in _plots.curves(law, X, y)]
    if data is not None and X is not None and y is not None:
        total = len(data[1])
        part = f" {len(y):,} of {total:,} rows are drawn." if len(y) < total else ""
        drawn.append(figure(_plots.comparison(law, X, y), f"Law against measurement.{part}"))
        drawn.append(figure(_plots.residuals(law, X, y), f"What the law leaves over.{part}"))
    if other_formulas(law):
        drawn.append(figure(_plots.front(law), "Complexity against error of the best formulas."))
    return f'<div class="plots">{"".join(drawn)}</div>' if drawn else ""


def rivals(law: Law) -> str:
    """The other formulas on the front of complexity against error."""
    rows = [
        (
            str(entry.complexity),
            str(entry.parameters),
            share(entry.error),
            f"{law.target} = {_brief(entry.formula)}",
        )
        for entry in other_formulas(law)
    ]
    if not rows:
        return ""
    heads = ("operations", "fitted numbers", "error", "formula")
    return f"<h3>Other formulas</h3>{table(heads, rows, numeric=4)}"


def _brief(formula: Any) -> str:
    whole = short(readable(formula, 6))
    return whole if len(whole) <= 160 else f"{whole[:157]}..."


def share(value: float | None) -> str:
    """Return an error relative to the spread, in per cent where that reads well."""
    if value is None or math.isnan(value):
        return "n/a"
    return f"{100 * value:.3g}\N{NO-BREAK SPACE}%" if 1e-4 <= value < 10 else f"{value:.1e}"


def _number(value: float, digits: int) -> str:
    return "n/a" if math.isnan(value) else f"{value:.{digits}g}"
