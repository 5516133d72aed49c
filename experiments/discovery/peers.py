"""Peers that search for formulas: gplearn, pyoperon and pykan (extra `bench`), one run each.

Each returns the formula it would hand to its user first, then the rest of its front, if it has one.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import multiprocessing
import time
import warnings
from typing import Any

import numpy as np

from experiments.discovery.peer_searches import PEERS, Task

# Past its own budget a peer gets half as long again, and the time to start, before it is ended.
_GRACE, _START = 1.5, 30.0


def installed(name: str) -> bool:
    """Say whether a peer can be imported."""
    return importlib.util.find_spec({"pykan": "kan"}.get(name, name)) is not None


def searched(name: str, task: Task) -> tuple[list[str], float]:
    """Run a peer in a process of its own, which is ended when it outlasts its time.

    Returns:
        The formula it chooses, the rest of its front, and the seconds of the search alone.

    Raises:
        TimeoutError: it had not ended.
        RuntimeError: it failed, with its own words.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(theirs, name, task))
    child.start()
    theirs.close()
    try:
        # Starting a process and importing torch are not the peer's fault.
        if not ours.poll(_GRACE * task.seconds + _START):
            raise TimeoutError(f"no answer within {task.seconds:g} s and half as long again")
        answer: tuple[list[str], float] | Exception = ours.recv()
    except EOFError:
        raise RuntimeError(f"its process died with code {child.exitcode}") from None
    finally:
        child.kill()
        child.join()
    if isinstance(answer, Exception):
        raise answer
    return answer


def _child(pipe: Any, name: str, task: Task) -> None:
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    try:
        silence, began = io.StringIO(), time.perf_counter()
        with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
            formulas = PEERS[name](task)
        texts = list(dict.fromkeys(str(formula) for formula in formulas))
        pipe.send((texts, time.perf_counter() - began))
    except Exception as error:
        pipe.send(RuntimeError(f"{type(error).__name__}: {error}"))
