"""What is done with a law that a command has: print it, write it, and say how it ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .._console import complain, console, say, spinner
from .._options import check_outputs, check_picture

if TYPE_CHECKING:
    from ..._core.callbacks import Callback, Progress
    from ...discovery import Law
    from ._intake import Intake, Typed

_LONGEST = 60  # letters of a formula in the line of progress


@dataclass(frozen=True)
class Outputs:
    """Files that are written of a law."""

    json: Path | None
    report: Path | None
    plot: Path | None

    def check(self, *inputs: Path) -> None:
        """Refuse files that cannot be written, before the work."""
        check_outputs(self.json, self.report, self.plot, inputs=inputs)
        check_picture(self.plot)

    def write(self, law: Law, notes: tuple[str, ...]) -> list[str]:
        """Write the files, and return a line on each; the law comes first, as it took the time."""
        lines = []
        if self.json is not None:
            law.save(self.json)
            lines.append(f"law: {self.json}")
        if self.report is not None:
            from ...report import write_report

            write_report(law, self.report, notes=notes)
            lines.append(f"report: {self.report}")
        if self.plot is not None:
            from ..._core.files import write_figure

            write_figure(self.plot, law.plot())
            lines.append(f"plot: {self.plot}")
        return lines


def show_law(law: Law, intake: Intake, typed: Typed, outputs: Outputs, quiet: bool) -> None:
    """Write the files of a law, and print it with what is to be said of its table."""
    from ...discovery.law import short

    made = {"file": typed.path.name} | ({"where": typed.where} if typed.where else {})
    law = replace(law, provenance={**made, **law.provenance})
    out = console()
    written: list[str] = []
    try:
        written = outputs.write(law, intake.notes)
    finally:  # a full disk takes the files, not the law
        say(out, f"{law.target} = {short(law.rounded())}" if quiet else law.summary())
        for note in () if quiet else intake.notes:
            say(out, f"note: {note}", "dim")
    for line in () if quiet else written:
        say(out, line)


@contextmanager
def watching(quiet: bool = False) -> Iterator[list[Callback]]:
    """Yield the callbacks that show how far a search is, with the best law so far."""
    with spinner(quiet) as show:
        yield [] if show is None else [lambda now: show(progress_line(now), now.left)]


def progress_line(now: Progress) -> str:
    """Return how far a search is, in a line; the time left is shown beside it, counted down.

    Example:
        >>> from rational_anova._core.callbacks import Progress
        >>> progress_line(Progress("quotients", 3.0, best=0.012, formula="a/x", left=57.2))
        'quotients: a/x, error 0.012'
    """
    now = replace(now, left=None)
    if now.formula is not None and len(now.formula) > _LONGEST:
        now = replace(now, formula=f"{now.formula[: _LONGEST - 3]}...")
    return ": ".join(part for part in (now.stage, str(now)) if part)


def tell_interrupted() -> None:
    """Say that what follows is what there was when the user ended the search."""
    complain("interrupted", "this is the best law so far")
