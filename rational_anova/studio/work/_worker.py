"""The process that does the work: it waits for jobs, does them in turn, and tells of them."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import threading
import time
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ._jobs import Job, function_of

_FIRST = ("pandas", "sympy", "rational_anova.discovery")  # are imported before the first job comes


def worker(link: Connection, stop: Any, memory: int, server: int) -> None:
    """Do what is asked for over a connection, until it is closed.

    Args:
        link: takes ("do", job as a dict); gives ("progress", dict), and at the end ("done", names
            of results), or ("failed", sentence, where it came from).
        stop: an event: the job is to end with the best so far.
        memory: bytes that the process may use.
        server: number of the process that asks.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which tells us
    _limit(memory)
    threading.Thread(target=_end_with, args=(server,), daemon=True).start()
    with contextlib.suppress(ImportError):
        for name in _FIRST:
            importlib.import_module(name)
    with contextlib.suppress(EOFError, OSError):
        while True:
            _, asked = link.recv()
            link.send(_done(link, stop, asked))


def _done(link: Connection, stop: Any, asked: dict[str, Any]) -> tuple[Any, ...]:
    """Do a job; whatever goes wrong in it ends in a sentence."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder, source, table = asked["folder"], asked["source"], asked["table"]
    job = Job(
        asked["run"], Path(folder), source and Path(source), table and Path(table), asked["name"],
        asked["options"], lambda told: link.send(("progress", told)), stop.is_set,
    )  # fmt: skip
    try:
        return ("done", tuple(function_of(asked["kind"])(job)))
    except KeyboardInterrupt:
        return ("done", ())
    except MemoryError:
        return ("failed", "This needs more memory than the studio allows for a search.", "")
    except Exception as error:
        return ("failed", _sentence(error, source, asked["name"]), traceback.format_exc())
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _sentence(error: Exception, source: str | None, name: str) -> str:
    """Say what went wrong; the file is called as the user knows it."""
    text = str(error) or type(error).__name__
    text = text.replace(source, name) if source else text
    known = isinstance(error, ValueError | TypeError | OSError | ImportError)
    return text if known else f"An internal error: {type(error).__name__}: {text}"


def _limit(memory: int) -> None:
    """Let the process have so much memory and no more, where the system can hold it to that."""
    if sys.platform == "win32":
        return
    import resource

    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        soft = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _end_with(server: int) -> None:
    """End when the server has, also if it was killed: nobody would read the result."""
    while os.getppid() == server:
        time.sleep(0.5)
    os._exit(1)
