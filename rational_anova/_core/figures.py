"""Pictures that notebooks show. Import it where something is drawn: matplotlib is slow to load."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure that a notebook shows as the value of a cell, with `pyplot` or without.

    Figures made by `pyplot` would be shown twice, and kept in memory until they are closed.
    """

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png")
        return content.getvalue()
