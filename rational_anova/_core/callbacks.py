"""Callbacks: functions that watch a fit while it runs, and may end it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Progress:
    """The progress of a fit. Missing fields are None: an estimator has stages, but no epochs.

    Attributes:
        stage: what is being done: the optimiser, and which start, penalty or trial; or the stage of
            an estimator.
        seconds: since the fit began; of a network of training so far, over all resumptions.
        epoch: passes over the data so far (steps, for `lm` and `lbfgs`).
        epochs: after which the fit ends at the latest.
        loss: mean over the training rows.
        validation: mean over the validation rows, if there are any.
        best: the least loss so far, of validation rows if there are any.
        rate: learning rate (for `lm` the damping).
        terms: how many terms are not zero, for a network that has terms.
        formula: the best law so far, of a search for one; `best` is its error.
        left: seconds that are left of the time limit, if there is one.
        candidates: how many formulas a search for one has tried.
        metrics: the measures that `fit` was asked for, by name.
    """

    stage: str
    seconds: float
    epoch: int | None = None
    epochs: int | None = None
    loss: float | None = None
    validation: float | None = None
    best: float | None = None
    rate: float | None = None
    terms: int | None = None
    formula: str | None = None
    left: float | None = None
    candidates: int | None = None
    metrics: dict[str, float] | None = None

    def __str__(self) -> str:
        words = [] if self.loss is None else [f"loss {self.loss:.3g}"]
        if self.validation is not None:
            words.append(f"validation {self.validation:.3g}")
        if self.rate is not None:
            words.append(f"rate {self.rate:.1g}")
        if self.terms is not None:
            words.append(f"{self.terms} terms")
        if self.formula is not None:
            words.append(self.formula)
            words += [] if self.best is None else [f"error {self.best:.2g}"]
        if self.left is not None:
            words.append(f"{max(self.left, 0):.0f} s left")
        return ", ".join(words)


# Returns True to end the fit, which then keeps the best so far. One that is a context manager too
# is entered when the fit begins and left when it ends, however it ends.
Callback: TypeAlias = Callable[[Progress], Any]


def checked(callbacks: Sequence[Callback] | None) -> tuple[Callback, ...]:
    """Return callbacks as a tuple; raises if one cannot be called."""
    if callbacks is None:
        return ()
    if callable(callbacks) or not isinstance(callbacks, Sequence):
        raise TypeError(f"callbacks must be a list of functions, got {callbacks!r}")
    for each in callbacks:
        if not callable(each):
            raise TypeError(f"a callback must be a function of a Progress, got {each!r}")
    return tuple(callbacks)


@contextmanager
def entered(callbacks: Sequence[Callback]) -> Iterator[Callable[[Progress], bool]]:
    """Yield a function that calls all callbacks, and says whether one asks to stop."""
    with ExitStack() as stack:
        for each in callbacks:
            if isinstance(each, AbstractContextManager):
                stack.enter_context(each)

        def tell(progress: Progress) -> bool:
            answers = [each(progress) for each in callbacks]
            # Not whatever is true: `file.write` returns a number and asks for nothing.
            return any(isinstance(a, bool | np.bool_) and bool(a) for a in answers)

        yield tell


@contextmanager
def stages(callbacks: Sequence[Callback]) -> Iterator[Callable[[str], bool] | None]:
    """Yield what a fit in stages calls with the name of each; None if nobody watches.

    It says whether to stop, and once it has said so it asks nobody again.
    """
    if not callbacks:
        yield None
        return
    start, stopped = time.monotonic(), False
    with entered(callbacks) as tell:

        def begin(stage: str) -> bool:
            nonlocal stopped
            stopped = stopped or tell(Progress(stage, time.monotonic() - start))
            return stopped

        yield begin


class ProgressBar:
    """A callback that shows a line for each stage: epochs, losses, rate and time left.

    Args:
        console: of rich, where to show it; the terminal by default.

    Example:
        >>> bar = ProgressBar()
        >>> with bar:
        ...     bar(Progress("adam", 0.1, epoch=1, epochs=2, loss=0.5))  # doctest: +SKIP
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console
        self._bar: Any = None
        self._task: Any = None
        self._stage = ""

    def __enter__(self) -> ProgressBar:
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Lines

        self._bar = Lines(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[count]}"),
            TextColumn("{task.fields[numbers]}"),
            TimeRemainingColumn(),
            console=self.console,
        )
        self._task = None
        self._bar.start()
        return self

    def __call__(self, progress: Progress) -> None:
        if self._bar is None:
            raise RuntimeError("a ProgressBar shows nothing outside of a fit or a `with`")
        if self._task is None or progress.stage != self._stage:
            self._finish()
            self._stage = progress.stage
            fields = {"count": "", "numbers": ""}
            self._task = self._bar.add_task(progress.stage, total=progress.epochs, **fields)
        count = "" if progress.epoch is None else f"{progress.epoch}/{progress.epochs}"
        done = progress.epoch or 0
        self._bar.update(self._task, completed=done, count=count, numbers=str(progress))

    def __exit__(self, *_: object) -> None:
        self._finish()
        self._bar.stop()
        self._bar = None

    def _finish(self) -> None:
        """Mark a stage without epochs as done."""
        if self._task is not None and self._bar.tasks[self._task].total is None:
            self._bar.update(self._task, total=1, completed=1)
