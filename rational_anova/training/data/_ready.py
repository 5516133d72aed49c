"""Data made ready for a model: on its device, in its dtype, checked; and what a model takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from ...networks import RAN
from ...tables import as_tensor, check_finite_tensor
from .._losses import Loss, read_targets
from ._sources import Batch, Data, Named, Rows, Source


class Diverged(RuntimeError):
    """The loss became non-finite or exploded repeatedly, even with smaller steps."""


def device_of(model: nn.Module) -> torch.device:
    """Return where the model lives."""
    return next((p.device for p in model.parameters()), torch.device("cpu"))


def dtype_of(model: nn.Module) -> torch.dtype:
    """Return the real dtype of the model's parameters."""
    real = (p.dtype for p in model.parameters() if p.is_floating_point())
    return next(real, torch.get_default_dtype())


def prepare(batch: Batch, loss: Loss, outputs: int, model: nn.Module, name: str = "") -> Batch:
    """Return a batch on the model's device and in its dtype, checked."""
    device, dtype = device_of(model), dtype_of(model)
    x, y, weight = batch
    check_finite_tensor(y, f"{name}y")
    targets = read_targets(y.to(device), loss, outputs, dtype, f"{name}y")
    x = ready_inputs(x, model, name)
    return Batch(x, targets, None if weight is None else _weights(weight, name).to(device, dtype))


def ready_inputs(x: Any, model: nn.Module, name: str = "") -> Any:
    """Return inputs on the model's device and in its dtype.

    Whole numbers stay whole where inputs have names, and where the model looks tokens up.
    """
    device, dtype = device_of(model), dtype_of(model)
    if isinstance(x, Named):
        parts = x.parts.items()
        return Named({n: p.to(device, dtype if p.is_floating_point() else None) for n, p in parts})
    check_finite_tensor(x, f"{name}X")
    tokens = not x.is_floating_point() and any(isinstance(m, _LOOKUPS) for m in model.modules())
    return x.to(device) if tokens else x.to(device, dtype)


_LOOKUPS = (nn.Embedding, nn.EmbeddingBag)


def _weights(weight: Tensor, name: str) -> Tensor:
    check_finite_tensor(weight, f"{name}weight")
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
    ready = source.replaced(prepare(source.batch, loss, outputs, model, name))
    alone = source.processes.count == 1  # else `evaluate` will say so, when all have added up
    if alone and ready.batch.weight is not None and not ready.batch.mass:
        raise ValueError(
            f"{name}weight must be above 0 in some rows, got a sum of {ready.batch.mass:g}"
        )
    return ready


def learnable(source: Source) -> None:
    """Raise where there is nothing to learn from."""
    if len(source) < 2:
        raise ValueError(f"data has {len(source)} rows; two or more are needed to learn from")
    if not isinstance(source, Rows):
        return
    y = source.batch.y.reshape(len(source.batch.y), -1)
    if source.batch.weight is not None:
        y = y[source.batch.weight > 0]
    values = source.processes.of_all(y[0].tolist() if len(y) and bool((y == y[0]).all()) else None)
    if values[0] is not None and all(each == values[0] for each in values):
        value = ", ".join(f"{v:g}" for v in values[0][:3])
        raise ValueError(
            f"the target is {value} in all {len(y)} rows: there is nothing to learn; "
            "check that y is the right column"
        )


def outputs_of(model: nn.Module, source: Source, anything: bool = False) -> int:
    """Run two rows through the model, and return how many outputs it has.

    With `anything` the outputs may have any shape, since a loss of the user's reads them.
    """
    first = next(iter(source.chunks(2)), None)
    if first is None:
        raise ValueError("the DataLoader yields no batch; is drop_last set with too few rows?")
    x, before = first.x, modes(model)
    form = "named inputs" if isinstance(x, Named) else f"X of shape {(len(source), *x.shape[1:])}"
    model.eval()
    try:
        with torch.no_grad():
            result = _called(model, ready_inputs(x, model))
    except (RuntimeError, ValueError, TypeError) as error:
        raise ValueError(f"the model does not take {form}: {error}") from error
    finally:
        set_modes(before)
    rows = isinstance(result, Tensor) and result.dim() > 0 and len(result) == len(x)
    if not rows or (result.dim() not in (1, 2) and not anything):
        shape = tuple(result.shape) if isinstance(result, Tensor) else type(result).__name__
        way = " (a loss of your own, a function, may take other shapes)" if rows else ""
        raise ValueError(
            f"the model must return (rows, outputs) for {form}; "
            f"for {len(x)} rows it returns {shape}{way}"
        )
    return 1 if result.dim() == 1 else int(result.shape[-1])


@torch.no_grad()
def weighable(model: nn.Module, source: Source, loss: Loss) -> None:
    """Raise where rows have weights, and a loss of the user's has one number for all of them."""
    if not loss.own or not isinstance(source, Rows) or source.batch.weight is None:
        return
    first = source.take(slice(0, 2))
    before = modes(model)
    model.eval()
    values = loss.value(predict(model, first.x), first.y)
    set_modes(before)
    if len(values) > 1 and values.stride() == (0,):
        raise ValueError(
            f"the loss {loss.name} has one number for a batch, so weights of rows cannot count; "
            "let it return one for each row (reduction='none'), or leave the weights out"
        )


def _called(model: nn.Module, x: Any) -> Any:
    """Return what the model makes of inputs; of a record of outputs, its `logits`."""
    result: Any = model(**x.parts) if isinstance(x, Named) else model(x)
    if isinstance(result, Mapping):
        return result.get("logits", result)
    return getattr(result, "logits", result)


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


def predict(model: nn.Module, x: Any) -> Tensor:
    """Return outputs as (rows, outputs), or in the shape that a model with more axes has."""
    result: Tensor = _called(model, x)
    return result.unsqueeze(-1) if result.dim() == 1 else result


def note_inputs(model: nn.Module, data: Data) -> None:
    """Let a RAN know where its data lie, for its pictures; streams are not read for that."""
    if not isinstance(model, RAN):
        return
    X: Any = None
    if isinstance(data, Mapping):
        X = data.get("train_input")
    elif isinstance(data, TensorDataset):
        X = data.tensors[0]
    elif isinstance(data, tuple | list):
        X = data[0]
    if X is not None:
        rows = as_tensor(X, "X").reshape(-1, model.in_features)
        model.observe(rows, getattr(X, "columns", None))
