"""Launch the Triton kernels: what describes a form to them, the sizes of tiles, the buffers.

Triton is imported when it is first asked for, since most machines do without it.
"""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from ._spec import Powers, Spec

# What the integers of `_code` have room for.
_DEGREE = 8
_SQUARES = 8
_COEFFICIENTS = 255
_KINDS = ("softplus", "squareplus", "square", "abs", "sos", "polynomial")
_BASES = ("identity", "mean", "zero", "gelu", "silu", "relu", "tanh", "gelu_tanh", "quick_gelu")
# Numbers of a tile for each warp of 32 threads: 8 to a thread, which fit into its registers.
_WARP = 256
# Backward has larger tiles, since each of them writes a row of sums.
_WARPS = {"forward_kernel": 4, "backward_kernel": 8, "pairs_kernel": 4}
# Units in a tile if the samples of a unit do not lie next to each other.
_ACROSS = 32
# Programs reach a little beyond the end of a tensor before they are masked.
_WIDE = 2**31 - 2**24

_lists: Any = WeakTensorKeyDictionary()


def reason(device: torch.device | None = None) -> str | None:
    """Say why Triton cannot serve tensors (of a device), or return None if it can."""
    missing = _missing()
    if missing is not None:
        return missing
    from . import _triton_kernels

    if _triton_kernels.interpreted():
        return None
    if not torch.cuda.is_available():
        return "there is no CUDA device, and TRITON_INTERPRET is not set"
    if device is not None and device.type != "cuda":
        return f"Triton serves CUDA tensors, not those of {device.type!r}"
    return None


def serves(spec: Spec) -> bool:
    """Return whether the kernels know this form."""
    polynomials = (spec.numerator, *spec.denominator)
    return (
        spec.variables in (1, 2)
        and spec.kind in _KINDS
        and spec.base in _BASES
        and len(spec.denominator) <= _SQUARES
        and sum(map(len, spec.denominator)) <= _COEFFICIENTS
        and all(powers and max(map(sum, powers)) <= _DEGREE for powers in polynomials)
    )


def forward(
    spec: Spec,
    rows: Tensor,
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor | None,
) -> Tensor:
    """Return r, in the dtype of the rows.

    Args:
        spec: what the units compute.
        rows: (outer, units, inner), or (outer, features) for pairs.
        numerator: (heads, m, units), in the dtype to compute in.
        denominator: (heads, n, units).
        gate: (units,) or None for p/d alone.
        pairs: (2, units) for units of two inputs, else None.
    """
    units = numerator.shape[-1]
    result = rows.new_empty(rows.shape if pairs is None else (rows.shape[0], units))
    sizes = _sizes(rows, units, pairs)
    coefficients = _contiguous(numerator, denominator, gate, pairs)
    _launch(
        "forward_kernel",
        (rows.contiguous(), result, *coefficients, *sizes),
        (sizes[0], units, sizes[2]),
        {**_constants(spec), "HEADS": numerator.shape[0], "WIDE": _wide(rows, result)},
    )
    return result


def backward(
    spec: Spec,
    rows: Tensor,
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor | None,
    grad: Tensor,
    inputs: bool,
) -> tuple[Tensor | None, Tensor, Tensor, Tensor | None]:
    """Return the derivatives of sum(grad * r) with respect to rows, both polynomials and gate.

    See `forward` for the arguments; those of the rows are returned only if `inputs` is true.
    """
    rows, grad = rows.contiguous(), grad.contiguous()
    heads, _, units = numerator.shape
    sizes = _sizes(rows, units, pairs)
    coefficients = _contiguous(numerator, denominator, gate, pairs)
    tops, bottoms = (heads * part.shape[1] for part in (numerator, denominator))
    # One row of sums for each block of samples. Adding to a common row would need atomics, and
    # the result would then depend on which program comes first.
    blocks = _blocks(sizes[0], _tile("backward_kernel", sizes[0], units, sizes[2])[0])
    sums = numerator.new_empty(blocks, tops + bottoms + (gate is not None), units)
    d_rows = torch.empty_like(rows) if inputs else None
    constants = {**_constants(spec), "HEADS": heads, "WIDE": _wide(rows, grad, sums)}
    direct = d_rows if pairs is None else None
    _launch(
        "backward_kernel",
        (rows, grad, direct, sums, *coefficients, *sizes),
        (sizes[0], units, sizes[2]),
        constants,
    )
    if d_rows is not None and pairs is not None:
        features = rows.shape[1]
        lists = _lists_of(pairs, features)
        _launch(
            "pairs_kernel",
            (rows, grad, d_rows, *coefficients, *lists, sizes[0], units, features),
            (sizes[0], features, 1),
            {**constants, **_constants(spec, swapped=True)},
        )
    total = sums.sum(0)
    return (
        d_rows,
        total[:tops].reshape(numerator.shape),
        total[tops : tops + bottoms].reshape(denominator.shape),
        None if gate is None else total[-1],
    )


def _launch(
    name: str, arguments: tuple[Any, ...], shape: tuple[int, int, int], constants: dict[str, Any]
) -> None:
    """Run a kernel on all tiles of (samples, units); `shape` has the inner size as well."""
    from . import _triton_kernels

    along, across = _tile(name, *shape)
    grid = (_blocks(shape[0], along) * _blocks(shape[1], across),)
    if not grid[0]:
        return
    # Horner steps are meant to be fused; what Triton does on its own depends on its version.
    options = {"num_warps": _WARPS[name], "enable_fp_fusion": True}
    with torch.cuda.device_of(arguments[0]):
        kernel = getattr(_triton_kernels, name)[grid]
        kernel(*arguments, **constants, ALONG=along, ACROSS=across, **options)


def _tile(name: str, samples: int, units: int, inner: int) -> tuple[int, int]:
    """Return how many samples and units a program works on, both powers of two."""
    across = min(_power(units), max(1, _ACROSS // _power(inner)))
    return min(_power(samples), _WARP * _WARPS[name] // across), across


def _power(number: int) -> int:
    """Return the least power of two that is not less than `number`."""
    return 1 << max(0, number - 1).bit_length()


def _blocks(number: int, size: int) -> int:
    return -(-number // size)


def _wide(*tensors: Tensor) -> bool:
    """Return whether an offset may need 64 bits."""
    return max(tensor.numel() for tensor in tensors) >= _WIDE


def _sizes(rows: Tensor, units: int, pairs: Tensor | None) -> tuple[int, int, int, int]:
    """Return the samples of a unit, the units, the inner size and the features of the rows."""
    inner = rows.shape[2] if pairs is None else 1
    return rows.shape[0] * inner, units, inner, rows.shape[1]


def _contiguous(*tensors: Tensor | None) -> list[Tensor | None]:
    return [None if tensor is None else tensor.contiguous() for tensor in tensors]


def _lists_of(pairs: Tensor, features: int) -> tuple[Tensor, Tensor]:
    """List the pairs of each feature: `order` (2, K) and where each list starts in it."""
    key = (features, None if pairs.is_inference() else pairs._version)
    known = _lists.get(pairs)
    if known is None or known[0] != key or key[1] is None:
        ordered, order = pairs.sort(dim=1, stable=True)
        marks = torch.arange(features + 1, device=pairs.device).expand(2, -1).contiguous()
        known = _lists[pairs] = key, (order, torch.searchsorted(ordered, marks))
    found: tuple[Tensor, Tensor] = known[1]
    return found


@functools.lru_cache(maxsize=256)
def _constants(spec: Spec, swapped: bool = False) -> dict[str, Any]:
    """Describe a form to the compiler, if asked for also with its two inputs exchanged."""
    result = {
        "P": _code((spec.numerator,)),
        "Q": _code(spec.denominator),
        "KIND": spec.kind,
        "BASE": spec.base,
        "EPS": float(spec.eps),
        "REACH": spec.reach or 0.0,
        "LOW": spec.ends[0],
        "HIGH": spec.ends[1],
        "TOPS": len(spec.numerator),
        "BOTTOMS": sum(map(len, spec.denominator)),
    }
    if swapped:
        result["P_SWAPPED"] = _code((spec.numerator,), swapped)
        result["Q_SWAPPED"] = _code(spec.denominator, swapped)
    return result


def _code(polynomials: tuple[Powers, ...], swapped: bool = False) -> int:
    """Write where each monomial has its coefficient into one integer; see `_triton_kernels`."""
    code, number = 0, 0
    for place, powers in enumerate(polynomials):
        for row in powers:
            number += 1
            i, j = (*row, 0)[:2][:: -1 if swapped else 1]
            code |= number << 648 * place + 72 * i + 8 * j
    return code


@functools.cache
def _missing() -> str | None:
    """Say why Triton cannot be imported, or return None."""
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    try:
        importlib.import_module("triton")
    except Exception as error:  # a broken install must not take the torch path down with it
        return f"Triton cannot be imported: {error}"
    return None
