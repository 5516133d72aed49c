"""Data shared by several processes: the same rows everywhere, or rows of each one's own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader

from ._processes import Processes
from ._sources import Batch, Named, Rows, Source, Stream, unpack

_ROWS, _GOLDEN = 8192, -7046029254386353131  # of a digest: rows at once; 2^64 over the golden ratio


def digest(batch: Batch, numbers: Tensor | None = None) -> int:
    """Return a number of 63 bits that depends on every row and its place.

    It is a sum over the rows, so that those of several processes add up to that of all.
    """
    parts = [part.detach().cpu() for part in _tensors(batch)]
    order = torch.arange(len(batch.x)) if numbers is None else numbers
    total = torch.zeros((), dtype=torch.int64)
    for first in range(0, len(batch.x), _ROWS):
        rows = slice(first, first + _ROWS)
        found = [p[rows].contiguous().reshape(len(order[rows]), -1) for p in parts]
        content = torch.cat([p.view(torch.uint8) for p in found], 1).long()
        factors = torch.randint(2**62, (content.shape[1],), generator=_mixer()) * 2 + 1
        mixed = (content * factors).sum(1) ^ (order[rows] * _GOLDEN)
        total += ((mixed ^ (mixed >> 31)) * _GOLDEN).sum()  # integers of torch wrap around
    return int(total) & (2**63 - 1)


def _tensors(batch: Batch) -> list[Tensor]:
    named = isinstance(batch.x, Named)
    inputs = [batch.x.parts[name] for name in sorted(batch.x.parts)] if named else [batch.x]
    return [part for part in (*inputs, batch.y, batch.weight) if part is not None]


def _mixer() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def divided(source: Source, shared: Processes, way: str) -> Source:
    """Return data as several processes share them; see the argument `processes` of `fit`."""
    if shared.count == 1:
        return source
    if isinstance(source, Rows):
        return _divided_rows(source, shared, way)
    loader = source.loader
    ready = type(loader) is not DataLoader or type(loader.batch_sampler) is not BatchSampler
    ready = ready or hasattr(loader.sampler, "num_replicas")
    if ready:  # it brings the batches of this process already
        if way == "split":
            raise ValueError(
                "processes='split' needs a DataLoader with a batch_size and without a sampler for "
                "several processes; leave processes out, and each goes through its own loader"
            )
        return Stream(loader, source.rows, shared)
    same = way == "split" or (way == "auto" and _same_items(loader, shared))
    rows = source.rows if same else int(sum(shared.totals(source.rows)))
    return Stream(loader, rows, shared, same)


def _divided_rows(source: Rows, shared: Processes, way: str) -> Rows:
    marks = shared.of_all((len(source), digest(source.batch)))
    same = all(mark == marks[0] for mark in marks)
    if way == "split" and not same:
        raise ValueError(
            "processes='split' needs the same rows on all processes, and they differ; pass "
            "processes='shards' if each was given rows of its own"
        )
    if same and way != "shards":
        return Rows(*source.batch, shared)
    shapes = [tuple(part.shape[1:]) for part in _tensors(source.batch)]
    shared.agree(str(shapes), "the data", "all need the same columns")
    counts = [rows for rows, _ in marks]
    if not all(counts):
        raise ValueError(f"process {counts.index(0)} has no rows; give each of them some")
    places = torch.full((sum(counts),), -1)
    first = sum(counts[: shared.rank])
    places[first : first + len(source)] = torch.arange(len(source))
    return Rows(*source.batch, shared, places)


def _same_items(loader: DataLoader[Any], shared: Processes) -> bool:
    """Return whether loaders of all processes have the same rows, by looking at three of them."""
    dataset: Any = loader.dataset
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # for what a Dataset draws
        items = [dataset[n] for n in (0, len(dataset) // 2, len(dataset) - 1)]
    batch = Batch(*unpack(loader.collate_fn(items), "a batch of the loader"))
    marks = shared.of_all((len(dataset), digest(batch)))
    return all(mark == marks[0] for mark in marks)
