"""Exponents set free: whether a power is what it was taken for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import sympy as sp

from ..search import Template

_PLAIN = 2  # squares and inverse squares are as they are


def freed(template: Template) -> Iterator[Template]:
    """The formula with its broken and high powers of columns as numbers to be fitted, if any."""
    powers = [
        p
        for p in template.expression.atoms(sp.Pow)
        if p.exp.is_Rational
        and p.base.free_symbols - set(template.parameters)
        and (not p.exp.is_Integer or abs(p.exp) > _PLAIN)
        and not (p.exp == sp.Rational(1, 2) and p.base.is_Add)
    ]
    if not 0 < len(powers) <= 3:
        return
    new = {p: sp.Dummy(f"n{k}") for k, p in enumerate(sorted(powers, key=sp.default_sort_key))}
    expression = template.expression.xreplace({p: p.base**s for p, s in new.items()})
    yield replace(
        template,
        expression=expression,
        parameters=(*template.parameters, *new.values()),
        values=np.r_[template.values, [float(p.exp) for p in new]],
    )
