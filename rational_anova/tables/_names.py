"""Names of the columns of a table: as text, each once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_HALF = re.compile("[\ud800-\udfff]")  # of surrogates, from text that was read in a wrong way


def text_names(names: Iterable[Any]) -> list[str]:
    """Return names as text; two that are alike are an error."""
    texts = [str(name) for name in names]
    check_unique(texts)
    return texts


def check_unique(names: Iterable[Any]) -> None:
    """Raise if a name is there twice, or is no text that a file can hold."""
    seen = set()
    for name in names:
        if isinstance(name, str) and _HALF.search(name):
            raise ValueError(f"a column is called {name!r}, which has half a character; rename it")
        if name in seen:
            raise ValueError(f"two columns are called {name!r}; rename one of them")
        seen.add(name)


def default_names(count: int) -> list[str]:
    """Return x0, x1, ...: names for columns that have none.

    >>> default_names(3)
    ['x0', 'x1', 'x2']
    """
    return [f"x{place}" for place in range(count)]


def column_names(X: Any) -> list[str] | None:
    """Return the names that a table has of its own, None for an array.

    >>> column_names({"T": [1.0], "V": [2.0]})
    ['T', 'V']
    """
    names = getattr(X, "columns", None)
    if names is None:
        names = getattr(getattr(X, "dtype", None), "names", None)
    if names is None and isinstance(X, Mapping) and not hasattr(X, "shape"):
        names = X
    if names is None and isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        names = dict.fromkeys(name for row in X for name in row)
    if names is None or callable(names):
        return None
    return [str(getattr(name, "name", name)) for name in names]


def input_names(names: Any, X: Any) -> Sequence[Any] | None:
    """Return names for the columns of X: those given, else its own, else None.

    An object with `symbols`, such as `Names`, stands for these.
    """
    if names is None:
        return column_names(X)
    given: Sequence[Any] = getattr(names, "symbols", names)
    return given
