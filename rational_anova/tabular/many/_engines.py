"""Where a pass over the rows runs: here, in processes of joblib, on Dask, on Spark.

A pass is a job: what it makes of rows that follow one another, and how two results become one. The
results are such that it does not matter how the rows were cut; so engines may cut them as they
like, and what was lost with a worker is done again by the engine, with the same result.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import accumulate
from typing import Any, Protocol

import joblib
import pandas as pd

from ...tables import FramePiece, Piece, Pieces, pieces_of
from ..model import workers
from ._scan import NamedError, naming

Chunks = Iterable[tuple[str, pd.DataFrame]]
LEAST = 1 << 17  # rows of a task, where the pieces allow it
TASKS = 4  # for each worker
RETRIES = 3  # of a task whose worker died


class Job(Protocol):
    """A pass over the rows; it can be pickled."""

    def over(self, chunks: Chunks, start: int) -> Any:
        """Return what rows give that follow one another, from a row of the table on."""
        ...

    def merge(self, one: Any, other: Any) -> Any:
        """Return what the rows of both give."""
        ...


class Engine(Protocol):
    """A table, and the workers that read it."""

    @property
    def rows(self) -> int: ...

    def run(self, job: Job) -> Any:
        """Return what a job gives over all rows."""
        ...


def chunks_of(pieces: Iterable[Piece]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the chunks of pieces with the names of these; errors of reading name them, too."""
    for piece in pieces:
        frames, seen = piece.frames(), 0
        while True:
            with naming(f"{piece.name} cannot be read"):
                frame = next(frames, None)
            if frame is None:
                break
            seen += len(frame)
            yield piece.name, frame
        if seen != piece.rows:
            raise ValueError(
                f"{piece.name} had {piece.rows} rows when it was opened, and {seen} now: a table "
                "must not change while it is read, and a function must yield the same every time"
            )


class Here:
    """Pieces that are read one after the other, their blocks worked on by threads."""

    def __init__(self, pieces: Pieces) -> None:
        self.pieces, self.rows = pieces, pieces.rows

    def run(self, job: Job) -> Any:
        return job.over(chunks_of(self.pieces), 0)


def _spans(pieces: Sequence[Piece], count: int) -> list[tuple[list[Piece], int]]:
    """Return runs of pieces, so many at most, with the number of their first row."""
    least = max(sum(piece.rows for piece in pieces) // count, LEAST)
    spans: list[tuple[list[Piece], int]] = []
    start, full = 0, least
    for piece in pieces:
        if full >= least:
            spans.append(([], start))
            full = 0
        spans[-1][0].append(piece)
        full += piece.rows
        start += piece.rows
    return spans


def _over(job: Job, pieces: Sequence[Piece], start: int) -> Any:
    """Return what a job makes of pieces, or the error that a part of the table gave.

    An error is a result, too: the engine would try again what can only fail again.
    """
    return _tried(job, chunks_of(pieces), start)


def _tried(job: Job, chunks: Chunks, start: int) -> Any:
    with workers(1):
        try:
            return job.over(chunks, start)
        except NamedError as error:
            return error


def _merged(job: Job, one: Any, other: Any) -> Any:
    for found in (one, other):
        if isinstance(found, NamedError):
            return found
    try:
        # A worker that dies may have this done again: what goes in must stay as it is.
        return job.merge(copy.deepcopy(one), other)
    except NamedError as error:
        return error


def _sound(found: Any) -> Any:
    """Return a result, or raise the error that it is."""
    if isinstance(found, NamedError):
        raise found
    return found


class OnJoblib:
    """Pieces that are read by the workers of joblib: processes here, or those of its backends."""

    def __init__(self, pieces: Pieces, n_jobs: int | None) -> None:
        self.pieces, self.rows, self.n_jobs = pieces, pieces.rows, n_jobs

    def run(self, job: Job) -> Any:
        count = -1 if self.n_jobs is None else self.n_jobs
        spans = _spans(self.pieces, TASKS * joblib.effective_n_jobs(count))
        found = joblib.Parallel(n_jobs=count)(joblib.delayed(_over)(job, *span) for span in spans)
        return reduce(job.merge, map(_sound, found))


class OnDask:
    """Pieces, or the partitions of a frame of Dask, that its workers read."""

    def __init__(self, source: Any) -> None:
        import dask

        self._pieces = source if isinstance(source, Pieces) else None
        if self._pieces is not None:
            self.rows = self._pieces.rows
            return
        self._parts = source.to_delayed(optimize_graph=True)
        sizes = dask.compute(*(dask.delayed(len)(part) for part in self._parts))
        self._starts, self.rows = [0, *accumulate(sizes)], sum(sizes)

    def run(self, job: Job) -> Any:
        import dask

        given = dask.delayed(job, pure=False)
        if self._pieces is not None:
            found = [dask.delayed(_over)(given, *span) for span in _spans(self._pieces, _cores())]
        else:
            found = [
                dask.delayed(_over_partition)(given, n, part, self._starts[n : n + 2])
                for n, part in enumerate(self._parts)
            ]
        while len(found) > 1:
            found = [
                dask.delayed(_merged)(given, *pair) if len(pair) > 1 else pair[0]
                for pair in (found[at : at + 2] for at in range(0, len(found), 2))
            ]
        client = _client()
        if client is None:
            return _sound(dask.compute(found[0])[0])
        return _sound(client.compute(found[0], retries=RETRIES).result())


def _over_partition(job: Job, n: int, frame: pd.DataFrame, ends: list[int]) -> Any:
    name = f"partition {n + 1}"
    chunks = chunks_of([FramePiece(name, frame)])
    return _tried(job, _counted(chunks, name, ends[1] - ends[0]), ends[0])


def _counted(chunks: Chunks, name: str, rows: int) -> Chunks:
    """Yield chunks, and raise an error if there are not as many rows as before."""
    seen = 0
    for where, frame in chunks:
        seen += len(frame)
        yield where, frame
    if seen != rows:
        raise NamedError(
            f"{name} had {rows} rows at first, and {seen} now: a frame must give the same rows "
            "every time; write it to files, or keep it in memory (persist, cache)"
        )


def _client() -> Any:
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):  # no cluster: Dask has threads of its own
        return None


def _cores() -> int:
    client = _client()
    return TASKS * (sum(client.ncores().values()) if client else joblib.cpu_count())


class OnSpark:
    """Pieces that the executors of a Spark session read."""

    def __init__(self, pieces: Pieces) -> None:
        self.pieces, self.rows = pieces, pieces.rows

    def run(self, job: Job) -> Any:
        context = _session().sparkContext
        spans = _spans(self.pieces, TASKS * context.defaultParallelism)
        given = context.broadcast(job)
        tasks = context.parallelize(spans, len(spans))
        found = tasks.map(lambda span: _over(given.value, *span))
        return _sound(found.treeReduce(lambda one, other: _merged(given.value, one, other)))


class SparkFrame:
    """A frame of Spark; its partitions are the parts, in their order."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        sizes = dict(self._partitions(_length))
        count = max(sizes, default=-1) + 1
        self._starts = [0, *accumulate(sizes.get(k, 0) for k in range(count))]
        self.rows = self._starts[-1]

    def _partitions(self, work: Callable[[Iterator[pd.DataFrame], int], Any]) -> Any:
        """Return an RDD of numbers of partitions and what the work makes of each."""

        def part(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
            from pyspark import TaskContext

            context = TaskContext.get()
            assert context is not None
            number = context.partitionId()
            found = pickle.dumps(work(frames, number))
            yield pd.DataFrame({"part": [number], "found": [found]})

        found = self._frame.mapInPandas(part, "part int, found binary")
        return found.rdd.map(lambda row: (row["part"], pickle.loads(row["found"]))).toLocalIterator(
            prefetchPartitions=True
        )

    def run(self, job: Job) -> Any:
        starts = self._starts

        def work(frames: Iterator[pd.DataFrame], number: int) -> Any:
            name = f"partition {number + 1}"
            first, last = [*starts, starts[-1]][min(number, len(starts) - 1) :][:2]
            chunks = _counted(((name, frame) for frame in frames), name, last - first)
            return _tried(job, chunks, first)

        return reduce(job.merge, (_sound(found) for _, found in self._partitions(work)))


def _length(frames: Iterator[pd.DataFrame], number: int) -> int:
    return sum(len(frame) for frame in frames)


def _session() -> Any:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise RuntimeError(
            "engine='spark' takes a session that runs: SparkSession.builder.getOrCreate()"
        )
    return session


ENGINES = ("threads", "processes", "dask", "spark")


def made_by(X: Any) -> str | None:
    """Return `dask` or `spark` for one of their frames, None for anything else."""
    package = type(X).__module__.split(".")[0]
    return {"dask": "dask", "dask_expr": "dask", "pyspark": "spark"}.get(package)


def engine_of(X: Any, engine: str | None, n_jobs: int | None) -> Engine | None:
    """Return what reads a table that comes in pieces; None for a table in memory.

    Args:
        X: the table.
        engine: one of `ENGINES`; None to choose by what X is.
        n_jobs: processes of joblib.
    """
    own = made_by(X)
    if own is not None:
        if engine not in (None, own):
            raise ValueError(f"engine={engine!r} cannot read a frame of {own}; leave engine out")
        return OnDask(X) if own == "dask" else SparkFrame(X)
    pieces = X if isinstance(X, Pieces) else pieces_of(X)
    if pieces is None:
        return None
    if engine in (None, "threads"):
        return Here(pieces)
    if engine == "processes":
        return OnJoblib(pieces, n_jobs)
    return OnDask(pieces) if engine == "dask" else OnSpark(pieces)
