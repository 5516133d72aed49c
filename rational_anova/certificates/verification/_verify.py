"""Is a property of a network ever met? Planes on pieces of the box, until all are settled."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

import numpy as np

from ..._core import checks as check
from ..._core.types import Array
from ...proofs import Cells, Interval
from ..relaxation import State
from ._onnx import Network, read_onnx
from ._vnnlib import Case, PropertyError, read_vnnlib

_AT_ONCE = 32


@dataclass(frozen=True)
class Verdict:
    """What is known about a property of a network.

    Args:
        answer: `unsat`: no input of the box meets it, proved; `sat`: `inputs` does, proved by
            interval arithmetic at that point; `unknown`: neither within the limits.
        inputs: a point that meets the property, if there is one.
        outputs: bounds (low, high) of the outputs there.
        pieces: of the box that were looked at.
        seconds: how long it took.
    """

    answer: str
    inputs: tuple[float, ...] | None = None
    outputs: tuple[tuple[float, float], ...] | None = None
    pieces: int = 0
    seconds: float = 0.0

    def text(self) -> str:
        """Return the verdict as VNN-COMP writes it: the answer, and the point if there is one."""
        if self.inputs is None or self.outputs is None:
            return self.answer
        values = [f"(X_{n} {value!r})" for n, value in enumerate(self.inputs)]
        values += [
            f"(Y_{n} {0.5 * low + 0.5 * high!r})" for n, (low, high) in enumerate(self.outputs)
        ]
        return f"{self.answer}\n({chr(10).join(values)})"


def verify(
    network: str | os.PathLike[str],
    prop: str | os.PathLike[str],
    *,
    pieces: int = 10_000,
    seconds: float = 60.0,
) -> Verdict:
    """Prove that a network never meets a property, or find an input with which it does.

    The network is taken as a function of real numbers with the exact values of its weights;
    rounding in its own forward pass is not looked at.

    Args:
        network: an ONNX file, as torch exports plain networks and those of this library.
        prop: a VNN-LIB file: a box of inputs and linear demands on the outputs.
        pieces: greatest number of pieces of the box.
        seconds: after which it ends with `unknown`.

    Raises:
        Unsupported: the network has operations that are not known here.
        PropertyError: the property cannot be read, or is not of this network.
    """
    check.integer(pieces, "pieces", 1)
    if not check.real(seconds, "seconds") > 0:
        raise ValueError(f"seconds must be > 0, got {seconds}")
    net, cases = read_onnx(network), read_vnnlib(prop)
    inputs, outputs = net.graph.size(net.input), net.graph.size(net.output)
    start = time.monotonic()
    left, answer = pieces, "unsat"
    for case in cases:
        if (len(case.box.low), case.rows.shape[1]) != (inputs, outputs):
            raise PropertyError(
                f"the property has {len(case.box.low)} inputs and {case.rows.shape[1]} outputs, "
                f"the network {inputs} and {outputs}"
            )
    for case in cases:
        if (case.box.low > case.box.high).any():
            continue  # an empty box
        search = _Search(net, case, left, start + seconds)
        found = search.run()
        left -= search.looked
        taken = time.monotonic() - start
        if found is not None:
            point, values = found
            pairs = tuple(zip(values.low.tolist(), values.high.tolist(), strict=True))
            return Verdict("sat", tuple(point.tolist()), pairs, pieces - left, taken)
        if search.open:
            answer = "unknown"
    return Verdict(answer, None, None, pieces - left, time.monotonic() - start)


class _Search:
    def __init__(self, net: Network, case: Case, most: int, until: float) -> None:
        self.net, self.case, self.most, self.until = net, case, most, until
        self.looked, self.open = 0, False

    def run(self) -> tuple[Array, Interval] | None:
        """Return a point that meets the case, or None; then `open` says whether some may."""
        cells = Cells.of(self.case.box.low[None], self.case.box.high[None])
        while len(cells):
            if self.looked >= self.most or time.monotonic() > self.until:
                self.open = True
                return None
            now, cells = cells[:_AT_ONCE], cells[_AT_ONCE:]
            now = now[: max(1, self.most - self.looked)]
            self.looked += len(now)
            found, halves = self._look(now)
            if found is not None:
                return found
            cells = Cells(*(np.concatenate([getattr(halves, name), getattr(cells, name)])
                            for name in ("problem", "low", "high", "carried")))  # fmt: skip
        return None

    def _look(self, cells: Cells) -> tuple[tuple[Array, Interval] | None, Cells]:
        """Bound cells; return a point that meets the case, or the halves of the open ones."""
        state = self._state(cells.low, cells.high)
        rows, case = self.case.rows, self.case
        margin = state.rows(self.net.output, rows).low - case.bounds
        plain = _times(rows, state.boxes[self.net.output]) - case.bounds
        with np.errstate(invalid="ignore"):
            is_open = ~(np.fmax(margin, plain) > 0).any(1)
        if not is_open.any():
            return None, cells[:0]
        slopes, _ = state.linear(self.net.output, rows)
        worst = np.nan_to_num(np.fmax(margin, plain), nan=-1e300).argmax(1)
        along = slopes[np.arange(len(cells)), worst]
        corners = np.where(along > 0, cells.low, cells.high)
        points = np.concatenate([cells.middle, corners])[np.tile(is_open, 2)]
        found = self._met(points)
        if found is not None:
            return found, cells[:0]
        weight = (np.abs(np.nan_to_num(along)) + 1e-12) * (cells.high - cells.low)
        thin = ~cells.wide.any(1)
        if (is_open & thin).any():
            self.open = True
        rest = is_open & ~thin
        return None, cells[rest].halves(weight[rest])

    def _met(self, points: Array) -> tuple[Array, Interval] | None:
        """Return a point at which the case is proved to be met."""
        values = self._state(points, points).boxes[self.net.output]
        highest = -_times(-self.case.rows, values)
        with np.errstate(invalid="ignore"):
            good = np.flatnonzero((highest <= self.case.bounds).all(1))
        return (points[good[0]], values[good[0]]) if len(good) else None

    def _state(self, low: Array, high: Array) -> State:
        return State.over(self.net.graph, self.net.input, Interval(low, high))


def _times(rows: Array, box: Interval) -> Array:
    """Return lower bounds of rows @ y on boxes (batch, outputs)."""
    above, below = np.maximum(rows, 0), np.minimum(rows, 0)
    with np.errstate(all="ignore"):
        low = box.low @ above.T + box.high @ below.T
        slack = box.most @ np.abs(rows).T * (rows.shape[1] + 16) * 2.0**-51 + 1e-300
    single = (rows != 0).sum(1) == np.abs(rows).sum(1)
    return np.asarray(np.where(single & ((rows != 0).sum(1) == 1), low, low - slack))
