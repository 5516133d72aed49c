"""The one call of `discover` that all experiments make, timed, and ended if it does not end."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

SECONDS = 60.0
_PATIENCE = 3.0  # a call that takes this many times its limit hangs


class Hangs(BaseException):
    """Not an Exception, so that no `except Exception` in the search holds it up."""


def discovered(
    X: np.ndarray,
    y: np.ndarray,
    names: Sequence[str],
    target: str,
    *,
    seconds: float = SECONDS,
    find: Callable[..., Any] | None = None,
) -> tuple[Any, float, str]:
    """Return the law, the time it took, and what went wrong: a crash is a result, too.

    Args:
        X: inputs.
        y: target.
        names: of the inputs.
        target: name of y.
        seconds: time limit.
        find: in place of `rational_anova.discovery.discover`.

    Returns:
        The law or None; seconds; the error in words, empty if there is a law.
    """
    if find is None:
        from rational_anova.discovery import discover as find
    began = time.perf_counter()
    law, words = None, ""
    try:
        with _alarm(_PATIENCE * seconds):
            law = find(X, y, names=list(names), target=target, time_limit=seconds, seed=0)
    except (Hangs, Exception) as error:
        words = f"{type(error).__name__}: {error}"
    return law, time.perf_counter() - began, words


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise `Hangs` when the time is over; the system's timer is for the main thread alone."""
    alone = threading.current_thread() is threading.main_thread()
    if not alone or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: Any) -> None:
        raise Hangs(f"no answer after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
