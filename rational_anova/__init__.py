"""Rational ANOVA Networks: learnable rational units on an explicit, sparse ANOVA topology."""

from typing import Any

import lazy_loader as _lazy

__version__ = "0.2.0"

# `__init__.pyi` lists the public names, for editors and type checkers too. Each is imported when it
# is first used: torch, sympy, pandas and scikit-learn are slow to import, and few need them all.
_load, _, __all__ = _lazy.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in __all__:
        try:
            return _load(name)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.split(".")[0] == __name__:
                raise
            raise ImportError(
                f"ra.{name} needs {error.name}, which is not installed; `pip install "
                f"rational-anova` brings it along, or install it alone"
            ) from error
    from difflib import get_close_matches

    near = get_close_matches(name, __all__, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
