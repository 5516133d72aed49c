"""The queue of the server: which runs wait, which have a worker, and what these tell."""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .._records import Run, State
from .._workspace import Workspace
from ._jobs import KINDS, QUICK
from ._worker import worker

_LOOK = 0.05  # seconds between two looks at a worker
_KEPT = 2.0  # ... between two records of how far a run is
_PATIENCE = 3.0  # ... that a cancelled run has to notice it, before it is interrupted
_CONCLUDING = 20.0  # ... and then to bring what it has to an end
_GRACE = 60.0  # ... that a run may take beyond its time limit
MEMORY = 6 * 2**30  # bytes
_GONE = ("said", "svg")  # parts of what a worker tells that a later best may lack
_LONGEST = 3600.0  # seconds of a run without a time limit of its own


@dataclass
class _Worker:
    """A process, its connection, and the event that asks it to stop."""

    process: Any
    link: Any
    stop: Any


class Work:
    """Runs of a workspace, done by worker processes.

    Kinds of `QUICK` have a worker of their own: a table is read while a search goes on.

    Args:
        workspace: where runs are kept.
        workers: how many searches and fits at a time.
        memory: bytes that each worker may use.
    """

    def __init__(self, workspace: Workspace, workers: int = 1, memory: int = MEMORY) -> None:
        self.workspace, self.memory = workspace, memory
        self.runs: dict[str, Run] = {}
        for run in reversed(workspace.runs()):
            if run.kind in QUICK and not run.results:  # nobody looks at these again
                workspace.remove_run(run.id)
            else:
                self.runs[run.id] = run
        self._waiting: dict[bool, deque[str]] = {True: deque(), False: deque()}
        self._cancelled: set[str] = set()
        self._change = threading.Condition()
        self._closed = False
        lanes = [True] + [False] * workers
        self._threads = [
            threading.Thread(target=self._serve, args=(quick,), daemon=True) for quick in lanes
        ]
        for thread in self._threads:
            thread.start()

    def start(
        self, kind: str, table: str = "", options: Mapping[str, Any] | None = None,
        title: str = "", beside: str = "",
    ) -> Run:  # fmt: skip
        """Ask for a run; it begins when a worker is free."""
        if kind not in KINDS:
            raise ValueError(f"there is no work {kind!r}; there are {', '.join(KINDS)}")
        run = self.workspace.new_run(kind, table, options, title, beside)
        with self._change:
            self.runs[run.id] = run
            self._waiting[kind in QUICK].append(run.id)
            self._change.notify_all()
        return run

    def again(self, key: str) -> Run:
        """Ask for a run once more, with the same options."""
        run = self.runs[key]
        return self.start(run.kind, run.table, run.options, run.title, run.beside)

    def cancel(self, key: str) -> None:
        """End a run: one under way keeps its best so far."""
        with self._change:
            run = self.runs[key]
            waiting = self._waiting[run.kind in QUICK]
            if key in waiting:
                waiting.remove(key)
                self._keep(replace(run, state=State.CANCELLED, ended=time.time()))
            elif run.state.under_way:
                self._cancelled.add(key)

    def remove(self, key: str) -> None:
        """Forget a run that is over."""
        with self._change:
            if not self.runs[key].state.under_way:
                del self.runs[key]
                self.workspace.remove_run(key)

    def of_table(self, table: str, *kinds: str) -> list[Run]:
        """Return the runs of a table, the newest first."""
        found = list(self.runs.values())[::-1]
        return [run for run in found if run.table == table and (not kinds or run.kind in kinds)]

    def close(self) -> None:
        """End all workers; what was under way is marked interrupted."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        for thread in self._threads:
            thread.join()
        self.workspace.mark_interrupted()

    # -- a thread for each worker

    def _serve(self, quick: bool) -> None:
        child = self._begin()
        while (key := self._next(quick)) is not None:
            if not child.process.is_alive():
                child = self._begin()
            self._do(key, child)
        _end(child)

    def _next(self, quick: bool) -> str | None:
        waiting = self._waiting[quick]
        with self._change:
            while not waiting and not self._closed:
                self._change.wait()
            return None if self._closed else waiting.popleft()

    def _begin(self) -> _Worker:
        context = mp.get_context("spawn")
        ours, theirs = context.Pipe()
        stop = context.Event()
        process = context.Process(
            target=worker, args=(theirs, stop, self.memory, os.getpid()), daemon=True
        )
        process.start()
        theirs.close()
        return _Worker(process, ours, stop)

    def _do(self, key: str, child: _Worker) -> None:
        """Let a worker do a run, and record what it tells until it is over."""
        run = self._keep(replace(self.runs[key], state=State.RUNNING, started=time.time()))
        child.stop.clear()
        try:
            child.link.send(("do", self._asked(run)))
        except (OSError, KeyError) as error:
            self._over(key, State.FAILED, f"The work could not be started: {error}")
            return
        limit = time.monotonic() + float(run.options.get("time_limit") or _LONGEST) + _GRACE
        patience, interrupted, kept = None, False, time.monotonic()
        while True:
            try:
                told = child.link.recv() if child.link.poll(_LOOK) else None
            except (EOFError, OSError):
                self._over(key, *_died(child, key in self._cancelled))
                return
            now = time.monotonic()
            if told is not None and told[0] == "progress":
                kept = self._tell(key, told[1], now, kept)
                if told[1].get("stopping") and patience is not None and not interrupted:
                    patience = now + _CONCLUDING
            elif told is not None:
                self._finish(key, told)
                return
            if self._closed:
                _end(child)
                return
            if key in self._cancelled and patience is None:
                child.stop.set()
                patience = now + _PATIENCE
            if patience is not None and now > patience:
                if interrupted:
                    _end(child)  # the next look finds it gone
                else:
                    _interrupt(child)
                    interrupted, patience = True, now + _CONCLUDING
            if now > limit:
                _end(child)
                self._over(key, State.FAILED, "It went on long after its time limit and was ended.")
                return

    def _asked(self, run: Run) -> dict[str, Any]:
        place = self.workspace
        entry = place.table(run.table) if run.table else None
        return {
            "run": run.id,
            "kind": run.kind,
            "folder": str(place.run_folder(run.id)),
            "source": str(place.source(run.table)) if entry else None,
            "table": str(place.table_folder(run.table)) if entry else None,
            "name": entry.name if entry else "",
            "options": dict(run.options),
        }

    def _tell(self, key: str, told: dict[str, Any], now: float, kept: float) -> float:
        """Take what a worker tells; it is written now and then, and when there is a better best."""
        run = self.runs[key]
        best = {k: told.get(k) for k in ("formula", "error", "seconds")}
        last = run.bests[-1] if run.bests else {}
        better = best["formula"] is not None and best["formula"] != last.get("formula")
        bests = (*run.bests, best) if better else run.bests
        self.runs[key] = replace(
            run,
            progress={
                **run.progress,
                **{k: v for k, v in told.items() if v is not None or k in _GONE},
            },
            bests=bests,
        )
        if not better and now < kept + _KEPT:
            return kept
        self.workspace.keep(self.runs[key])
        return now

    def _finish(self, key: str, told: tuple[Any, ...]) -> None:
        cancelled = key in self._cancelled
        if told[0] == "done":
            results = told[1]
            state = State.CANCELLED if cancelled else State.DONE
            said = "Cancelled; this is the best so far." if cancelled and results else ""
            self._over(key, state, said, results)
        else:
            self._over(key, State.CANCELLED if cancelled else State.FAILED, told[1])

    def _over(self, key: str, state: State, message: str = "", results: Any = ()) -> None:
        self._cancelled.discard(key)
        run = self.runs[key]
        self._keep(
            replace(run, state=state, message=message, results=tuple(results), ended=time.time())
        )

    def _keep(self, run: Run) -> Run:
        self.workspace.keep(run)
        self.runs[run.id] = run
        return run


def _interrupt(child: _Worker) -> None:
    """Interrupt a worker as Ctrl-C would: searches then return the best so far."""
    with contextlib.suppress(OSError, TypeError):
        os.kill(child.process.pid, signal.SIGINT)


def _died(child: _Worker, cancelled: bool) -> tuple[State, str]:
    """Return how a run ended whose worker is gone, and why."""
    child.process.join(5)
    if cancelled:
        return State.CANCELLED, "It did not end by itself, and was stopped without a result."
    return State.FAILED, (
        f"The worker ended by itself (exit code {child.process.exitcode}); perhaps it needed more "
        "memory than there is."
    )


def _end(child: _Worker) -> None:
    child.process.terminate()
    child.process.join(2)
    if child.process.is_alive():
        child.process.kill()
        child.process.join(2)
