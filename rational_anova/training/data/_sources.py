"""Data in the forms people have them, read once into one: batches of inputs, targets, weights.

Bad data end in an error that says where and what to do, before any training.
"""

from __future__ import annotations

import numbers
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    TensorDataset,
)

from ...tables import as_tensor
from ._processes import ALONE, Processes

Data: TypeAlias = Any  # a pair or triple of arrays, a mapping, a Dataset or a DataLoader

_KEYS = ("train_input", "train_label", "train_weight", "test_input", "test_label", "test_weight")
_LABELS = ("labels", "label", "y")  # names of targets in batches that are mappings
_SEED_STEP = 1_000_003  # a prime: no two pairs of seed and epoch in use share an order


class Named:
    """Named inputs of as many rows each, such as tokens and their mask; the model gets keywords.

    Args:
        parts: tensors by name.
    """

    def __init__(self, parts: Mapping[str, Tensor]) -> None:
        self.parts = dict(parts)

    def __len__(self) -> int:
        return len(next(iter(self.parts.values())))

    def __getitem__(self, rows: Any) -> Named:
        return Named({name: part[rows] for name, part in self.parts.items()})


class Batch(NamedTuple):
    """Inputs (rows, ...), targets (rows, ...) and weights (rows,) or None.

    Of a batch that several processes share these are the rows of one of them.
    """

    x: Any  # a tensor, or `Named`
    y: Tensor
    weight: Tensor | None

    @property
    def mass(self) -> float:
        """The sum of the weights; without them the number of rows."""
        return float(len(self.x) if self.weight is None else self.weight.sum())

    def idle(self) -> Batch:
        """Return one row that counts for nothing, for a process without a row in a batch."""
        return Batch(self.x[:1], self.y[:1], torch.zeros(1, device=self.y.device))


class Rows:
    """Data held in memory.

    Several processes take their own rows of each batch, and the batches are those of one process:
    they follow from seed, epoch and the number of all rows.

    Args:
        x: inputs.
        y: targets.
        weight: one number for each row, or None.
        processes: that share the rows.
        places: (all rows,) where each stands in `x`, or -1 if another process has it; None if all
            processes have all rows.
    """

    def __init__(
        self,
        x: Tensor,
        y: Tensor,
        weight: Tensor | None = None,
        processes: Processes = ALONE,
        places: Tensor | None = None,
    ) -> None:
        self.batch = Batch(x, y, weight)
        self.processes, self.places = processes, places

    def __len__(self) -> int:
        return len(self.batch.x if self.places is None else self.places)

    def own(self) -> slice:
        """Return where the rows stand that this process goes through."""
        if self.places is not None:
            return slice(0, len(self.batch.x))
        rank, count = self.processes.rank, self.processes.count
        return slice(len(self) * rank // count, len(self) * (rank + 1) // count)

    def numbers(self) -> Tensor:
        """Return which of all rows those are, (rows here,)."""
        if self.places is None:
            return torch.arange(len(self))[self.own()]
        here = (self.places >= 0).nonzero()[:, 0]
        return here[self.places[here].argsort()]

    def chunks(self, size: int) -> Iterator[Batch]:
        """Yield all rows in order, `size` at a time; of several processes, those of this one."""
        own = self.own()
        for first in range(own.start, own.stop, size):
            yield self.take(slice(first, min(first + size, own.stop)))

    def batches(self, size: int, seed: int, epoch: int) -> Iterator[Batch]:
        """Yield all rows in an order that seed and epoch alone determine."""
        if size >= len(self):
            own = self.own()
            yield self.batch if own == slice(0, len(self.batch.x)) else self.take(own)
            return
        generator = torch.Generator().manual_seed(seed * _SEED_STEP + epoch)
        for rows in torch.randperm(len(self), generator=generator).split(size):
            yield self.take(self.here(rows))

    def here(self, rows: Tensor) -> Tensor:
        """Return where those of some rows stand that this process has to take."""
        if self.places is None:
            return rows[self.processes.rank :: self.processes.count]
        found = self.places[rows]
        return found[found >= 0]

    def part(self, rows: Tensor) -> Rows:
        """Return some of all rows, in the given order."""
        if self.places is None:
            return Rows(*self.take(rows), self.processes)
        found = self.places[rows]
        kept = found >= 0
        places = torch.where(kept, kept.cumsum(0) - 1, -1)
        return Rows(*self.take(found[kept]), self.processes, places)

    def replaced(self, batch: Batch) -> Rows:
        """Return the same rows with other numbers."""
        return Rows(*batch, self.processes, self.places)

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
        processes: that share the rows.
        divided: whether the loaders of all processes have the same rows, so that each must take
            its part of every batch.
    """

    def __init__(
        self,
        loader: DataLoader[Any],
        rows: int,
        processes: Processes = ALONE,
        divided: bool = False,
    ) -> None:
        self.loader = loader
        self.rows = rows
        self.processes, self.divided = processes, divided
        self._parts = _Parts(loader.batch_sampler, processes) if divided else None
        self._loader = loader if self._parts is None else _with_batches(loader, self._parts)
        self._steps = max(processes.of_all(len(loader)))

    def __len__(self) -> int:
        return self.rows

    def chunks(self, size: int) -> Iterator[Batch]:
        """Yield all rows, never more than `size` at a time; of several processes, this one's."""
        for batch in self._own():
            yield from Rows(*batch).chunks(size)

    def batches(self, size: int, seed: int, epoch: int) -> Iterator[Batch]:
        """Yield the batches of the loader as they come, as many on all processes."""
        batches = self._own()
        if self.processes.count == 1 or self.divided:
            yield from batches
            return
        last: Batch | None = None
        while True:
            batch = next(batches, None)
            if not any(self.processes.of_all(batch is not None)):
                return
            last = batch or last
            if last is None:
                raise ValueError(f"the loader of process {self.processes.rank} yields no batch")
            yield last.idle() if batch is None else batch

    def _own(self) -> Iterator[Batch]:
        for raw in self._loader:
            batch = Rows(*unpack(raw, "a batch of the loader")).batch
            idle = self._parts is not None and self._parts.idle.popleft()
            yield batch.idle() if idle else batch

    def steps(self, size: int) -> int:
        """Return the number of batches of an epoch."""
        return self._steps


class _Parts(BatchSampler):
    """The batches that the first process draws, and of each the part of this process.

    Args:
        whole: draws whole batches.
        processes: that share them.
    """

    def __init__(self, whole: Any, processes: Processes) -> None:
        self.whole, self.processes = whole, processes
        self.idle: deque[bool] = deque()  # for each batch, whether another's row stands in for none

    def __iter__(self) -> Iterator[list[int]]:
        self.idle.clear()
        rank, count = self.processes.rank, self.processes.count
        drawn = iter(self.whole)
        while True:
            batch = self.processes.from_first(next(drawn, None) if self.processes.first else None)
            if batch is None:
                return
            part = batch[rank::count]
            self.idle.append(not part)
            yield part or batch[:1]

    def __len__(self) -> int:
        return len(self.whole)


def _with_batches(loader: DataLoader[Any], batches: _Parts) -> DataLoader[Any]:
    return DataLoader(
        loader.dataset,
        batch_sampler=batches,
        num_workers=loader.num_workers,
        collate_fn=loader.collate_fn,
        pin_memory=loader.pin_memory,
        timeout=loader.timeout,
        worker_init_fn=loader.worker_init_fn,
        generator=loader.generator,
        persistent_workers=loader.persistent_workers,
    )


Source: TypeAlias = Rows | Stream


def read(data: Data, batch_size: int, seed: int) -> tuple[Source, Source | None]:
    """Return the training data, and the test data that a mapping may bring along."""
    if isinstance(data, Mapping) and any(name in data for name in _LABELS):
        return Rows(*unpack(data, "data")), None
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


def unpack(parts: Any, what: str) -> tuple[Any, Tensor, Tensor | None]:
    """Return (x, y) or (x, y, weight) as tensors of equal length; of a mapping, named inputs."""
    if isinstance(parts, Mapping):
        return _named(parts, what)
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


def _named(parts: Mapping[str, Any], what: str) -> tuple[Any, Tensor, Tensor | None]:
    """Return the inputs of a mapping by name, its labels, and its weights if there are any."""
    label = next((name for name in _LABELS if name in parts), None)
    inputs = {n: p for n, p in parts.items() if n not in (*_LABELS, "weight")}
    if label is None or not inputs:
        raise TypeError(
            f"{what} is a mapping with {', '.join(map(str, parts))}; it needs inputs, and targets "
            f"under one of {', '.join(map(repr, _LABELS))}"
        )
    x = Named({name: as_tensor(part, name) for name, part in inputs.items()})
    y = as_tensor(parts[label], label)
    weight = parts.get("weight")
    for name, part in (*x.parts.items(), (label, y)):
        if part.dim() == 0 or len(part) != len(y):
            raise ValueError(f"{label} has {len(y)} rows, {name} has shape {tuple(part.shape)}")
    return x, y, None if weight is None else as_tensor(weight, "weight")


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
        return source.part(kept), source.part(held)
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
    shared = (source.processes, source.divided)
    return Stream(train, len(kept), *shared), Stream(test, len(held), *shared)
