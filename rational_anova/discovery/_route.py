"""The steps by which a law was found: records for the search, with a sentence each for people."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp


@dataclass(frozen=True)
class Idle:
    """Columns that bring nothing."""

    variables: tuple[sp.Expr, ...]

    @property
    def text(self) -> str:
        """The step in words."""
        verb = "does" if len(self.variables) == 1 else "do"
        return f"{_listed(self.variables)} {verb} not matter"


@dataclass(frozen=True)
class Factors:
    """Power factors divided out: each variable with its power, which is 1 if it does not matter."""

    powers: tuple[tuple[sp.Expr, sp.Expr], ...]

    @property
    def text(self) -> str:
        """The step in words."""
        return "; ".join(
            f"{variable} does not matter"
            if power == 1
            else f"{variable} enters as the factor {power}"
            for variable, power in self.powers
        )


@dataclass(frozen=True)
class Joined:
    """One or two variables that enter as one expression."""

    variables: tuple[sp.Expr, ...]
    expression: sp.Expr

    @property
    def text(self) -> str:
        """The step in words."""
        verb = "enters" if len(self.variables) == 1 else "enter"
        return f"{' and '.join(map(str, self.variables))} {verb} as {self.expression} only"


@dataclass(frozen=True)
class Scaled:
    """A variable that is the unit of others; the target may have a power of it as a factor."""

    unit: sp.Expr
    others: tuple[sp.Expr, ...]
    factor: sp.Expr  # 1 if there is none

    @property
    def text(self) -> str:
        """The step in words."""
        more = "" if self.factor == 1 else f" and enters as the factor {self.factor}"
        return f"{self.unit} sets the scale of {_listed(self.others)}{more}"


@dataclass(frozen=True)
class Linked:
    """The target seen through a link."""

    link: str

    @property
    def text(self) -> str:
        """The step in words."""
        return f"seen as {self.link}"


@dataclass(frozen=True)
class Separated:
    """A target that is a sum, or a product, of functions of two groups of variables."""

    left: tuple[sp.Expr, ...]
    right: tuple[sp.Expr, ...]
    product: bool

    @property
    def text(self) -> str:
        """The step in words."""
        kind = "factors" if self.product else "parts"
        return f"the {kind} in {_listed(self.left)} and in {_listed(self.right)} are separate"


@dataclass(frozen=True)
class LinearIn:
    """A target that is linear in an expression, with coefficients that are functions."""

    expression: sp.Expr
    coefficients: tuple[sp.Expr, ...]

    @property
    def text(self) -> str:
        """The step in words."""
        return f"linear in {self.expression}, with coefficients in {_listed(self.coefficients)}"


@dataclass(frozen=True)
class MadeExact:
    """A fitted number that was taken for an exact one."""

    value: float
    stderr: float
    exact: sp.Expr

    @property
    def text(self) -> str:
        """The step in words."""
        return f"{self.value:.6g} +- {self.stderr:.1g} was taken as {self.exact}"


@dataclass(frozen=True)
class Waves:
    """Columns that enter by the sine or cosine of a phase."""

    variables: tuple[sp.Expr, ...]
    phase: sp.Expr

    @property
    def text(self) -> str:
        """The step in words."""
        return f"the target oscillates with the phase {self.phase} of {_listed(self.variables)}"


Step = Idle | Factors | Joined | Scaled | Linked | Separated | LinearIn | Waves


def _listed(expressions: tuple[sp.Expr, ...]) -> str:
    return ", ".join(map(str, expressions))
