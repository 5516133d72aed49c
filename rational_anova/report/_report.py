"""`write_report`: a law as one HTML file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from .._core.files import write_whole
from ..discovery.law import Law, short, text
from ..tables import as_column, as_pandas, rows_of
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
    """Write a law to an HTML file that needs nothing but a browser, on a desk or on a phone.

    It has the law, how far to trust it, its coefficients with error bars, plots, how it was found
    and its code in Python and C.

    Args:
        law: from `discover`.
        path: where to write; the file appears whole or not at all.
        X: the data, as for `law.predict`, to be drawn beside the law.
        y: measured values of the target, or the name of a column of X.
        notes: sentences on the data, such as which columns were left out.
    """
    if not isinstance(law, Law):
        raise TypeError(f"a report needs a Law, as discover returns it, got {type(law).__name__}")
    if (X is None) != (y is None):
        raise ValueError("give both X and y, or neither")
    data = None if X is None else _data(law, X, y)
    title = f"Law of {law.target}" if law.found else f"No compact law of {law.target}"
    body = [
        f"<h1>{escape(title)}</h1>",
        _formula(law),
        f'<p class="trust{"" if law.found else " no"}">{escape(law.trust)}</p>',
        section("Coefficients", sections.coefficients(law)),
        section("How good it is", sections.evidence(law)),
        section("How far it holds", sections.domain(law)),
        section("Plots", sections.plots(law, data)),
        section(
            "How it was found", listing(law.evidence.route, ordered=True), sections.rivals(law)
        ),
        section("The data", listing(notes)),
        section(
            "Use it",
            code("Python", law.to_python()),
            code("C", law.to_c()),
            code("LaTeX", law.latex()),
            code("All digits", f"{law.target} = {text(law.formula)}"),
        ),
        "<footer>Written by rational-anova.</footer>",
    ]
    write_whole(path, page(title, body).encode())


def _data(law: Law, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(y, str):
        if as_pandas(X) is None:
            raise TypeError(f"y is the name {y!r}, so that X must be a DataFrame with this column")
        outcome = rows_of(X, [y])[:, 0]
    else:
        outcome = rows_of(as_column(y).to_numpy(), [law.target])[:, 0]
    rows = rows_of(X, law.names.columns)
    if len(rows) != len(outcome):
        raise ValueError(f"X has {len(rows)} rows, but y has {len(outcome)}")
    said = law.predict(rows)
    whole = np.isfinite(rows).all(1) & np.isfinite(outcome) & np.isfinite(said)
    return rows[whole], outcome[whole]


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
