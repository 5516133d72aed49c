"""What a long search shows while it runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


@contextlib.contextmanager
def spinner(quiet: bool = False) -> Iterator[Callable[[str], None] | None]:
    """Show the stage of the search, on the error stream of a terminal."""
    if quiet:
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    console = Console(stderr=True)
    off = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=off) as bar:
        task = bar.add_task("searching")
        yield lambda stage: bar.update(task, description=escape(str(stage)))
