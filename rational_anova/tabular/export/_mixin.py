"""`ExportMixin`: a fitted estimator as a formula, as code, and as a network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import sympy
from sklearn.utils.validation import check_is_fitted

from ..._core import checks as check
from ..._core.files import write_whole
from ..._core.types import Array
from ...networks import Snaps
from ...symbols import Names, snap
from ..deep import effects_only
from ..fit import Link
from ..model import Additive, labels, read
from ..monotone import as_signs
from ._formula import axes_of, formula, rational_effects
from ._onnx import graph_inputs, model
from ._plan import Plan, plan
from ._python import python
from ._rational import auto_rational
from ._sql import sql

if TYPE_CHECKING:
    from torch import Tensor, nn


class ExportMixin:
    """Exports of a fitted model; all of them compute what the model computes.

    f is the sum of all effects: on the scale of the link, or the log odds of classes.
    """

    model_: Additive

    def _plan(self, whole: bool = True) -> Plan:
        check_is_fitted(self)
        if whole:
            effects_only(self, "an export")
        names: tuple[str, ...] = getattr(self, "output_names_", ())
        levels: tuple[float, ...] = ()
        if names and getattr(self, "loss", "") == "quantile":
            levels = tuple(float(name) for name in names)
        return plan(
            self.model_, getattr(self, "classes_", None), getattr(self, "link_", Link()), names,
            levels, getattr(self, "cuts_", ()),
        )  # fmt: skip

    def symbolic_formula(
        self,
        simplify: bool = False,
        digits: int | None = None,
        output: Any = None,
        effect: Any = None,
    ) -> Any:
        """Return f as an expression of sympy, in a symbol for each input.

        It holds for rows without gaps whose numbers are in the range of the training rows; beyond
        it the model keeps the values at the border. A category's symbol stands for the level's
        position in `features_[i].levels`, unseen levels being the number of levels.

        Args:
            simplify: write each quotient with polynomials in x, not in (x - centre)/width.
            digits: of the numbers; None for all that there are, and for those that
                `auto_rational` made exact as they are.
            output: a class; without it f itself, or for three classes and more a list of all.
            effect: the name of an input, or a pair of them, for that effect alone.

        Returns:
            The expression; on the scale of `link_` for a regression, log odds for classes.
        """
        own = self._plan(whole=effect is None)
        only = None if effect is None else axes_of(own, effect)
        if output is None and len(own.intercept) > 1:
            each = np.eye(len(own.intercept))
            return [formula(own, one, simplify, digits, only, self._exact) for one in each]
        return formula(own, own.combination(output), simplify, digits, only, self._exact)

    @property
    def _exact(self) -> dict[float, str]:
        return getattr(self, "exact_numbers_", {})

    def auto_rational(
        self, X: Any = None, *, precision: float = 1e-5, constants: Sequence[str] = ()
    ) -> Snaps:
        """Turn the numbers of the model into exact ones, in place; predictions stay.

        Each number becomes a simple one (an integer, a fraction, a multiple of a constant) if there
        is one near enough, else the shortest decimal; `symbolic_formula` and all exports have it
        then. f moves by at most `precision` of its spread over the training rows: without X
        wherever the inputs are, which is proved and asks for many digits; with X on its rows, which
        takes fewer. Effects of monotone inputs stay as they are, and so does their proof. Bands
        and shares are those of the fit. `RAN.auto_rational` has the same arguments.

        Args:
            X: a table on which f is compared.
            precision: how far f may move, over its spread; below 1.
            constants: names of constants whose multiples are numbers too: "pi", "e", "sqrt2", ...

        Returns:
            `snapped`, `refused` with reasons, `moved` (None without X); print it.

        Example:
            >>> import rational_anova as ra
            >>> model = ra.RANRegressor().fit([[0.0], [1.0], [2.0]] * 9, [0.0, 1.0, 2.0] * 9)
            >>> _ = model.auto_rational([[0.0], [1.0], [2.0]], precision=1e-3)
            >>> model.symbolic_formula().has(sympy.Float)
            False
        """
        check_is_fitted(self)
        effects_only(self, "auto_rational")
        if check.nonnegative(precision, "precision") >= 1:
            raise ValueError(f"precision must be below 1, got {precision}")
        snap(1.0, 0.0, constants)  # an unknown name is an error even where nothing asks for it
        total: Array = self.measured_.total  # type: ignore[attr-defined]
        spread = np.where(total > 0, np.sqrt(total), 1.0)
        rows = None if X is None else self._rows(X)  # type: ignore[attr-defined]
        kept = as_signs(getattr(self, "monotone", None), self.model_.features).keys()
        found = auto_rational(self.model_, spread, precision, constants, kept, rows)
        self.model_, snaps, self.exact_numbers_ = found
        return snaps

    def latex(
        self,
        simplify: bool = False,
        digits: int | None = 4,
        output: Any = None,
        effect: Any = None,
    ) -> Any:
        """Return `symbolic_formula` in LaTeX; a list of texts where it is a list."""
        found = self.symbolic_formula(simplify, digits, output, effect)
        written = Names(self._plan(whole=False).names).latex
        if isinstance(found, list):
            return [sympy.latex(each, symbol_names=written) for each in found]
        return sympy.latex(found, symbol_names=written)

    def rational_effects(
        self, precision: float = 1e-3, digits: int | None = None, output: Any = None
    ) -> pd.DataFrame:
        """Return each main effect of a number as one quotient p/q, of as low a degree as will do.

        q has no root in the range of the training rows. The quotients are a summary for people:
        no other method uses them.

        Args:
            precision: the largest error, in units of the effect's range (largest less smallest).
            digits: of the numbers; None for all that there are.
            output: a class; needed for three classes and more.

        Returns:
            For each effect its degrees, its error (before digits are cut), whether it reached the
            precision (else it is the nearest one up to degree 12), and its formula.
        """
        own = self._plan()
        return rational_effects(own, own.combination(output), precision, digits)

    def to_python(self) -> str:
        """Return the source of a module with a function `predict(row)`; it imports math alone.

        `row` is a dict of column names. Gaps are None or NaN; dates are ISO texts or objects of
        datetime. `predict` returns the prediction, or a dict: of the classes' probabilities, or of
        several targets or quantiles. `decision` returns the list of f. Predictions are those of an
        offset of zero, and of one unit of exposure.
        """
        return python(self._plan(), f"Predictions of a {type(self).__name__}.")

    def to_sql(
        self,
        dialect: str = "ansi",
        output: Any = "prediction",
        table: str = "",
        probability: Any = None,
    ) -> str:
        """Return the prediction as one expression of SQL in the table's columns.

        A table that lacks a column of the model is an error of the database. Levels are compared
        as text, of whatever type their column is.

        Gaps are NULL (and NaN in `postgres` and `duckdb`). Classes and the links `log` and `sqrt`
        need the functions EXP and POWER, which some builds of SQLite lack.

        Args:
            dialect: `ansi`, `sqlite`, `postgres` or `duckdb`; dates need one of the last three.
            output: `prediction` (for classes, the most probable one), or a class for its
                probability, or the name of one of several targets or quantiles.
            table: name or alias of the table, to go before each column. Without it `ansi` takes
                `t`, as in `FROM people AS t`: where SQLite read it, an unknown name in double
                quotes alone would be a text.
            probability: a class, for its probability, whatever it is called.
        """
        return sql(self._plan(), dialect, output, table, probability)

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write an ONNX file that computes `predict`, or `predict_proba` for classes, in float64.

        Each input of the model that has an effect is an input of the graph, of shape (rows, 1) and
        of its name: numbers as float64 with NaN for gaps; levels of categories as text, with
        "(missing)" for gaps ("" will do if it is no level); parts of dates as the numbers `day`
        (since 1970), `month`, `weekday` (Monday is 0) and `hour`. `onnx_inputs` makes them of a
        table. The output is called `prediction` or `probabilities`.

        Args:
            path: where to write; the file appears whole or not at all.
        """
        write_whole(path, model(self._plan()).SerializeToString())

    def onnx_inputs(self, X: Any) -> dict[str, Array]:
        """Return a table as the inputs that the file of `to_onnx` takes."""
        own = self._plan()
        frame: pd.DataFrame = self._frame(X, reset=False)  # type: ignore[attr-defined]
        values = read(own.features, frame).values
        found = {}
        for i in graph_inputs(own):
            feature = own.features[i]
            if feature.category:
                column = frame.iloc[:, feature.column]
                texts = [str(value) for value in labels(column)]
                found[own.names[i]] = np.array(texts, object)[:, None]
            else:
                found[own.names[i]] = values[:, i : i + 1]
        return found

    def to_network(self, output: Any = None) -> nn.Sequential:
        """Return f as a network of the core: scaled coordinates, and a `RAN` in float64.

        It takes encoded rows without gaps, as `network_inputs` makes them, and gives (rows, 1).
        Every effect is a unit of it: a main effect has heads (a + b x)/(1 + (c + d x)^2), a pair
        heads with the product of two such denominators, written as a sum of squares. A category's
        levels are the integers, with heads that together reach the given value at each.

        Args:
            output: a class; three classes and more have a network each.
        """
        from ._network import network

        own = self._plan()
        if output is None and len(own.intercept) > 1:
            raise ValueError(
                "outputs have numerators of their own, so each has its own network: pass output="
                f"one of {own.classes or list(own.names_of_outputs)}"
            )
        return network(own, own.combination(output))

    def network_inputs(self, X: Any) -> Tensor:
        """Return a table as the encoded rows that `to_network` takes, (rows, inputs)."""
        import torch

        return torch.from_numpy(self._rows(X).values)  # type: ignore[attr-defined]
