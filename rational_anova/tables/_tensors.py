"""Tables and columns as tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._arrays import Numbers, as_array, not_finite, read_matrix
from ._cells import not_real

if TYPE_CHECKING:
    from torch import Tensor


def as_tensor(values: Numbers, name: str) -> Tensor:
    """Return numbers as a tensor without a history: a tensor stays of its dtype and device.

    Gaps are nan; `check_finite_tensor` finds them.
    """
    import torch

    if isinstance(values, torch.Tensor):
        if values.is_complex():
            raise not_real(name)
        return values.detach()
    array = as_array(values, name)
    if array.dtype == np.float16 or array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    if array.dtype.kind == "u" and array.dtype.itemsize > 1:
        array = array.astype(np.int64)
    return torch.from_numpy(np.array(array, order="C"))


def read_tensor(X: Numbers, columns: int, name: str = "X") -> Tensor:  # (n, columns)
    """Return a table as a finite float64 tensor on the CPU, of one row at least."""
    import torch

    return torch.from_numpy(np.array(read_matrix(X, columns, name, least=1), order="C"))


def check_finite_tensor(values: Tensor, name: str) -> None:
    """Raise at the first number that is not finite."""
    if not values.is_floating_point():
        return
    bad = ~values.isfinite()
    if bool(bad.any()):
        place = bad.nonzero()[0].tolist()
        raise not_finite(name, int(bad.sum()), values[tuple(place)].item(), place)
