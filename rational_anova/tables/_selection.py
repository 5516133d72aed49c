"""Which columns and rows of a table are used, and the record of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from .._core.types import Array
from ._cells import affine, is_constant

_LEAST = 5  # rows


@dataclass
class Selection:
    """Columns that are still in use, and the record of the others."""

    columns: dict[str, Array] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)

    def leave_out(self, name: str, reason: str, sentence: str) -> None:
        """Leave a column out, for a reason in a word or two and in a sentence."""
        self.columns.pop(name, None)
        self.dropped[name] = reason
        self.notes.append(sentence)

    def check_finite(self, columns: Mapping[str, Array]) -> None:
        """Refuse infinite cells."""
        for name, values in columns.items():
            infinite = np.flatnonzero(np.isinf(values))
            if infinite.size:
                raise ValueError(
                    f"column {name!r} is infinite in row {infinite[0] + 1}; "
                    "correct the cell or leave the row out"
                )

    def leave_out_copies(self, outcome: Array, target: str) -> None:
        """Leave out columns that are constant, or that say what another column says."""
        before: dict[str, Array] = {}
        for name, values in list(self.columns.items()):
            if is_constant(values):
                value = f"{values[~np.isnan(values)][0]:.12g}"
                reason, relation = f"constant: {value}", value
            elif affine(values, outcome) == (1.0, 0.0):
                reason, relation = f"copy of {target}", f"a copy of the target {target}"
            else:
                for first, others in before.items():
                    if found := affine(values, others):
                        reason, relation = f"copy of {first}", _relation(found, first)
                        break
                else:
                    before[name] = values
                    continue
            self.leave_out(name, reason, f"{name} was left out: it is {relation} in every row.")

    def leave_out_rows(self, outcome: Array, target: str) -> Array:
        """Leave out rows with missing cells, in every column; return what is left of y."""
        missing = {target: np.isnan(outcome)}
        missing.update((name, np.isnan(values)) for name, values in self.columns.items())
        kept = ~np.logical_or.reduce(list(missing.values()))
        count = int(kept.sum())
        cells = ", ".join(f"{name}: {m.sum()}" for name, m in missing.items() if m.any())
        if count < len(kept):
            gone = len(kept) - count
            self.notes.append(f"{gone} of {len(kept)} rows {'was' if gone == 1 else 'were'} left "
                              f"out: cells are missing ({cells}).")  # fmt: skip
        if count < _LEAST:
            why = f", as cells are missing ({cells})" if cells else ""
            raise ValueError(
                f"a law needs at least {_LEAST} rows, and {count} of {len(kept)} can be used{why}"
            )
        self.columns = {name: values[kept] for name, values in self.columns.items()}
        return outcome[kept]

    def compare_with_target(self, outcome: Array, target: str) -> None:
        """Note inputs that determine the target by themselves: perhaps it in another unit."""
        for name, values in self.columns.items():
            found = None if is_constant(outcome) else affine(outcome, values)
            if found and len(self.columns) > 1:
                self.notes.append(
                    f"{target} is {_relation(found, name)} in every row. If {name} is only "
                    f"{target} in another unit, leave it out to find a law in the other columns."
                )


def _relation(found: tuple[float, float], name: str) -> str:
    a, b = found
    if found == (1.0, 0.0):
        return f"a copy of {name}"
    times = name if a == 1 else f"{a:.6g}*{name}"
    return times if b == 0 else f"{times} {'+' if b > 0 else '-'} {abs(b):.6g}"
