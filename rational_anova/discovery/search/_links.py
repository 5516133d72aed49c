"""Links: functions g of the target, so that g(y) may be a quotient of simple terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from ..._core.types import Array

Bools = NDArray[np.bool_]
Function = Callable[[Array], Array]


@dataclass(frozen=True)
class Link:
    """g, its slope, its inverse with slope, the inverse in sympy, where it is allowed, its cost."""

    name: str
    forward: Function
    slope: Function
    inverse: Function
    inverse_slope: Function
    expression: Callable[[sp.Expr], sp.Expr]
    inside: Callable[[Array], Bools]  # where g is defined, on the branch of most of the data
    cost: int
    function: str = ""  # what its inverse brings into the law
    signed: bool = False  # the inverse knows the size only; the sign is that of the data

    def sign(self, negative: bool) -> float:
        """The branch that most of the data lie on."""
        return -1.0 if self.signed and negative else 1.0

    def allowed(self, f: Array, noise: Array | float = 0.0) -> bool:
        """Whether f is inside, but for rows that noise of this size may have put outside."""
        inside = self.inside(f)
        if inside.all():
            return True
        if inside.mean() < 0.75:
            return False
        # the nearest value inside, for all these links, is 0 or the end of the rows inside
        gap = np.minimum(np.abs(f), np.abs(f - np.clip(f, f[inside].min(), f[inside].max())))
        return bool((gap <= 6 * np.broadcast_to(noise, f.shape))[~inside].all())


def _one_sign(f: Array) -> Bools:
    return f > 0 if np.median(f) > 0 else f < 0


def _everywhere(f: Array) -> Bools:
    return np.isfinite(f)


def _within(low: float, high: float) -> Callable[[Array], Bools]:
    return lambda f: (f > low) & (f < high)


def _moderate(f: Array) -> Bools:
    return np.abs(f) < 15


_ALL = (
    Link("y", lambda f: f, np.ones_like, lambda t: t, np.ones_like, lambda t: t,
         _everywhere, 0),
    Link("1/y", lambda f: 1 / f, lambda f: 1 / f**2, lambda t: 1 / t, lambda t: -1 / t**2,
         lambda t: 1 / t, _one_sign, 1),
    Link("y^2", lambda f: f**2, lambda f: 2 * np.abs(f), lambda t: np.sqrt(np.abs(t)),
         lambda t: 0.5 / np.sqrt(np.abs(t)), sp.sqrt, _one_sign, 2, "sqrt", True),
    Link("log y", lambda f: np.log(np.abs(f)), lambda f: 1 / np.abs(f), np.exp, np.exp,
         sp.exp, _one_sign, 1, "exp", True),
    Link("sqrt y", lambda f: np.sqrt(np.abs(f)), lambda f: 0.5 / np.sqrt(np.abs(f)),
         lambda t: t**2, lambda t: 2 * t, lambda t: t**2, _one_sign, 1, "", True),
    Link("1/y^2", lambda f: f**-2.0, lambda f: 2 * np.abs(f) ** -3.0,
         lambda t: np.abs(t) ** -0.5, lambda t: -0.5 * np.abs(t) ** -1.5,
         lambda t: 1 / sp.sqrt(t), _one_sign, 3, "sqrt", True),
    Link("exp y", np.exp, np.exp, lambda t: np.log(np.abs(t)), lambda t: 1 / np.abs(t),
         sp.log, _moderate, 2, "log"),
    Link("log(1 - y)", lambda f: np.log1p(-f), lambda f: 1 / (1 - f), lambda t: -np.expm1(t),
         lambda t: -np.exp(t), lambda t: 1 - sp.exp(t), _within(-30, 1), 2, "exp"),
    Link("sin y", np.sin, np.cos, lambda t: np.arcsin(np.clip(t, -1, 1)),
         lambda t: 1 / np.sqrt(np.maximum(1 - t**2, 1e-12)), sp.asin,
         _within(-np.pi / 2, np.pi / 2), 2, "sin"),
    Link("cos y", np.cos, lambda f: np.sin(f), lambda t: np.arccos(np.clip(t, -1, 1)),
         lambda t: -1 / np.sqrt(np.maximum(1 - t**2, 1e-12)), sp.acos, _within(0, np.pi), 2, "cos"),
    Link("tan y", np.tan, lambda f: 1 / np.cos(f) ** 2, np.arctan, lambda t: 1 / (1 + t**2),
         sp.atan, _within(-np.pi / 2, np.pi / 2), 2, "sin"),
)  # fmt: skip
LINKS = {link.name: link for link in _ALL}
USUAL = ("y", "1/y", "y^2", "log y", "sqrt y", "1/y^2")

# first and second derivative of the links that may turn a table into a sum of parts
SLOPES: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "y": (np.ones_like, np.zeros_like),
    "log y": (lambda f: 1 / f, lambda f: -1 / f**2),
    "1/y": (lambda f: -1 / f**2, lambda f: 2 / f**3),
    "y^2": (lambda f: 2 * f, lambda f: 2 + 0 * f),
    "sqrt y": (lambda f: 0.5 / np.sqrt(np.abs(f)), lambda f: -0.25 * np.abs(f) ** -1.5),
    "1/y^2": (lambda f: -2 * f**-3.0, lambda f: 6 * f**-4.0),
    "exp y": (np.exp, np.exp),
    "log(1 - y)": (lambda f: -1 / (1 - f), lambda f: -1 / (1 - f) ** 2),
    "sin y": (np.cos, lambda f: -np.sin(f)),
    "cos y": (lambda f: -np.sin(f), lambda f: -np.cos(f)),
    "tan y": (lambda f: np.cos(f) ** -2, lambda f: 2 * np.tan(f) * np.cos(f) ** -2),
}
