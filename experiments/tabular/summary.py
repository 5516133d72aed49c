"""Print what the recorded comparison comes to: ranks, wins, seconds, marks.

python -m experiments.tabular.summary
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments.tabular.doc_tables import lines
from experiments.tabular.recorded import read

TITLES = {
    "tabular_runs": "What was run",
    "tabular_ranks": "Average rank: errors on the folds that these models share, 1 is best",
    "tabular_wins": "Wins, ties (within 0.1 %), losses; a table counts once, on common folds",
    "tabular_seconds": "Seconds of the peer over seconds of ours (one thread's work, where both "
    "finished)",
    "tabular_absolute_seconds": "Seconds of a fit",
    "tabular_marks": "Marks",
}


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Return cells as text, a column as wide as its widest cell."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def summary() -> str:
    """Return all of it as text."""
    if read().empty:
        return (
            "nothing is recorded in experiments/results/tabular_compare.csv; "
            "run python -m experiments.tabular.compare"
        )
    return "\n\n".join(f"{title}\n\n{columns(lines(name))}" for name, title in TITLES.items())


def main() -> None:
    print(summary())


if __name__ == "__main__":
    main()
