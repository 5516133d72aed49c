"""Threads that leave no trace in the numbers: sums are split and added in one order, whatever runs.

BLAS splits a product among its threads, so that their number decides in which order it adds, and
a choice between two terms may hang on the last bit. Here BLAS has one thread; what takes long is
cut into the same pieces for any number of threads, whose results are added in their order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from itertools import chain, islice
from typing import Any, TypeVar

import joblib
from threadpoolctl import ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")
_WORKERS: ContextVar[int] = ContextVar("workers", default=1)


@functools.cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks at all libraries, which takes milliseconds


def one_thread() -> AbstractContextManager[Any]:
    """Let BLAS work with one thread, for the same bits on any machine setting."""
    return _controller().limit(limits=1, user_api="blas")


@contextmanager
def workers(n_jobs: int | None) -> Iterator[None]:
    """Let `in_order` have so many threads; None means all processors."""
    token = _WORKERS.set(joblib.effective_n_jobs(-1 if n_jobs is None else n_jobs))
    try:
        with one_thread():
            yield
    finally:
        _WORKERS.reset(token)


def in_order(work: Callable[[T], R], pieces: Iterable[T]) -> Iterator[R]:
    """Yield the result of each piece, in their order; as many are worked on as there are threads.

    Example:
        >>> list(in_order(lambda n: n * n, range(5)))
        [0, 1, 4, 9, 16]
    """
    count, left = _WORKERS.get(), iter(pieces)
    some = list(islice(left, count))
    if len(some) < 2:
        yield from map(work, chain(some, left))
        return
    with ThreadPoolExecutor(count) as pool:
        while some:
            yield from pool.map(work, some)
            some = list(islice(left, count))
