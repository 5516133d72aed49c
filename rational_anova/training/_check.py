"""Bad data end in an error that says where and what to do, before any training."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ._data import Batch, Rows, Source
from ._losses import Loss, read_targets


class Diverged(RuntimeError):
    """The loss became non-finite or exploded again and again, at ever smaller steps."""


def device_of(model: nn.Module) -> torch.device:
    """Return where the model lives."""
    return next((p.device for p in model.parameters()), torch.device("cpu"))


def dtype_of(model: nn.Module) -> torch.dtype:
    """Return the real dtype of the model's parameters."""
    real = (p.dtype for p in model.parameters() if p.is_floating_point())
    return next(real, torch.get_default_dtype())


def finite(values: Tensor, name: str) -> None:
    """Raise at the first number that is not finite."""
    if not values.is_floating_point() or bool(torch.isfinite(values).all()):
        return
    place = (~torch.isfinite(values)).nonzero()[0].tolist()
    where = f"row {place[0]}" + (f", column {place[1]}" if len(place) == 2 else "")
    if len(place) > 2:
        where = f"index {tuple(place)}"
    count = int((~torch.isfinite(values)).sum())
    raise ValueError(
        f"{name} has {count} values that are not finite, the first is "
        f"{values[tuple(place)].item()} at {where}; drop or fill such rows first"
    )


def prepare(batch: Batch, loss: Loss, outputs: int, model: nn.Module, name: str = "") -> Batch:
    """Return a batch on the model's device and in its dtype, checked."""
    device, dtype = device_of(model), dtype_of(model)
    x, y, weight = batch
    finite(x, f"{name}X")
    finite(y, f"{name}y")
    targets = read_targets(y.to(device), loss, outputs, dtype, f"{name}y")
    x = x.to(device, dtype)
    return Batch(x, targets, None if weight is None else _weights(weight, name).to(device, dtype))


def _weights(weight: Tensor, name: str) -> Tensor:
    finite(weight, f"{name}weight")
    if weight.dim() != 1:
        raise ValueError(f"{name}weight must be one number for each row, got {tuple(weight.shape)}")
    if bool((weight < 0).any()):
        raise ValueError(f"{name}weight must be >= 0, got a least weight of {weight.min():g}")
    return weight


def prepare_source(
    source: Source, loss: Loss, outputs: int, model: nn.Module, name: str = ""
) -> Source:
    """Check data in memory once; a stream is checked batch by batch as it comes."""
    if not isinstance(source, Rows):
        return source
    ready = Rows(*prepare(source.batch, loss, outputs, model, name))
    weight = ready.batch.weight
    if weight is not None and not bool(weight.sum() > 0):
        raise ValueError(
            f"{name}weight must be above 0 in some rows, got a sum of {weight.sum():g}"
        )
    return ready


def learnable(source: Source) -> None:
    """Raise where there is nothing to learn from."""
    if len(source) < 2:
        raise ValueError(f"data has {len(source)} rows; two or more are needed to learn from")
    if not isinstance(source, Rows):
        return
    y = source.batch.y.reshape(len(source), -1)
    if source.batch.weight is not None:
        y = y[source.batch.weight > 0]
    if len(y) and bool((y == y[0]).all()):
        value = ", ".join(f"{v:g}" for v in y[0].tolist()[:3])
        raise ValueError(
            f"the target is {value} in all {len(y)} rows: there is nothing to learn; "
            "check that y is the right column"
        )


def outputs_of(model: nn.Module, source: Source) -> int:
    """Run two rows through the model, and return how many outputs it has."""
    first = next(iter(source.chunks(2)), None)
    if first is None:
        raise ValueError("the DataLoader yields no batch; is drop_last set with too few rows?")
    x, before = first.x, modes(model)
    model.eval()
    try:
        with torch.no_grad():
            result: Any = model(x.to(device_of(model), dtype_of(model)))
    except (RuntimeError, ValueError, TypeError) as error:
        raise ValueError(
            f"the model does not take X of shape {(len(source), *x.shape[1:])}: {error}"
        ) from error
    finally:
        set_modes(before)
    if not isinstance(result, Tensor) or result.dim() not in (1, 2) or len(result) != len(x):
        shape = tuple(result.shape) if isinstance(result, Tensor) else type(result).__name__
        raise ValueError(
            f"the model must return (rows, outputs) for X of shape {(len(source), *x.shape[1:])}; "
            f"for {len(x)} rows it returns {shape}"
        )
    return 1 if result.dim() == 1 else int(result.shape[1])


def modes(model: nn.Module) -> dict[nn.Module, bool]:
    """Return which modules are in training mode."""
    return {module: module.training for module in model.modules()}


def set_modes(before: dict[nn.Module, bool]) -> None:
    """Bring every module back to its own mode: a norm may be frozen in a model that trains."""
    for module, training in before.items():
        module.training = training


def require_module(model: object) -> None:
    """Raise unless this is a model."""
    if not isinstance(model, nn.Module):
        hint = "; build it first" if isinstance(model, type) else ""
        raise TypeError(f"model must be an nn.Module, got {model!r}{hint}")


def predict(model: nn.Module, x: Tensor) -> Tensor:
    """Return outputs as (rows, outputs)."""
    result: Tensor = model(x)
    return result.unsqueeze(-1) if result.dim() == 1 else result
