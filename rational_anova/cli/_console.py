"""What all commands say in one way: lines, progress, errors and exit codes."""

from __future__ import annotations

import contextlib
import io
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from .._core.display import line, visible

if TYPE_CHECKING:
    from types import FrameType

    from rich.console import Console

FAULT, BAD_INPUT, NOTHING, INTERRUPTED = 1, 2, 3, 130
EXIT_CODES = {
    0: "done",
    FAULT: "an internal error",
    BAD_INPUT: "bad options, files or data",
    NOTHING: "no law found, a pole in the box, or a property that is not excluded",
    INTERRUPTED: "interrupted",
}
# What the library raises for values and files that it cannot take; the message has the way out.
_INPUT = (ValueError, TypeError, OSError, ImportError)


class Commands(TyperGroup):
    """The commands of `ran`: whatever goes wrong in one ends in one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        _print_anything()
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # whoever read our output has gone: typer ends quietly
        except (Exception, KeyboardInterrupt) as error:
            if hasattr(error, "exit_code"):  # of the command line itself, as for a missing option
                raise
            if ctx.params.get("debug"):
                traceback.print_exception(error)
            code = _explain(error)
            raise typer.Exit(code) from error


def _print_anything() -> None:
    """Let a terminal that is not in UTF-8 show what it lacks as \\xe9: no result is lost to it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _explain(error: BaseException) -> int:
    """Print what went wrong in a line, and return the exit code."""
    if isinstance(error, KeyboardInterrupt):
        complain("interrupted", "nothing more was written")
        return INTERRUPTED
    own = type(error).__module__.partition(".")[0] == __name__.partition(".")[0]
    if own or isinstance(error, _INPUT):
        complain("error", str(error) or type(error).__name__)
        return BAD_INPUT
    complain(
        "fault",
        f"{type(error).__name__}: {error}. This is an internal error: please report it with "
        "the output of `ran --debug ...`",
    )
    return FAULT


def complain(word: str, text: str) -> None:
    """Print a line on the error stream, whatever the text has in it."""
    from rich.console import Console

    Console(stderr=True, soft_wrap=True).print(
        f"[bold red]{word}:[/] {in_table(' '.join(text.split()))}", highlight=False
    )


def console(quiet: bool = False) -> Console:
    """Return the console to print results on; lines are as long as they are."""
    from rich.console import Console

    return Console(soft_wrap=True, quiet=quiet)


def say(out: Console, text: str, style: str | None = None) -> None:
    """Print text as it is; what a terminal would act on is written out."""
    out.print(visible(text), style=style, highlight=False, markup=False)


def in_table(text: str) -> str:
    """Return text as a cell of a table of rich, or as a part of its markup."""
    from rich.markup import escape

    return escape(line(text))


@contextlib.contextmanager
def spinner(quiet: bool = False) -> Iterator[Callable[..., None] | None]:
    """Show the stage of the work, on the error stream of a terminal.

    Yields:
        A function of the line to show and, if it is known, of the seconds that are left, which are
        counted down; None if nothing is to be shown.
    """
    if quiet:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    err = Console(stderr=True)
    off = not err.is_terminal
    with Progress(*columns, _time_left(), console=err, transient=True, disable=off) as bar:
        task = bar.add_task("searching")

        def show(stage: object, left: float | None = None) -> None:
            until = None if left is None else time.monotonic() + left
            bar.update(task, description=in_table(str(stage)), until=until)

        yield show


def _time_left() -> Any:
    """Return a column that counts down to the end of the time limit, where there is one."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class TimeLeft(ProgressColumn):
        def render(self, task: Task) -> Text:
            until = task.fields.get("until")
            return Text("" if until is None else f"{max(until - time.monotonic(), 0):.0f} s left")

    return TimeLeft()


@contextlib.contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether Ctrl-C was pressed, also where somebody caught it."""
    before, pressed = signal.getsignal(signal.SIGINT), False

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        if callable(before):
            before(number, frame)

    own = callable(before) and threading.current_thread() is threading.main_thread()
    if own:  # Python allows handlers in the main thread alone, and who ignores it goes on doing so
        signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    finally:
        if own:
            signal.signal(signal.SIGINT, before)
