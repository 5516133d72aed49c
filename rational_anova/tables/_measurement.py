"""What comes with the rows of a table beside inputs and target: errors of measurement, groups."""

from __future__ import annotations

import numbers as kinds
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.checks import choice, real
from .._core.types import Array
from ._cells import as_text, numbers
from ._frames import as_column, as_pandas, check_order

if TYPE_CHECKING:
    import pandas as pd

_ONLY = ""  # stands for the only input, where `x_sigma` does not name it


@dataclass
class Measurement:
    """Errors and groups as they were given, a value for every row of the table; nan for a gap.

    Attributes:
        sigma: standard errors of the target, if given.
        x_sigma: standard errors by name of the input.
        groups: labels as text, None for a gap; None if there are no groups.
        by: name of the column of the groups.
        names: what `sigma` and each of `x_sigma` are called in notes.
        columns: columns of the table that hold any of these, and so are no inputs.
    """

    sigma: Array | None = None
    x_sigma: dict[str, Array] = field(default_factory=dict)
    groups: Array | None = None
    by: str = ""
    names: dict[str, str] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)

    def settle(self, inputs: Sequence[str], dropped: Mapping[str, str]) -> None:
        """Match the errors with the inputs that are left."""
        if _ONLY in self.x_sigma:
            if len(inputs) != 1:
                raise ValueError(
                    f'x_sigma must say of which input it is, as x_sigma={{"{inputs[0]}": ...}}; '
                    f"there are {', '.join(inputs)}"
                )
            self.x_sigma = {inputs[0]: self.x_sigma.pop(_ONLY)}
        for name in self.x_sigma:
            if name in dropped:
                raise ValueError(f"x_sigma names {name!r}, which is left out: {dropped[name]}")
            if name in self.columns:
                raise ValueError(f"x_sigma names {name!r}, which is no input, but sigma or by")
            choice(name, inputs, "x_sigma")

    def missing(self) -> dict[str, Array]:
        """Return where cells are missing, by what they are called."""
        found = {} if self.sigma is None else {self._called("sigma"): np.isnan(self.sigma)}
        for name, errors in self.x_sigma.items():
            found[self._called(f"x_sigma of {name}")] = np.isnan(errors)
        if self.groups is not None:
            found[self.by] = np.array([label is None for label in self.groups], dtype=bool)
        return found

    def _called(self, what: str) -> str:
        return self.names.get(what, what)

    def rows(self, kept: Array) -> None:
        """Keep these rows only, and refuse errors and groups that make no sense in them."""
        if self.sigma is not None:
            _check(self.sigma, kept, self._called("sigma"), "sigma", positive=True)
            self.sigma = self.sigma[kept]
        for name, errors in self.x_sigma.items():
            word = f"x_sigma of {name}"
            _check(errors, kept, self._called(word), word, positive=False)
            self.x_sigma[name] = errors[kept]
        if self.groups is not None:
            self.groups = self.groups[kept].astype(str)
            _check_groups(self.groups, self.by)

    def matrix(self, inputs: Sequence[str], rows: int) -> Array | None:  # (rows, inputs)
        """Return the errors of the inputs, 0 for those without; None if none has any."""
        if not any(errors.any() for errors in self.x_sigma.values()):
            return None
        parts = [self.x_sigma.get(name, np.zeros(rows)) for name in inputs]
        return np.stack(parts, axis=1)


def read_measurement(
    frame: pd.DataFrame,
    index: pd.Index,
    sigma: Any = None,
    x_sigma: Any = None,
    by: Any = None,
    notes: list[str] | None = None,
) -> Measurement:
    """Read errors and groups, each a column of the table by name, a number, or values a row.

    Args:
        frame: the table without the target.
        index: names of its rows, as they came in.
        sigma: standard error of the target.
        x_sigma: standard errors of inputs by their names, or that of the only input.
        by: the group of each row.
        notes: where words among numbers are noted.
    """
    found, read = Measurement(), _Reader(frame, index, [] if notes is None else notes)
    if sigma is not None:
        found.sigma = read.errors(sigma, "sigma", found.names)
    several = isinstance(x_sigma, Mapping) or hasattr(x_sigma, "columns")
    each = {str(n): x_sigma[n] for n in x_sigma} if several else {_ONLY: x_sigma}
    for name, errors in each.items() if x_sigma is not None else ():
        word = f"x_sigma of {name}" if name else "x_sigma"
        found.x_sigma[name] = read.errors(errors, word, found.names)
    if by is not None:
        column = read.column(by, "by")
        found.by = "group" if column.name is None else str(column.name)
        labels = [label or None for label in as_text(column)]
        found.groups = np.array(labels, dtype=object)
    found.columns = list(dict.fromkeys(read.taken))
    return found


@dataclass
class _Reader:
    """Reads what was given for the rows of a table, and remembers which columns held it."""

    frame: pd.DataFrame
    index: pd.Index
    notes: list[str]
    taken: list[str] = field(default_factory=list)

    def errors(self, given: Any, word: str, names: dict[str, str]) -> Array:
        if isinstance(given, kinds.Real):
            number = real(given, word)
            if number < 0 or (number == 0 and word == "sigma"):
                least = "positive" if word == "sigma" else "0 or more"
                raise ValueError(f"{word} must be {least}, got {given}")
            return np.full(len(self.frame), number)
        column = self.column(given, word)
        if column.name in self.taken:
            names[word] = str(column.name)
        return numbers(column, word, self.notes, names.get(word, word))

    def column(self, given: Any, word: str) -> pd.Series:
        """Return a column of the table by its name, or values that were given as such."""
        if isinstance(given, str):
            self.taken.append(choice(given, self.frame.columns, word))
            return self.frame[given]
        column = as_column(given, word)
        if len(column) != len(self.frame):
            raise ValueError(f"X has {len(self.frame)} rows, but {word} has {len(column)}")
        if as_pandas(given) is not None and not column.index.equals(self.index):
            check_order(self.index, column.index, word)
        if self._same(column, word):
            self.taken.append(str(column.name))
        return column

    def _same(self, column: pd.Series, word: str) -> bool:
        """Return whether a Series is a column of the table, which it then stands for."""
        name = str(column.name)
        if column.name is None or name not in self.frame.columns:
            return False
        if np.array_equal(as_text(self.frame[name]), as_text(column)):
            return True
        if word == "by":  # errors may well have the name of what they are errors of
            raise ValueError(
                f"by is called {name!r} as a column of X is, and has other values; "
                "rename one of them"
            )
        return False


def _check(errors: Array, kept: Array, name: str, word: str, positive: bool) -> None:
    """Refuse errors that are infinite, negative or, for the target, zero, in the rows kept."""
    fine = np.isfinite(errors) & ((errors > 0) if positive else (errors >= 0))
    wrong = np.flatnonzero(kept & ~fine)
    if wrong.size:
        called = word if name == word else f"{word} (column {name!r})"
        allowed = "positive and finite" if positive else "0 or more, and finite"
        raise ValueError(
            f"{called} must be {allowed}, got {errors[wrong[0]]:g} in row {wrong[0] + 1}; "
            "correct it, or leave the row out"
        )


def _check_groups(groups: Array, by: str) -> None:
    labels = list(dict.fromkeys(groups.tolist()))
    if len(labels) < 2:
        raise ValueError(
            f"by={by!r} has one group only, {labels[0]!r}, in the {len(groups)} rows that can be "
            "used; leave by out to find a law for them"
        )
    if len(labels) > len(groups) / 2:
        raise ValueError(
            f"by={by!r} has {len(labels)} groups in {len(groups)} rows, which leaves less than 2 "
            "rows a group; choose a column with fewer levels, or leave by out"
        )
