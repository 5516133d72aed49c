"""Formulas as pictures, drawn with the fonts that matplotlib brings: no network, no JavaScript."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from ..discovery.law import name_in_latex, names_in_latex, substitute

if TYPE_CHECKING:
    from ..discovery.law import Law

_SIZE = 26.0  # CSS pixels
_LONGEST = 4000  # characters of LaTeX; beyond, text reads better
_ONE_AT_A_TIME = threading.Lock()  # matplotlib's parser of formulas is not safe in threads


def law_svg(law: Law) -> str | None:
    """Return `target = formula` as SVG pieces, one a term, or None if it cannot be drawn."""
    pieces = [f"{name_in_latex(law.target)} ="]
    formula = readable(law.rounded())
    for place, term in enumerate(formula.as_ordered_terms() if formula.is_Add else [formula]):
        # a thin space between factors keeps 0.2 and a long name apart; 3/2 as a power stays flat
        written = sp.latex(
            term, symbol_names=names_in_latex(law.names), full_prec=False,
            mul_symbol=r"\,", fold_frac_powers=True,
        )  # fmt: skip
        text = _large(written)
        if place:
            minus = text.startswith("-")
            text = rf"-\;{text[1:]}" if minus else rf"+\;{text}"
        pieces.append(text)
    if sum(map(len, pieces)) > _LONGEST:
        return None
    drawn = [math_svg(piece) for piece in pieces]
    if any(svg is None for svg in drawn):
        return None
    return "\n".join(f"<span>{svg}</span>" for svg in drawn)


def readable(formula: sp.Expr, digits: int = 0) -> sp.Expr:
    """Return fractions such as 4157/50000 as decimals, and floats with so many digits, if any."""

    def decimal(number: sp.Rational) -> bool:
        rest = number.q
        for factor in (2, 5):
            while rest % factor == 0:
                rest //= factor
        return rest == 1 and number.q > 16

    values = {n: sp.Float(str(float(n)), 15) for n in formula.atoms(sp.Rational) if decimal(n)}
    if digits:
        values.update((n, sp.Float(n, digits)) for n in formula.atoms(sp.Float))
    return substitute(formula, values)


def _large(latex: str) -> str:
    """Let the outer fractions be as large as the text; those in exponents stay small."""
    parts, depth = [], 0
    for part in re.split(r"(\\frac|[{}])", latex):
        depth += (part == "{") - (part == "}")
        parts.append(r"\dfrac" if part == r"\frac" and depth == 0 else part)
    return "".join(parts)


def math_svg(latex: str) -> str | None:
    """Return a formula as SVG that sits on the line of the text, or None if it cannot be drawn."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = "cm" if latex.isascii() else "dejavuserif"
    if not _has_glyphs(latex):
        return None
    style = FontProperties(math_fontfamily=font)
    with contextlib.suppress(ValueError, RuntimeError), _ONE_AT_A_TIME:
        path = TextPath((0, 0), f"${latex}$", size=_SIZE, prop=style)
        if len(path.vertices):
            return _svg(path.vertices, path.codes)
    return None


def _has_glyphs(text: str) -> bool:
    """Tell whether the font for other alphabets has all letters; a box would stand for others."""
    if text.isascii():
        return True
    from matplotlib.font_manager import FontProperties, findfont, get_font

    known = get_font(findfont(FontProperties(family="DejaVu Serif"))).get_charmap()
    return all(ord(letter) in known for letter in text)


def _svg(vertices: np.ndarray, codes: np.ndarray) -> str:
    points = np.asarray(vertices) * (1, -1)  # SVG counts downwards
    drawn = points[codes != 79]  # the end of a closed line has no place
    low, high = drawn.min(0) - 1, drawn.max(0) + 1
    low[1], high[1] = min(low[1], -_SIZE / 2), max(high[1], 1)
    # codes of matplotlib: how many points each takes, and how SVG calls it
    kinds = {1: (1, "M"), 2: (1, "L"), 3: (2, "Q"), 4: (3, "C"), 79: (1, "Z")}
    parts, place = [], 0
    while place < len(codes):
        count, letter = kinds.get(int(codes[place]), (1, "Z"))
        ends: Sequence[float] = (
            [] if letter == "Z" else points[place : place + count].ravel().tolist()
        )
        parts.append(letter + " ".join(f"{value:.2f}" for value in ends))
        place += count
    width, height = high - low
    return (
        f'<svg aria-hidden="true" width="{width:.1f}" height="{height:.1f}" '
        f'viewBox="{low[0]:.2f} {low[1]:.2f} {width:.2f} {height:.2f}" '
        f'style="vertical-align:{-high[1]:.1f}px"><path d="{"".join(parts)}"/></svg>'
    )
