"""`Law`: a formula found in data, with its error bars and the evidence for it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import sympy as sp

from ..._core import records
from ..._core.fields import made
from ...certificates import register_certifier
from ...symbols import names_in, program
from ...tables import rows_of
from .._equivalence import Verdict, equivalent
from . import _certificate, _domain, _errors, _json, _words
from ._domain import Domain
from ._expressions import settled, short, substitute
from ._formula import Formula
from ._records import Entry, Evidence, Grade, Groups, Noise, Parameter, Rival, Sample

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_COMPARED = 500  # rows on which the rounded formula must say what the law says
_MORE_DIGITS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Law(Formula):
    """A law found in a table. It is not changed once made; its file does not hold the data.

    Args:
        template: the formula, in the symbols of the columns and of the parameters.
        parameters: its numbers.
        names: of the columns, in the order in which `predict` takes them.
        target: name of what is predicted.
        box: range of each column in the data.
        covariance: of the parameters, in their order.
        evidence: its errors, and how it was found.
        pareto: the best formula of each complexity.
        grade: how much may be claimed: established, one of several, interpolation, nothing.
        units: labels of columns and target, for instance {"T": "K"}.
        name: that of the catalogue, if it is a named law.
        rivals: all formulas that were compared, by decreasing weight, including the law.
        doubts: reasons against a higher grade, one sentence each.
        noise: its noise model.
        groups: its parameters by experiment, if there are several.
        outliers: rows that a robust fit left out.
        provenance: how it was found: file, rows, options, version.
        data: the rows of the fit, as long as the law is in memory.

    Example:
        >>> from rational_anova.symbols import Names
        >>> T, c0 = sp.symbols("T c0")
        >>> law = Law(T * c0, (Parameter("c0", 8.3, 0.1),), Names(["T"]), "P", ((1, 2),),
        ...           np.array([[0.01]]), Evidence(rows=50, noise=0.01, error=0.01))
        >>> law
        Law(P = 8.3*T, rmse 0.01, one of several)
        >>> law.predict([[2.0]])
        array([16.6])
    """

    box: tuple[tuple[float, float], ...]
    covariance: np.ndarray
    evidence: Evidence
    pareto: tuple[Entry, ...] = ()
    grade: Grade = Grade.SEVERAL
    units: dict[str, str] = field(default_factory=dict)
    name: str = ""
    rivals: tuple[Rival, ...] = ()
    doubts: tuple[str, ...] = ()
    noise: Noise = field(default_factory=Noise)
    groups: Groups | None = None
    outliers: tuple[int, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)
    data: Sample | None = None

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
            "rivals": tuple(replace(r, formula=settled(r.formula)) for r in self.rivals),
            "grade": Grade(self.grade),
            "doubts": tuple(self.doubts),
            "outliers": tuple(int(row) for row in self.outliers),
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

    def predict(self, X: Any) -> np.ndarray:
        """Return the target for each row of X; nan or inf where the formula is undefined.

        Args:
            X: (rows, columns) in the order of `names`, or a DataFrame with these columns. If the
                law has experiments, and X has their column, each row is predicted
                with the parameters of its experiment; otherwise with those of a typical one.
        """
        if self.groups is None or self.groups.column not in getattr(X, "columns", ()):
            return super().predict(X)
        labels, out = np.asarray(X[self.groups.column]), np.empty(len(X))
        for label in pd.unique(labels):
            here = labels == label
            out[here] = self.for_group(label).predict(X[here])
        return out

    def rounded(self, digits: int = 6) -> sp.Expr:
        """Return the formula with rounded parameters: `digits` digits, or what the errors support.

        Correlated parameters may need more: there are enough digits for the predictions on the
        data to agree with those of the law to a tenth of the residuals.
        Given constants keep their names.
        """
        shown = super().rounded(digits)
        for more in range(1, _MORE_DIGITS):
            if self.data is None or self._agrees(shown, digits):
                break
            shown = self._with_digits(digits, more)
        return shown

    def _agrees(self, shown: sp.Expr, digits: int) -> bool:
        assert self.data is not None
        X = self.data.X[:_COMPARED]
        shown = substitute(shown, {p.symbol: p.number for p in self.parameters if p.given})
        with np.errstate(all="ignore"):
            said = program(self.names.symbols, [shown])(*X.T)[0]
            apart = float(np.sqrt(np.mean((said - self.predict(X)) ** 2)))
        allowed = max(0.1 * self.evidence.error, 10.0 ** (1 - digits)) * self.evidence.spread
        return not apart > allowed  # where neither has a value, nothing is to be compared

    def predict_interval(
        self,
        X: Any,
        level: float = 0.95,
        noise: bool = False,
        sigma: Any = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of an interval for each row, from the errors of the parameters.

        Args:
            X: as for `predict`.
            level: confidence level of the interval.
            noise: if True, a prediction interval for a new measurement. It follows the noise
                model: its width is proportional to the law if that is, and it is never below
                zero if the noise is log-normal or Poisson.
            sigma: standard error of the new measurements, a number or one a row, if the law was
                fitted with given errors; their median by default. Errors of the inputs count as
                they did on the rows of the fit.
        """
        rows = rows_of(X, self.names.columns)
        return _errors.predicted(self, rows, level, noise, sigma)

    @cached_property
    def _slopes(self) -> list[Any]:
        return _errors.slopes(self)

    @property
    def stderr(self) -> dict[str, float]:
        """Standard error of each parameter, before any was set to an exact number."""
        return {p.name: p.stderr for p in self.parameters}

    def intervals(
        self, level: float = 0.95, method: str | None = None
    ) -> dict[str, tuple[float, float]]:
        """Return a confidence interval for each parameter, of zero width if it is exact or given.

        Args:
            level: confidence level of the interval.
            method: "profile" for profile likelihood, which is stored at 95% and computed from
                `data` at other levels; "wald" for value -+ t * stderr. By default the first where
                it is there.
        """
        return _errors.intervals(self, level, method)

    @property
    def correlation(self) -> pd.DataFrame:
        """Correlation matrix of the fitted parameters."""
        return _errors.correlation(self)

    @property
    def coefficients(self) -> pd.DataFrame:
        """The parameters as a table: value, exact, stderr, low and high at 95%, unit, meaning."""
        return _errors.coefficients(self)

    @cached_property
    def domain(self) -> Domain:
        """Whether the law is proven to be defined on the whole box of the data."""
        return _domain.certify(self.formula, self.names.symbols, self.box)

    def poles(self, box: Any = None) -> tuple[Any, ...]:
        """Return the poles of the law in a box, by default that of the data.

        Args:
            box: (low, high) for each column.

        Returns:
            Of a law in one column, the poles as sorted floats; else the denominators that could
            not be proven to have no zero in the box.
        """
        return _domain.poles(self.formula, self.names.symbols, self.box if box is None else box)

    def equals(self, other: Law | sp.Expr | str, digits: int = 3) -> Verdict:
        """Compare with another law or formula, as `equivalent` does; true if it is identical.

        A name that is neither a column nor a known constant is a free number: the law is then
        compared with the whole family, `law.equals("a*S/(b + S)")`, and `by` is "fit".
        """
        if isinstance(other, str):
            other = self.names.parse(other, names_in(other))
        formula = other.formula if isinstance(other, Law) else sp.sympify(other)
        known = {p.symbol: p.number for p in self.parameters if p.given}
        formula = formula.xreplace(known)
        if formula.free_symbols - set(self.names.symbols):
            same = _of_family(self, formula)
            return Verdict(same, same, same, by="fit")
        box = dict(zip(self.names.symbols, self.box, strict=True))
        return equivalent(self.formula, formula, digits, box)

    def is_(self, name: str) -> bool:
        """Return whether this is the law of the catalogue by that name or alias.

        It is if it was found as such, or if the named form can be fitted to its values with no
        more parameters than it has.
        """
        return _is_named(self, name)

    def for_group(self, group: Any) -> Law:
        """Return the law of one experiment, with its own parameters."""
        if self.groups is None or group not in self.groups.values.index:
            known = [] if self.groups is None else list(self.groups.values.index)
            raise ValueError(f"the law has no group {group!r}; there are {known}")
        row = self.groups.values.loc[group]
        parameters = tuple(_of_group(p, row) for p in self.parameters)
        # how the errors of numbers of one group go together is not known
        covariance = np.diag([p.stderr**2 for p in parameters])
        return replace(self, parameters=parameters, covariance=covariance, groups=None, data=None)

    def plot(
        self, X: Any = None, y: Any = None, *, sigma: Any = None, groups: Any = None
    ) -> Figure:
        """Draw the law: data, bands, rivals, extrapolation and residuals.

        Args:
            X: the data, as for `predict`; those of the fit by default, as long as they are there.
            y: measured values of the target, or the name of a column of X.
            sigma: standard errors of y, drawn as bars.
            groups: the experiment of each row, if the law has several.

        Returns:
            A matplotlib figure; `figure.savefig("law.png")` writes it.
        """
        from ._plot import plot  # matplotlib takes a second to import

        return plot(self, X, y, sigma, groups)

    @property
    def trust(self) -> str:
        """How far the law can be trusted, in a few plain sentences."""
        return _words.sentences(self)

    def summary(self) -> str:
        """Return the law, its errors, parameters, rivals and range of validity, as text."""
        return _words.summary(self)

    def __repr__(self) -> str:
        named = f", {self.name}" if self.name else ""
        error = _words.scatter(self)
        return f"Law({self.target} = {short(self.rounded())}{named}, {error}, {self.grade})"


def _of_group(parameter: Parameter, row: Mapping[str, float]) -> Parameter:
    """Return a parameter with the value and error that it has in a row of `Groups.values`."""
    if parameter.name not in row:
        return parameter
    value, error = float(row[parameter.name]), float(row.get(f"{parameter.name} stderr", np.nan))
    return replace(
        parameter, value=value, stderr=error, low=np.nan, high=np.nan, exact=None, given=False
    )


def _of_family(law: Law, form: sp.Expr) -> bool:
    """Return whether a form with free names can be the law, with no more numbers than it has."""
    from ..fitting import Form, same_family  # loads much that most laws never need

    columns = law.names.symbols
    free = tuple(sorted(form.free_symbols - set(columns), key=str))
    if len(free) > _numbers(law):
        return False
    return same_family(law.formula, Form(form, columns, free), law.box)


def _numbers(law: Law) -> int:
    """Count the numbers of a law: its parameters, those written out, and factors of one."""
    given = {p.symbol for p in law.parameters if p.given}
    own = {p.symbol for p in law.parameters} - given
    written = [e for e in sp.preorder_traversal(law.template) if e.is_number and e not in (1, -1)]
    plain = [
        term
        for term in sp.Add.make_args(law.template)
        if not any(f in own or f.is_number for f in sp.Mul.make_args(term))
    ]
    inner = [e for e in sp.preorder_traversal(law.template) if e.is_Add and sp.S.One in e.args]
    return len(own) + len(written) + len(plain) + len(inner)


def _is_named(law: Law, name: str) -> bool:
    from ..catalogue import find

    if law.name and law.name.casefold() == name.casefold():
        return True
    form = find(name)
    if law.name and law.name == form.name:
        return True
    used = [s for s in law.names.symbols if law.formula.has(s)]
    if len(used) != len(form.inputs):
        return False
    marks = {s: sp.Dummy(s.name) for s in form.expression.free_symbols}
    template = form.expression.xreplace(marks)
    inputs = [marks[sp.Symbol(name)] for name in form.inputs]
    ways = (dict(zip(inputs, order, strict=True)) for order in permutations(used))
    return any(_of_family(law, template.xreplace(way)) for way in ways)


def _read(found: records.Found) -> Law:
    law = made(Law, _json.arguments(found))
    shown = _json.text(law.formula)
    if found.edited and found.content["formula"] != shown:
        warnings.warn(
            f"the formula of {found.source} is not that of its template and parameters, which "
            f"count: the law is {shown:.200}",
            stacklevel=2,
        )
    return law


register_certifier(Law, _certificate.certify_law)
records.register(
    "law",
    Law,
    write=lambda law: law.to_json().encode(),
    read=_read,
)
