"""A line on the screen while a fit runs, for those who ask."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from ._history import Record

Update = Callable[[Record], None]


@contextlib.contextmanager
def progress_bar(show: bool | Console, total: int, name: str) -> Iterator[Update]:
    """Yield a function that shows a record; it does nothing if nothing is to be shown."""
    if show is False or show is None:
        yield lambda record: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=12),
        TextColumn("{task.completed}/{task.total}"),
        TextColumn("{task.fields[numbers]}"),
        TimeRemainingColumn(),
    )
    console = show if isinstance(show, Console) else None
    with Progress(*columns, console=console, transient=False) as bar:
        task = bar.add_task(name, total=total, numbers="")

        def update(record: Record) -> None:
            bar.update(task, completed=record.epoch, numbers=describe(record))

        yield update


def describe(record: Record) -> str:
    """Return the numbers of a record in one line."""
    words = [f"loss {record.loss:.3g}"]
    if record.validation is not None:
        words.append(f"validation {record.validation:.3g}")
    words.append(f"rate {record.rate:.1g}")
    if record.terms is not None:
        words.append(f"{record.terms} terms")
    return ", ".join(words)
