"""`Law`: a formula found in data, with its error bars and the evidence for it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import sympy as sp

from ..._core import records
from ...certificates import register_certifier
from ...tables import rows_of
from .._equivalence import Verdict, equivalent
from . import _certificate, _domain, _errors, _json, _words
from ._domain import Domain
from ._expressions import settled, short
from ._formula import Formula
from ._records import Entry, Evidence, Parameter

__all__ = ["Entry", "Evidence", "Law", "Parameter"]


@dataclass(frozen=True, eq=False, repr=False)
class Law(Formula):
    """A law found in a table. It is not changed once made, and holds no data.

    Args:
        template: the formula, in the symbols of the columns and of the parameters.
        parameters: its numbers.
        names: of the columns, in the order in which `predict` takes them.
        target: name of what is predicted.
        box: range of each column in the data.
        covariance: of the parameters, in their order.
        evidence: what speaks for the law.
        pareto: the best formula of each complexity.
        found: False if no compact law was found and this is but an approximation.
        units: labels of columns and target, for instance {"T": "K"}.

    Example:
        >>> from rational_anova.symbols import Names
        >>> T, c0 = sp.symbols("T c0")
        >>> law = Law(T * c0, (Parameter("c0", 8.3, 0.1),), Names(["T"]), "P", ((1, 2),),
        ...           np.array([[0.01]]), Evidence(rows=50, noise=0.01, error=0.01))
        >>> law
        Law(P = 8.3*T, rmse 0.01)
        >>> law.predict([[2.0]])
        array([16.6])
    """

    box: tuple[tuple[float, float], ...]
    covariance: np.ndarray
    evidence: Evidence
    pareto: tuple[Entry, ...] = ()
    found: bool = True
    units: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        box = tuple((float(low), float(high)) for low, high in self.box)
        if len(box) != len(self.names) or not all(low <= high for low, high in box):
            raise ValueError(f"box needs (low, high) for {len(self.names)} columns, got {box}")
        size = len(self.parameters)
        covariance = np.array(self.covariance, dtype=float)
        if covariance.size != size**2:
            raise ValueError(f"covariance must be ({size}, {size}), got {covariance.shape}")
        own = {
            "box": box,
            "covariance": covariance.reshape(size, size),
            "pareto": tuple(replace(e, formula=settled(e.formula)) for e in self.pareto),
        }
        for name, value in own.items():
            object.__setattr__(self, name, value)

    def to_json(self) -> str:
        """Return all of the law as JSON text."""
        return _json.to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Law:
        """Return the law that `to_json` wrote; no code in the text is run."""
        law: Law = records.from_text(text, "law")
        return law

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the law to a JSON file, which appears whole or not at all."""
        records.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Law:
        """Read a law from a file written by `save`."""
        law: Law = records.load_kind(path, "law")
        return law

    def predict_interval(
        self, X: Any, level: float = 0.95, noise: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high for each row, from the errors of the parameters.

        Args:
            X: as for `predict`.
            level: how often the interval shall hold the true value.
            noise: if True, that of a new measurement rather than that of the law.
        """
        return _errors.predicted(self, rows_of(X, self.names.columns), level, noise)

    @property
    def stderr(self) -> dict[str, float]:
        """Standard error of each parameter from the data, before it was made exact."""
        return {p.name: p.stderr for p in self.parameters}

    def intervals(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Return an interval for each parameter, by Student's t; no width if it is exact."""
        return _errors.intervals(self, level)

    @property
    def coefficients(self) -> pd.DataFrame:
        """The parameters as a table: value, exact, stderr, and low and high at 95%."""
        return _errors.coefficients(self)

    @cached_property
    def domain(self) -> Domain:
        """A proof, where there is one, that the law has a value on the whole box of the data."""
        return _domain.certify(self.formula, self.names.symbols, self.box)

    def poles(self, box: Any = None) -> tuple[Any, ...]:
        """Return where the law goes to infinity in a box, that of the data by default.

        Args:
            box: (low, high) for each column.

        Returns:
            Of a law in one column, the poles as sorted floats; else the denominators that could
            not be proven to have no zero in the box.
        """
        return _domain.poles(self.formula, self.names.symbols, self.box if box is None else box)

    def equals(self, other: Law | sp.Expr | str, digits: int = 3) -> Verdict:
        """Compare with another law or formula, as `equivalent` does; true if it is identical."""
        if isinstance(other, str):
            other = self.names.parse(other)
        formula = other.formula if isinstance(other, Law) else other
        box = dict(zip(self.names.symbols, self.box, strict=True))
        return equivalent(self.formula, formula, digits, box)

    @property
    def trust(self) -> str:
        """How far the law can be trusted, in a few plain sentences."""
        return _words.sentences(self)

    def summary(self) -> str:
        """Return the law, its error, its error bars and how far it holds, in plain lines."""
        return _words.summary(self)

    def __repr__(self) -> str:
        rmse = _words.brief(self.evidence.error * self.evidence.spread)
        note = "" if self.found else ", no compact law found"
        return f"Law({self.target} = {short(self.rounded())}, rmse {rmse}{note})"


register_certifier(Law, _certificate.certify_law)
records.register(
    "law",
    Law,
    write=lambda law: law.to_json().encode(),
    read=lambda found: Law(**_json.arguments(found.content)),
)
