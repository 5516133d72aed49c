"""Data in the forms people have them, read once into one: batches of inputs, targets, weights.

Bad data end in an error that says where and what to do, before any training.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    TensorDataset,
)

from ..networks import RAN
from ..tables import as_tensor, check_finite_tensor
from ._losses import Loss, read_targets

Data: TypeAlias = Any  # a pair or triple of arrays, a mapping, a Dataset or a DataLoader

_KEYS = ("train_input", "train_label", "train_weight", "test_input", "test_label", "test_weight")
_SEED_STEP = 1_000_003  # a prime: no two pairs of seed and epoch in use share an order


class Batch(NamedTuple):
    """Inputs (rows, ...), targets (rows, ...) and weights (rows,) or None."""

    x: Tensor
    y: Tensor
    weight: Tensor | None


class Rows:
    """Data held in memory.

    Args:
        x: inputs.
        y: targets.
        weight: one number for each row, or None.
    """

    def __init__(self, x: Tensor, y: Tensor, weight: Tensor | None = None) -> None:
        self.batch = Batch(x, y, weight)

    def __len__(self) -> int:
        return len(self.batch.x)

    def chunks(self, size: int) -> Iterator[Batch]:
        """Yield all rows in order, `size` at a time."""
        for first in range(0, len(self), size):
            yield self.take(slice(first, first + size))

    def batches(self, size: int, seed: int, epoch: int) -> Iterator[Batch]:
        """Yield all rows in an order that seed and epoch alone determine."""
        if size >= len(self):
            yield self.batch
            return
        generator = torch.Generator().manual_seed(seed * _SEED_STEP + epoch)
        for rows in torch.randperm(len(self), generator=generator).split(size):
            yield self.take(rows)

    def steps(self, size: int) -> int:
        """Return the number of batches of an epoch."""
        return -(-len(self) // size)

    def take(self, rows: Any) -> Batch:
        """Return some of the rows."""
        x, y, weight = self.batch
        return Batch(x[rows], y[rows], None if weight is None else weight[rows])


class Stream:
    """Data that a DataLoader brings, batch by batch, in its own order.

    Args:
        loader: yields (x, y) or (x, y, weight).
        rows: how many rows it has.
    """

    def __init__(self, loader: DataLoader[Any], rows: int) -> None:
        self.loader = loader
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    def chunks(self, size: int) -> Iterator[Batch]:
        """Yield all rows, never more than `size` at a time."""
        for batch in self.loader:
            yield from Rows(*unpack(batch, "a batch of the loader")).chunks(size)

    def batches(self, size: int, seed: int, epoch: int) -> Iterator[Batch]:
        """Yield the batches of the loader as they come."""
        for batch in self.loader:
            yield Rows(*unpack(batch, "a batch of the loader")).batch

    def steps(self, size: int) -> int:
        """Return the number of batches of an epoch."""
        return len(self.loader)


Source: TypeAlias = Rows | Stream


def read(data: Data, batch_size: int, seed: int) -> tuple[Source, Source | None]:
    """Return the training data, and the test data that a mapping may bring along."""
    if isinstance(data, Mapping):
        unknown = set(data) - set(_KEYS)
        if unknown or "train_input" not in data or "train_label" not in data:
            raise ValueError(
                f"a dictionary of data needs 'train_input' and 'train_label' and may have "
                f"{', '.join(map(repr, _KEYS[2:]))}; got the keys {sorted(map(str, data))}"
            )
        train, test = ([data.get(f"{part}_{k}") for k in ("input", "label", "weight")]
                       for part in ("train", "test"))  # fmt: skip
        return _rows(train, "train_"), None if test[0] is None else _rows(test, "test_")
    if isinstance(data, TensorDataset):
        return Rows(*unpack(data.tensors, "a TensorDataset")), None
    if isinstance(data, DataLoader):
        return _stream(data), None
    if isinstance(data, IterableDataset):
        return _stream(DataLoader(data, batch_size)), None
    if isinstance(data, Dataset):
        generator = torch.Generator().manual_seed(seed)
        return _stream(DataLoader(data, batch_size, shuffle=True, generator=generator)), None
    return Rows(*unpack(data, "data")), None


def _rows(parts: list[Any], prefix: str) -> Rows:
    if parts[1] is None:
        raise ValueError(f"data has '{prefix}input' but no '{prefix}label'")
    return Rows(*unpack([part for part in parts if part is not None], "data"))


def _stream(loader: DataLoader[Any]) -> Stream:
    dataset: Any = loader.dataset
    try:
        rows = len(dataset)
    except TypeError:
        raise TypeError(
            "an iterable Dataset without a length cannot be trained on in epochs; give it __len__, "
            "or use a map-style Dataset"
        ) from None
    return Stream(loader, rows)


def unpack(parts: Any, what: str) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return (x, y) or (x, y, weight) as tensors of equal length."""
    if not isinstance(parts, tuple | list) or len(parts) not in (2, 3):
        size = f" of {len(parts)}" if isinstance(parts, tuple | list) else ""
        raise TypeError(
            f"{what} must be (X, y) or (X, y, weight), a dictionary with 'train_input' and "
            f"'train_label', a Dataset or a DataLoader; got {type(parts).__name__}{size}"
        )
    x, y = as_tensor(parts[0], "X"), as_tensor(parts[1], "y")
    weight = as_tensor(parts[2], "weight") if len(parts) == 3 and parts[2] is not None else None
    if x.dim() == 0:
        raise ValueError(f"X must have rows, got the single number {x.item():g}")
    if x.dim() == 1:
        x = x.unsqueeze(-1)
    for name, each in (("y", y), ("weight", weight)):
        if each is not None and (each.dim() == 0 or len(each) != len(x)):
            raise ValueError(
                f"X has {len(x)} rows, {name} has shape {tuple(each.shape)}; "
                "they must have as many rows"
            )
    if weight is not None and weight.dim() == 2 and weight.shape[1] == 1:
        weight = weight.squeeze(1)
    return x, y, weight


def is_share(validation: Any) -> bool:
    """Return whether validation is meant as a share of the rows."""
    return isinstance(validation, numbers.Real) and not isinstance(validation, bool)


def training_part(data: Data, validation: Any, batch_size: int, seed: int) -> Source:
    """Return the rows that `fit` would learn from."""
    train, _ = read(data, batch_size, seed)
    return split(train, float(validation), seed)[0] if is_share(validation) else train


def split(source: Source, fraction: float, seed: int) -> tuple[Source, Source]:
    """Set a share of the rows aside, the same ones for the same seed."""
    if not 0 < fraction < 1:
        raise ValueError(
            f"validation={fraction:g} must be a share of the rows between 0 and 1, or data (X, y)"
        )
    count = round(fraction * len(source))
    if not 0 < count < len(source) - 1:
        raise ValueError(
            f"validation={fraction:g} of {len(source)} rows leaves {count} for validation and "
            f"{len(source) - count} for training; both need rows (training two or more), so give "
            "another share, or the validation data themselves as (X, y)"
        )
    order = torch.randperm(len(source), generator=torch.Generator().manual_seed(seed))
    held, kept = order[:count], order[count:]
    if isinstance(source, Rows):
        return Rows(*source.take(kept)), Rows(*source.take(held))
    size = source.loader.batch_size
    if size is None:
        raise ValueError(
            "validation as a share needs a DataLoader with a batch_size; pass another DataLoader "
            "as validation instead"
        )
    if type(source.loader.sampler) not in (RandomSampler, SequentialSampler):
        raise ValueError(
            f"validation as a share cannot keep the {type(source.loader.sampler).__name__} of the "
            "DataLoader; pass a DataLoader of the validation rows instead"
        )
    dataset: Any = source.loader.dataset
    generator = torch.Generator().manual_seed(seed)
    parts = (Subset(dataset, rows.tolist()) for rows in (kept, held))
    train, test = (
        DataLoader(
            part,
            size,
            shuffle=n == 0,
            generator=generator,
            num_workers=source.loader.num_workers,
            collate_fn=source.loader.collate_fn,
            drop_last=source.loader.drop_last and n == 0,
        )
        for n, part in enumerate(parts)
    )
    return Stream(train, len(kept)), Stream(test, len(held))


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
    check_finite_tensor(x, f"{name}X")
    check_finite_tensor(y, f"{name}y")
    targets = read_targets(y.to(device), loss, outputs, dtype, f"{name}y")
    x = x.to(device, dtype)
    return Batch(x, targets, None if weight is None else _weights(weight, name).to(device, dtype))


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


def note_inputs(model: nn.Module, data: Data) -> None:
    """Let a RAN know where its data lie, for its pictures; streams are not read for that."""
    if not isinstance(model, RAN):
        return
    X: Any = None
    if isinstance(data, Mapping):
        X = data["train_input"]
    elif isinstance(data, TensorDataset):
        X = data.tensors[0]
    elif isinstance(data, tuple | list):
        X = data[0]
    if X is not None:
        rows = as_tensor(X, "X").reshape(-1, model.in_features)
        model.observe(rows, getattr(X, "columns", None))
