"""`write_report`: a law as one HTML file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from typing import Any

from .._core.files import write_whole
from ..discovery.law import Law, measured, short, text, title
from . import _sections as sections
from ._math import law_svg, readable
from ._sections import code, listing, page, section


def write_report(
    law: Law,
    path: str | os.PathLike[str],
    X: Any = None,
    y: Any = None,
    notes: Sequence[str] = (),
) -> None:
    """Write a self-contained HTML report of a law.

    It has the law, its grade, its parameters with standard errors and correlations, its rivals,
    the noise, plots, how it was found, the data, and its code in Python and C.

    Args:
        law: from `discover`.
        path: where to write; the file appears whole or not at all.
        X: the data, as for `law.predict`, to be drawn beside the law; those of the fit by default,
            as long as the law has them.
        y: measured values of the target, or the name of a column of X.
        notes: sentences on the data, such as which columns were left out.
    """
    if not isinstance(law, Law):
        raise TypeError(f"a report needs a Law, as discover returns it, got {type(law).__name__}")
    rows = measured(law, X, y)
    heading = title(law)
    body = [
        f"<h1>{escape(heading)}</h1>",
        _formula(law),
        f'<p class="trust{"" if law.grade.claimed else " no"}">{escape(law.trust)}</p>',
        section("Doubts", listing(law.doubts)),
        section("Parameters", sections.coefficients(law)),
        section("Groups", sections.groups(law)),
        section("Rivals", sections.rivals(law)),
        section("Goodness of fit", sections.evidence(law)),
        section("Range of validity", sections.domain(law)),
        section("Plots", sections.plots(law, rows)),
        section(
            "How it was found", listing(law.evidence.route, ordered=True), sections.entries(law)
        ),
        section("The data", listing(notes)),
        section("Provenance", sections.provenance(law)),
        section(
            "Use it",
            code("Python", law.to_python()),
            code("C", law.to_c()),
            code("LaTeX", law.latex()),
            code("LaTeX with errors", law.latex(errors=True)),
            code("All digits", f"{law.target} = {text(law.formula)}"),
        ),
        "<footer>Written by rational-anova.</footer>",
    ]
    write_whole(path, page(heading, body).encode())


def _formula(law: Law) -> str:
    plain = f"{law.target} = {short(readable(law.rounded()))}"
    drawn = law_svg(law)
    pairs = zip(law.names.symbols, law.names.columns, strict=True)
    other = [f"{symbol} stands for {column}" for symbol, column in pairs if symbol.name != column]
    legend = f'<p class="soft">In text and code, {escape("; ".join(other))}.</p>' if other else ""
    if drawn is None:
        return f'<div class="law plain">{escape(plain)}</div>{legend}'
    box = f'<div class="law math" role="img" aria-label="{escape(plain)}">{drawn}</div>'
    return box + legend
