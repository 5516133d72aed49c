"""Values of a dataclass from a file, checked against its annotations before it is made."""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")


def made(cls: type[T], values: Any) -> T:
    """Return a dataclass made of values by name; raise ValueError if they are not its fields'.

    Args:
        cls: the dataclass.
        values: what a file has for its fields; lists may stand for tuples.

    Example:
        >>> from rational_anova._core.callbacks import Progress
        >>> made(Progress, {"stage": "adam", "seconds": "soon"})
        Traceback (most recent call last):
        ValueError: the seconds of a Progress must be float, got 'soon'
    """
    name = cls.__name__
    if not isinstance(values, Mapping):
        raise ValueError(f"a {name} must have its fields by name, got {values!r:.60}")
    known: dict[str, Field[Any]] = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise ValueError(f"a {name} has no field {key!r:.60}")
    for key, field in known.items():
        needed = field.default is MISSING and field.default_factory is MISSING
        if needed and key not in values:
            raise ValueError(f"a {name} must have the field {key!r}")
    hints = _hints(cls)  # type: ignore[arg-type]
    for key, value in values.items():
        if not fits(value, hints[key]):
            wanted = getattr(hints[key], "__name__", hints[key])
            wanted = "an array of numbers" if "ndarray" in str(wanted) else wanted
            raise ValueError(f"the {key} of a {name} must be {wanted}, got {value!r:.60}")
    return cls(**values)


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value is what an annotation says; what cannot be told counts as such.

    >>> fits([1, 2.5], tuple[float, ...]), fits([1, "2"], list[int]), fits(None, int | None)
    (True, False, True)
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Union or origin is types.UnionType:
        return any(fits(value, one) for one in inner)
    if hint in _PLAIN:
        return _PLAIN[hint](value)
    if origin is Literal:
        return value in inner
    if origin is tuple and inner[1:] != (...,):
        return isinstance(value, tuple | list) and _each(value, inner)
    if origin is np.ndarray:  # of numbers, for nothing else is computed with
        return isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            fits(key, inner[0]) and fits(one, inner[1]) for key, one in value.items()
        )
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return isinstance(value, list | tuple | set) and all(fits(v, inner[0]) for v in value)
    kind = origin if isinstance(origin, type) else hint
    told = isinstance(kind, type) and not getattr(kind, "_is_protocol", False)
    return not told or isinstance(value, kind)


def _each(values: Any, hints: tuple[Any, ...]) -> bool:
    return len(values) == len(hints) and all(map(fits, values, hints))


def _whole(value: Any) -> bool:
    """Return whether a value is a whole number of at most 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


class _Unknown:
    """Stands for what a module imports for type checkers alone."""

    def __class_getitem__(cls, _: Any) -> Any:
        return Any


_PLAIN: dict[Any, Callable[[Any], bool]] = {
    Any: lambda value: True,
    _Unknown: lambda value: True,
    None: lambda value: value is None,
    type(None): lambda value: value is None,
    float: lambda value: isinstance(value, float) or _whole(value),
    int: _whole,
}


class _Names(dict[str, Any]):
    """Names of modules; those that they do not have are `_Unknown`."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, _Unknown)


@functools.cache
def _hints(cls: Any) -> dict[str, Any]:
    known = _Names()
    for parent in reversed(cls.__mro__):
        known.update(vars(sys.modules[parent.__module__]))
    try:
        return get_type_hints(cls, localns=known)
    except AttributeError:  # such as pandas.DataFrame, where pandas is not imported
        return dict.fromkeys((field.name for field in fields(cls)), Any)
