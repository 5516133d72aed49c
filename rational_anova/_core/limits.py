"""A time limit for work that cannot be told to stop, such as sympy's simplify."""

from __future__ import annotations

import signal
import threading
import time
import weakref
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


class _TimeIsUp(BaseException):
    """Not an Exception, so that no `except Exception` on the way holds it up."""


def _in_callback(frame: FrameType | None) -> bool:
    """Say whether an exception would be lost: in callbacks of weak references and finalisers."""
    while frame is not None:
        if frame.f_code.co_filename == weakref.__file__ or frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


def within(seconds: float, work: Callable[[], T], otherwise: T, short: bool = False) -> T:
    """Return work(), or `otherwise` if it takes longer or fails.

    The limit is a timer of the process, which only the main thread can set and Windows lacks:
    elsewhere the work is not begun, unless it is `short` by nature.
    """
    main = threading.current_thread() is threading.main_thread()
    if not hasattr(signal, "setitimer") or not main:
        if not short:
            return otherwise
        try:
            return work()
        except Exception:
            return otherwise

    def stop(_: int, frame: FrameType | None) -> None:
        if not _in_callback(frame):
            raise _TimeIsUp

    begun = time.monotonic()
    handler = signal.signal(signal.SIGALRM, stop)
    # It rings again and again, because nothing can be raised out of a callback.
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)
    try:
        try:
            return work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except (_TimeIsUp, Exception):
        return otherwise
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)
        if left:  # a timer of the caller's
            spent = time.monotonic() - begun
            signal.setitimer(signal.ITIMER_REAL, max(left - spent, 1e-3), interval)
