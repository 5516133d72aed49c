"""Build kernels ahead: the library for all forms, and those of forms at hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import torch

from . import _c
from ._build import kernel_folder, library
from ._spec import Spec


@dataclass(frozen=True)
class Built:
    """One library.

    Args:
        what: which one, in words.
        path: where it is kept.
        seconds: that it took; 0 if it was there.
    """

    what: str
    path: Path
    seconds: float


def build(
    forms: Iterable[tuple[Spec, int, bool]] = (),
    dtypes: Iterable[torch.dtype] = (torch.float32, torch.float64),
    told: Callable[[str], None] | None = None,
) -> list[Built]:
    """Build the C kernels now and not at the first call; what is in the cache stays.

    The library of a dtype serves all forms of units. A form that is given gets a faster one of its
    own as well, as large arrays would ask for.

    Args:
        forms: specification, number of heads and whether there is a gate, as
            `units.common_forms()` has them and `units.forms_of(module)` finds them.
        dtypes: float32 or float64.
        told: is called with a line before each library.

    Raises:
        Unavailable: there is no compiler, or no folder to keep libraries in.

    Example:
        >>> from rational_anova import kernels
        >>> [one.what for one in kernels.build(dtypes=())]
        []
    """
    wanted: list[tuple[str, torch.dtype, tuple[str, ...]]] = []
    given = [one for one in forms if _c.serves(one[0])]
    for dtype in dtypes:
        if dtype not in (torch.float32, torch.float64):
            raise ValueError(f"dtypes must be torch.float32 or torch.float64, got {dtype}")
        name = str(dtype).removeprefix("torch.")
        wanted.append((f"{name}, all forms", dtype, ()))
        wanted += [(f"{name}, {_words(*one)}", dtype, _c.definitions(*one)) for one in given]
    return [_one(*each, told) for each in dict.fromkeys(wanted)]


def _one(
    what: str, dtype: torch.dtype, form: tuple[str, ...], told: Callable[[str], None] | None
) -> Built:
    if told is not None:
        told(what)
    folder = kernel_folder()
    before = set(folder.glob("*.so")) if folder.is_dir() else set()
    start = time.perf_counter()
    path = library(dtype == torch.float32, form)
    taken = 0.0 if path in before else time.perf_counter() - start
    return Built(what, path, taken)


def _words(spec: Spec, heads: int, gated: bool) -> str:
    """Describe a form."""
    top = max(map(sum, spec.numerator))
    parts = [f"{spec.variables} input{'s' * (spec.variables > 1)}", f"degree {top}", spec.kind]
    parts.append(f"base {spec.base}" if gated else "no gate")
    if heads > 1:
        parts.append(f"{heads} heads")
    return ", ".join(parts)
