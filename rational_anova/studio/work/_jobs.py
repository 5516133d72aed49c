"""What a worker can be asked to do, and how it tells of it."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# All kinds of work, and the function of a `Job` that does each. It writes its results into
# `job.folder`, whole, and returns their names, the one that `ra.load` opens first.
KINDS = {
    "read": "rational_anova.studio.work._reading:read",
    "check": "rational_anova.studio.work._reading:left_out",
    "discover": "rational_anova.studio.work._laws:discover_law",
    "fit_law": "rational_anova.studio.work._laws:fit_form",
    "fit_model": "rational_anova.studio.work._models:fit_model",
    "open_file": "rational_anova.studio.work._files:open_file",
}
QUICK = frozenset(
    {"read", "check", "open_file"}
)  # those that take seconds: they do not wait for a search


@dataclass(frozen=True)
class Job:
    """A piece of work in a worker.

    Args:
        run: its id.
        folder: where its results go.
        source: the file of its table; None if it has none.
        table: the folder of its table; None if it has none.
        name: of the table's file as the user knows it.
        options: of its kind.
        send: tells the server how far it is.
        asked_to_stop: whether the user cancelled it.
    """

    run: str
    folder: Path
    source: Path | None
    table: Path | None
    name: str
    options: Mapping[str, Any]
    send: Callable[[dict[str, Any]], None]
    asked_to_stop: Callable[[], bool]

    def tell(self, stage: str, **known: Any) -> bool:
        """Tell how far the work is; return whether to stop.

        Args:
            stage: what is being done.
            known: what JSON can hold: `part` (0 to 1) moves the bar; `left` seconds; `formula` and
                `error` of the best so far; `candidates` tried.
        """
        kept = {key: plain(value) for key, value in known.items()}
        stop = self.asked_to_stop()
        self.send({"stage": stage, "worker": os.getpid(), "stopping": stop, **kept})
        return stop

    def callback(self, progress: Any) -> bool:
        """A callback of `discover`, `fit` and the estimators, as `callbacks=[job.callback]`."""
        epoch, epochs = progress.epoch, progress.epochs
        return self.tell(
            progress.stage,
            seconds=progress.seconds,
            left=progress.left,
            formula=progress.formula,
            error=progress.best,
            candidates=progress.candidates,
            loss=progress.loss,
            part=epoch / epochs if epoch is not None and epochs else None,
        )


def plain(value: Any) -> Any:
    """Return numbers of numpy as those of Python, and those that JSON lacks as None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def function_of(kind: str) -> Callable[[Job], tuple[str, ...]]:
    """Return the function that does a kind of work."""
    module, _, name = KINDS[kind].partition(":")
    found: Callable[[Job], tuple[str, ...]] = getattr(importlib.import_module(module), name)
    return found
