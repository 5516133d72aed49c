"""Call the C kernels: tensors in, tensors out."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ._build import Unavailable, library
from ._spec import Powers, Spec

# In the order of the enums in source/unit.h.
_KINDS = {"softplus": 0, "squareplus": 1, "square": 2, "sos": 2, "abs": 3, "polynomial": 4}
_BASES = {
    "zero": 0,
    "identity": 1,
    "mean": 1,
    "gelu": 2,
    "silu": 3,
    "relu": 4,
    "tanh": 5,
    "gelu_tanh": 6,
    "quick_gelu": 7,
}
_FUNCTIONS = {"ran_forward": 11, "ran_backward": 16, "ran_jacobian": 13, "ran_effects": 6}
_DEGREE = 8  # the highest power of a variable
_POLYNOMIALS = 9  # MOST_POLYNOMIALS of source/unit.h
# Fewer outputs than these are not worth a second thread, nor a library of their own.
_SHARED = 2**15
_OWN = 2**16

_lock = threading.Lock()
_loaded: dict[tuple[torch.dtype, tuple[str, ...]], Any] = {}
_forked = False


def _after_fork() -> None:
    # OpenMP's threads do not survive a fork, and its runtime waits for them for ever.
    global _forked, _lock
    _forked = True
    _lock = threading.Lock()  # another thread may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class _Spec(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ("heads", "above", "below", "polynomials")),
        *((name, ctypes.c_int64) for name in ("kind", "base", "gated", "held")),
        *((name, ctypes.c_double) for name in ("shift", "reach", "low", "high")),
        ("table", ctypes.c_void_p),
    )


def serves(spec: Spec) -> bool:
    """Return whether the kernels can compute units of this form."""
    known: bool | None = vars(spec).get("_served")
    if known is None:
        known = vars(spec)["_served"] = _serves(spec)
    return known


def _serves(spec: Spec) -> bool:
    powers = [*spec.numerator, *(row for q in spec.denominator for row in q)]
    return (
        spec.variables in (1, 2)
        and max(map(max, powers)) <= _DEGREE
        and len(spec.denominator) < _POLYNOMIALS
        and spec.kind in _KINDS
        and spec.base in _BASES
    )


def load(dtype: torch.dtype, form: tuple[str, ...] = ()) -> Any:
    """Return the library for a dtype; raises `Unavailable` with the reason if there is none."""
    held = _loaded.get((dtype, form))
    if held is not None:
        return held
    with _lock:
        if (dtype, form) not in _loaded:
            try:
                _loaded[dtype, form] = _opened(dtype == torch.float32, form)
            except Unavailable:
                if not form or (dtype, ()) not in _loaded:
                    raise
                _loaded[dtype, form] = _loaded[dtype, ()]  # the library for all forms will do
        return _loaded[dtype, form]


def _opened(single: bool, form: tuple[str, ...]) -> Any:
    path = library(single, form)
    try:
        return _open(path)
    except Unavailable:  # cut short, or from another system: build it anew, once
        with contextlib.suppress(OSError):
            path.unlink()
        return _open(library(single, form))


def _open(path: Path) -> Any:
    try:
        held = ctypes.CDLL(str(path))
        for name, pointers in _FUNCTIONS.items():
            function = getattr(held, name)
            function.argtypes = [ctypes.c_void_p] * pointers
    except (OSError, AttributeError) as error:
        raise Unavailable(f"{path} cannot be loaded ({error})") from None
    return held


def forward(
    spec: Spec,
    rows: Tensor,  # (outer, units, inner), or (outer, features) with pairs
    numerator: Tensor,  # (heads, m, units)
    denominator: Tensor,  # (heads, n, units)
    gate: Tensor | None,  # (units,)
    pairs: Tensor | None,  # (2, units)
) -> Tensor:
    """Return r at each row, in the shape of rows, or (outer, units) for pairs."""
    call = _Call(spec, rows, numerator, denominator, gate, pairs)
    result = call.x.new_empty(call.result)
    call.run("ran_forward", result, None, None)
    return result


def send(
    spec: Spec,
    rows: Tensor,  # (outer, features)
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor,
    readout: Tensor | None,  # (outputs, units)
    keep: bool,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Return rows with r of each pair added to both of its features.

    And r itself if it is to be kept, and r @ readout.T if there is a readout.
    """
    call = _Call(spec, rows, numerator, denominator, gate, pairs, readout)
    sent = torch.empty_like(call.x)
    messages = call.x.new_empty(call.result) if keep else None
    read = None if readout is None else call.x.new_empty(len(rows), len(readout))
    call.run("ran_forward", messages, sent, read)
    return sent, messages, read


def backward(
    spec: Spec,
    rows: Tensor,
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor | None,
    grad: Tensor | None,  # in the shape of what `forward` returns
    inputs: bool,
) -> tuple[Tensor | None, Tensor, Tensor, Tensor | None]:
    """Return the derivatives of sum(grad * r), those along the rows only if asked for."""
    call = _Call(spec, rows, numerator, denominator, gate, pairs)
    along, tops, bottoms, gates, _ = call.slopes(grad, None, None, inputs)
    return along, tops, bottoms, gates


def send_backward(
    spec: Spec,
    rows: Tensor,
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor,
    readout: Tensor | None,
    grads: tuple[Tensor | None, Tensor | None, Tensor | None],  # of what `send` returns
    inputs: bool,
) -> tuple[Tensor | None, Tensor, Tensor, Tensor | None, Tensor | None]:
    """Return the derivatives along rows (if asked for), coefficients, gate and readout."""
    sent, messages, read = grads
    if readout is not None and read is None:
        read = rows.new_zeros(len(rows), len(readout))
    call = _Call(spec, rows, numerator, denominator, gate, pairs, readout)
    return call.slopes(messages, sent, read, inputs)


def jacobian(
    spec: Spec,
    rows: Tensor,  # (rows, units), or (rows, features) with pairs
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor | None,
    buffer: Tensor,  # (outputs, columns, gap), contiguous
    columns: Sequence[int],  # where derivatives along p, q and gate start in the buffer
    weights: Tensor | None,  # (outputs, units): of the units in each output
) -> Tensor:
    """Write derivatives along the coefficients into a buffer, and return the values of the units.

    Column c of the buffer holds the derivatives of an output along one coefficient, row by row.
    `gap` is a multiple of 64 and holds all rows; what is written beyond the last means nothing.
    """
    wide = rows if pairs is not None else rows.unsqueeze(-1)
    call = _Call(spec, wide, numerator, denominator, gate, pairs, weights)
    _, size, gap = buffer.shape
    values = call.x.new_empty(numerator.shape[-1], gap)
    starts = [buffer[0, column] if column < size else None for column in columns]
    call.run("ran_jacobian", values, *starts, (ctypes.c_int64 * 2)(gap, size))
    return values[:, : len(rows)].t()


def _plain(tensor: Tensor) -> Tensor:
    """Return a tensor whose memory holds its numbers in order; views may be strided or negated."""
    return tensor.contiguous().resolve_neg()


class _Call:
    """The arguments that all kernels share; holds what their pointers point to."""

    def __init__(
        self,
        spec: Spec,
        rows: Tensor,
        numerator: Tensor,
        denominator: Tensor,
        gate: Tensor | None,
        pairs: Tensor | None,
        weights: Tensor | None = None,
    ) -> None:
        self.x, self.numerator, self.denominator = map(_plain, (rows, numerator, denominator))
        self.gate, self.weights = (
            None if tensor is None else _plain(tensor) for tensor in (gate, weights)
        )
        self.pairs = None if pairs is None else pairs.to(torch.int64).contiguous()
        heads, _, units = numerator.shape
        self.spec = _packed(spec, heads, gate is not None)
        outer, inner = rows.shape[0], rows.shape[2] if pairs is None else 1
        size = outer * units * inner
        features = units * inner if pairs is None else rows.shape[1]
        self.result = rows.shape if pairs is None else (outer, units)
        # By shape alone: the bits of a result must not depend on what was called before.
        self.library = load(rows.dtype, self.spec.form if size >= _OWN else ())
        threads = 1 if _forked or size < _SHARED else torch.get_num_threads()
        outputs = 0 if weights is None else len(weights)
        self.shape = (ctypes.c_int64 * 6)(outer, units, inner, features, threads, outputs)

    def slopes(
        self, grad: Tensor | None, sent: Tensor | None, read: Tensor | None, inputs: bool
    ) -> tuple[Tensor | None, Tensor, Tensor, Tensor | None, Tensor | None]:
        """Return the derivatives along rows, coefficients, gate and weights."""
        along = torch.empty_like(self.x) if inputs else None
        tops, bottoms = torch.empty_like(self.numerator), torch.empty_like(self.denominator)
        gates = None if self.gate is None else torch.empty_like(self.gate)
        weights = None if self.weights is None else torch.empty_like(self.weights)
        above = [None if part is None else _plain(part) for part in (grad, sent, read)]
        self.run("ran_backward", *above, along, tops, bottoms, gates, weights)
        return along, tops, bottoms, gates, weights

    def run(self, name: str, *others: Any) -> None:
        """Call a kernel with the shared arguments and `others`."""
        own = (self.pairs, self.x, self.numerator, self.denominator, self.gate, self.weights)
        pointers = [t.data_ptr() if isinstance(t, Tensor) else t for t in (*own, *others)]
        function = getattr(self.library, name)
        failed = function(ctypes.addressof(self.spec.struct), self.shape, *pointers)
        if failed == 2 and self.pairs is not None:
            low, high = (int(bound) for bound in torch.aminmax(self.pairs))
            raise ValueError(
                f"pairs must name features 0 to {self.shape[3] - 1} of x, got {low} to {high}; "
                "after to_empty() call reset_parameters()"
            )
        if failed:
            raise MemoryError(f"{name} has no memory for its sums over {tuple(self.x.shape)}")


class _Packed(NamedTuple):
    struct: _Spec
    table: Any  # what the struct points to
    form: tuple[str, ...]  # the same as definitions for the compiler


def _packed(spec: Spec, heads: int, gated: bool) -> _Packed:
    """Return what the kernels read; kept with the spec, whose hash takes longer than a kernel."""
    kept: dict[tuple[int, bool], _Packed] = vars(spec).setdefault("_packed", {})
    if (heads, gated) not in kept:
        kept[heads, gated] = _pack(spec, heads, gated)
    return kept[heads, gated]


def definitions(spec: Spec, heads: int, gated: bool) -> tuple[str, ...]:
    """Return a form of unit as definitions for the compiler."""
    return _packed(spec, heads, gated).form


def _pack(spec: Spec, heads: int, gated: bool) -> _Packed:
    numbers = _layout(spec.numerator, 0)
    done = 0
    for powers in spec.denominator:
        numbers += _layout(powers, done)
        done += len(powers)
    table = (ctypes.c_int32 * len(numbers))(*numbers)
    counts = (heads, len(spec.numerator), done, 1 + len(spec.denominator))
    names = (_KINDS[spec.kind], _BASES[spec.base], int(gated), int(spec.reach is not None))
    form = (
        f"-DVARIABLES={spec.variables}",
        f"-DFORM={','.join(map(str, (*counts, *names)))}",
        f"-DTABLE={','.join(map(str, numbers))}",
    )
    numbers_of = (1 + spec.eps, spec.reach or 0.0, *spec.ends)
    return _Packed(_Spec(*counts, *names, *numbers_of, ctypes.addressof(table)), table, form)


def _layout(powers: Powers, start: int) -> list[int]:
    """Lay a polynomial out for nested Horner steps: `Layout` of source/unit.h, number by number."""
    place = {row if len(row) == 2 else (0, *row): start + n for n, row in enumerate(powers)}
    width = range(_DEGREE + 1)
    counts = [max((b + 1 for a, b in place if a == power), default=0) for power in width]
    rows = [place.get((a, b), -1) for a in width for b in width]
    return [max(a for a, _ in place), *counts, *rows]
