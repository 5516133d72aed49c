"""A law of a run with the rows that it was fitted to, and other formulas of it in its place."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...work import ROWS

if TYPE_CHECKING:
    from ....discovery import Law
    from ..._records import Run
    from ..._workspace import Workspace

_MOST = 12  # laws that are kept in memory
_kept: OrderedDict[str, Opened] = OrderedDict()


@dataclass(frozen=True)
class Opened:
    """A law, its rows if there are any, and its formula as a picture.

    Args:
        law: with the rows as its `data`.
        rows: to be drawn, with what the law says of them.
        svg: the formula typeset; None if it cannot be.
        other: empty for the law itself, else what the formula in its place is.
    """

    law: Law
    rows: Any
    svg: str | None
    other: str = ""


def opened(workspace: Workspace, run: Run) -> Opened:
    """Open the law of a run; takes up to some seconds, so call it in a thread."""
    if run.id in _kept:
        _kept.move_to_end(run.id)
        return _kept[run.id]
    import numpy as np

    from ....discovery import Law, Sample

    law = Law.load(workspace.result(run))
    if ROWS in run.results:
        with np.load(workspace.result(run, ROWS), allow_pickle=False) as parts:
            found = {name: parts[name] for name in parts.files}
        law = replace(law, data=Sample(**found))
    made = of_law(law)
    _kept[run.id] = made
    while len(_kept) > _MOST:
        _kept.popitem(last=False)
    return made


def of_law(law: Law) -> Opened:
    """Return a law with what its page needs."""
    from ....discovery.law import measured
    from ....report import law_svg

    return Opened(law, measured(law), law_svg(law))


def in_its_place(first: Opened, formula: Any, told: str) -> Opened:
    """Return another formula of the same table in the place of the law: a rival, one of the front.

    It has no coefficients, tests or grade of its own: it was not fitted to all rows.
    """
    import numpy as np

    law = replace(
        first.law, template=formula, parameters=(), covariance=np.zeros((0, 0)), name="",
        groups=None, outliers=(),
    )  # fmt: skip
    return replace(of_law(law), other=told)


def warm() -> None:
    """Import what the page of a law needs; in a thread, while a search goes on."""
    from ....discovery.law import INK
    from ....report import math_svg

    assert INK
    math_svg("x")
