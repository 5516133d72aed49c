"""Explanations: effects, their shares, what adds up to a prediction, and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from ..deep import has_deep_part
from ..model import Additive, Rows
from ._effects import Effects, effects_of
from ._statistics import Measured

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINKS = {"identity": "", "log": "log ", "sqrt": "square root of "}


NETWORKS = "(networks)"  # the column of what the deep part adds


_MOST = 12  # lines or names of one kind in a summary


def _listed(head: str, names: Sequence[str], count: int) -> str:
    more = f" and {count - _MOST} more" if count > _MOST else ""
    return f"{head}{', '.join(names[:_MOST])}{more}"


class ExplainMixin:
    """What an estimator with `model_` and `measured_` can say about itself."""

    model_: Additive
    measured_: Measured

    @property
    def effects_(self) -> Effects:
        """The effects by name (`age`, `age x income`), the largest share first.

        The share of an effect f_u is Cov(f_u, f)/Var(f) over the training rows. All shares add up
        to one. Effects are purified: a pair has mean zero and is orthogonal to the main effects of
        both its inputs. With independent inputs shares are the Sobol indices; with dependent ones
        a share may be slightly negative.
        """
        check_is_fitted(self)
        return effects_of(self.model_, self.measured_, self._output_classes())

    def explain_global(self) -> pd.DataFrame:
        """Return a table of the effects, the largest share first.

        Returns:
            Columns `effect`, `kind` (`main` or `pair`), `inputs`, `share` (see `effects_`) and
            `std` (on the scale of f). With several classes there is a row for each effect and
            class, with a column `class`; the order is that of the effects' overall shares.
        """
        lines: list[dict[str, Any]] = []
        for effect in self.effects_.values():
            line = {"effect": effect.name, "kind": effect.kind, "inputs": effect.inputs}
            for k in range(effect.outputs):
                which = {"class": effect.classes[k]} if effect.classes else {}
                numbers = {"share": float(effect.shares[k]), "std": float(effect.stds[k])}
                lines.append(line | which | numbers)
        names = ["effect", "kind", "inputs", "share", "std"]
        if self._output_classes():
            names.insert(3, "class")
        return pd.DataFrame(lines, columns=names)

    def summary(self) -> str:
        """Return what is predicted, from which inputs, and the largest effects, in plain lines."""
        effects = list(self.effects_.values())
        features = self.model_.features
        lines = [repr(self), self._predicted()]
        lines.append(_listed("inputs: ", [f"{f.name} ({f.kind})" for f in features], len(features)))
        if has_deep_part(self):
            lines.append("networks add what the effects leave")
        for proof in getattr(self, "monotone_", {}).values():
            sign = "never falls" if proof.sign > 0 else "never rises"
            lines.append(f"{sign} with {proof.input}: {proof.verdict}")
        lines.append(f"{len(effects)} effects, by their share of the variance:")
        lines += [f"  {effect.share:7.1%}  {effect.name}" for effect in effects[:_MOST]]
        more = len(effects) - _MOST
        return "\n".join([*lines, f"  ... and {more} more"] if more > 0 else lines)

    def _predicted(self) -> str:
        classes = getattr(self, "classes_", None)
        if classes is not None:
            return _listed("predicts classes: ", [str(c) for c in classes], len(classes))
        link = getattr(self, "link_", None)
        name = "identity" if link is None else link.name
        return f"predicts a number{'' if name == 'identity' else f', link {name}'}"

    def explain_local(self, X: Any, target: Any = None, total: str = "prediction") -> pd.DataFrame:
        """Return what each effect adds to f at each row of X.

        Args:
            X: a table.
            target: with several classes, the class whose decision is taken apart; None for all.
            total: name of the column of sums.

        Returns:
            One row for each row of X, with its index. Columns: `intercept`, each effect (the
            largest share first), for a deep model what its networks add, and the sum, which is
            `predict_link` or `decision_function`.
            With several classes and no `target` the columns have two levels, class and effect.
        """
        rows: Rows = self._rows(X)  # type: ignore[attr-defined]
        effects = self.effects_
        if total == "intercept" or total in effects:
            raise ValueError(f"total={total!r} is the name of another column; choose another one")
        values = {name: effect.at(rows) for name, effect in effects.items()}
        deep = None
        if has_deep_part(self):
            deep = self._decision(rows) - self.model_.decision(rows)  # type: ignore[attr-defined]
        tables = {}
        for k in self._outputs(target):
            columns = {"intercept": np.full(len(rows), self.model_.intercept[k])}
            columns |= {name: value[:, k] for name, value in values.items()}
            if deep is not None:
                columns[NETWORKS] = deep[:, k]
            columns[total] = np.sum(list(columns.values()), 0)
            tables[k] = pd.DataFrame(columns, getattr(X, "index", None))
        if len(tables) == 1:
            return next(iter(tables.values()))
        classes = self._output_classes()
        return pd.concat(
            {classes[k]: table for k, table in tables.items()}, axis=1, names=["class", "effect"]
        )

    def plot_anova(
        self,
        mode: str = "main",
        X: Any = None,
        names: Sequence[str] | None = None,
        top: int | None = None,
        target: Any = None,
    ) -> Figure:
        """Draw the effects; returns a matplotlib `Figure`, to be saved with `savefig`.

        Args:
            mode: `main`: curves (bars for categories) with 95 % bands, the data along the bottom.
                `interaction`: pairs as heat maps; pale where there were no rows. `importance`:
                shares of the variance. `local`: what adds up to the prediction for one row.
            X: for `local`, a table of one row.
            names: the effects to draw, by name; None for those of the largest shares.
            top: how many at most; None for what fits: 9, 6, 20 or 12.
            target: with several classes, the one to draw. None: main effects are drawn for all
                classes, a pair for the class that it matters most to, and importance for all
                classes together; `local` takes the predicted class.
        """
        from ._plots import plot  # matplotlib is slow to import, and most users do not draw

        check_is_fitted(self)
        return plot(self, mode, X, names, top, target)

    # -- outputs

    def _output_classes(self) -> tuple[Any, ...]:
        """The class of each output; none for numbers and for two classes."""
        return tuple(self.classes_) if self.model_.outputs > 1 else ()  # type: ignore[attr-defined]

    def _outputs(self, target: Any) -> list[int]:
        """Return the outputs that a target means."""
        classes = list(self._output_classes())
        if target is None:
            return list(range(self.model_.outputs))
        known = classes or list(getattr(self, "classes_", ()))[1:]
        if target not in known:
            way = f"choose one of {known}" if known else "leave it out: there is one output"
            raise ValueError(f"target={target!r} has no decision of its own; {way}")
        return [known.index(target)]

    def _said(self, output: int) -> str:
        """Say what an output is, for the labels of pictures."""
        classes = getattr(self, "classes_", None)
        if classes is None:
            link = self.link_.name  # type: ignore[attr-defined]
            return LINKS[link] + str(getattr(self, "target_name_", "target"))
        if self.model_.outputs == 1:
            return f"log odds of {classes[1]}"
        return f"softmax score of {classes[output]}"
