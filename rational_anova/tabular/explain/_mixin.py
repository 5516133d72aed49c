"""Explanations: effects, their shares, what adds up to a prediction, and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from ..._core import checks as check
from ...anova import Anova, Effect, Effects, Local, plot, short
from ...tables import as_frame
from ..deep import has_deep_part
from ..model import Additive, Rows
from ._effects import effects_of, inputs_of, poles_of
from ._stability import stability
from ._statistics import Measured, measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINKS = {"identity": "", "log": "log ", "sqrt": "square root of ", "logit": "log odds of "}


NETWORKS = "(networks)"  # the column of what the deep part adds


_MOST = 12  # lines or names of one kind in a summary


def _listed(head: str, names: Sequence[str], count: int) -> str:
    more = f" and {count - _MOST} more" if count > _MOST else ""
    return f"{head}{', '.join(names[:_MOST])}{more}"


class ExplainMixin:
    """What an estimator with `model_` and `measured_` can say about itself."""

    model_: Additive
    measured_: Measured
    _explained = "deviance"  # what `deviance_explained_` is a share of

    @property
    def effects_(self) -> Effects:
        """The effects by name (`age`, `age x income`), the largest share first.

        The share of an effect is the part of the variance of f over the training rows that goes
        with it; shares are between 0 and 1 and add up to one. Effects are purified: a pair has mean
        zero and is orthogonal to the main effects of both its inputs. With independent inputs
        shares are the Sobol indices. `rational_anova.anova` has the definitions.
        """
        check_is_fitted(self)
        inputs = inputs_of(self.model_, self.measured_)
        return effects_of(self.model_, self.measured_, self._output_classes(), inputs)

    def explain_global(self, effects: str = "all") -> pd.DataFrame:
        """Return a table of the effects, the largest share first.

        Args:
            effects: `all`, or `few`: the largest that together keep 99.8 % of the variance of f;
                the others are one row, of the kind `rest`. `plot_anova(mode="tradeoff")` draws how
                much so many effects keep.

        Returns:
            Columns `effect`, `kind` (`main` or `pair`), `inputs`, `share` (see `effects_`), `std`
            (on the scale of f) and `covariance`, which is Cov(effect, f)/Var(f): where it is far
            from the share, the effect goes together with others or takes from f what they add.
            With several classes there is a row for each effect and class, with a column `class`;
            the order is that of the effects' overall shares.
        """
        lines: list[dict[str, Any]] = []
        check.choice(effects, ("all", "few"), "effects")
        every = list(self.effects_.values())
        few = self.measured_.few() if effects == "few" else len(every)
        for effect in every[:few]:
            line = {"effect": effect.name, "kind": effect.kind, "inputs": effect.inputs}
            for k in range(effect.outputs):
                which = {"class": effect.classes[k]} if effect.classes else {}
                numbers = {"share": float(effect.shares[k]), "std": float(effect.stds[k])}
                if effect.covariances is not None:
                    numbers["covariance"] = float(effect.covariances[k])
                lines.append(line | which | numbers)
        if few < len(every):
            lines += self._rest(every[few:])
        names = ["effect", "kind", "inputs", "share", "std", "covariance"]
        if self._output_classes():
            names.insert(3, "class")
        return pd.DataFrame(lines, columns=names)

    def _rest(self, effects: list[Effect]) -> list[dict[str, Any]]:
        """Return the row, one for each class, that stands for effects which are not shown."""
        lines = []
        for k in range(self.model_.outputs):
            line: dict[str, Any] = {"effect": f"{len(effects)} more effects", "kind": "rest"}
            line |= {"inputs": (), "share": float(sum(e.shares[k] for e in effects))}
            line["covariance"] = float(
                sum(np.nan if e.covariances is None else e.covariances[k] for e in effects)
            )
            classes = self._output_classes()
            lines.append(line | ({"class": classes[k]} if classes else {}))
        return lines

    def stability(self, X: Any, y: Any, times: int = 3) -> pd.DataFrame:
        """Fit other models to halves of rows, and return how far their effects agree.

        Args:
            X: a table, that of the fit for example.
            y: its target.
            times: two models are fitted so often, to one half of the rows each.

        Returns:
            Columns `effect`, `share`, `agreement` of the two halves on the effect (1: the same; 0:
            unlike, or one half has none) and `found`, the share of the models that have it;
            `attrs["score"]` is the agreement on all effects together.
        """
        check_is_fitted(self)
        seed: int = self._seed()  # type: ignore[attr-defined]
        return stability(self, X, y, check.integer(times, "times", 1), seed)

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
        special = [f for f in features if f.special]
        texts = [f"{f.name} ({', '.join(f'{code:g}' for code in f.special)})" for f in special]
        if texts:
            lines.append(_listed("special values with effects of their own: ", texts, len(texts)))
        share = getattr(self, "deviance_explained_", None)
        if share is not None:
            lines.append(
                f"explains {share:.1%} of the {self._explained} of the rows it was fitted to"
            )
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
        parts = [
            _listed("predicts ", names, len(names))
            if (names := self._output_names())
            else "predicts a number"
        ]
        if self._loss() != "squared":
            numbers = getattr(self, "loss_numbers_", {})
            parts.append(f"loss {self._loss().replace('_', ' ')}")
            parts += [f"{key} {value}" for key, value in numbers.items() if key != "quantiles"]
        return ", ".join([*parts, *([] if name == "identity" else [f"link {name}"])])

    def _loss(self) -> str:
        """The name of the loss."""
        return str(getattr(self, "loss", "squared"))

    def _output_names(self) -> list[str]:
        """What each of several outputs that are no classes is called."""
        names = [str(name) for name in getattr(self, "output_names_", ())]
        target = str(getattr(self, "target_name_", "target"))
        if self._loss() == "quantile":
            return [f"quantile {name} of {target}" for name in names]
        return names

    def explain_local(self, X: Any, output: Any = None, total: str = "prediction") -> pd.DataFrame:
        """Return what each effect adds to f at each row of X.

        Args:
            X: a table.
            output: with several classes, the one whose decision is taken apart; None for all.
            total: name of the column of sums.

        Returns:
            One row for each row of X, with its index. Columns: `intercept`, each effect (the
            largest share first), for a deep model what its networks add, and the sum, which is
            `predict_link` or `decision_function`.
            With several classes and no `output` the columns have two levels, class and effect.
        """
        rows: Rows = self._rows(X)  # type: ignore[attr-defined]
        effects = self.effects_
        if total == "intercept" or total in effects:
            raise ValueError(f"total={total!r} is the name of another column; choose another one")
        values = {name: effect.at(rows.values) for name, effect in effects.items()}
        deep = None
        if has_deep_part(self):
            deep = self._decision(rows) - self.model_.decision(rows)  # type: ignore[attr-defined]
        tables = {}
        for k in self._outputs(output):
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
        X: Any = None,
        mode: str = "main",
        effects: Sequence[str] | str | None = None,
        top: int | None = None,
        output: Any = None,
        names: Sequence[str] | None = None,
    ) -> Figure:
        """Draw the effects; returns a matplotlib `Figure`, to be saved with `savefig`.

        `RAN.plot_anova` has the same arguments and modes.

        Args:
            X: a table over whose rows shares and ranges are taken; None for the training rows.
                For `local`, a table of one row.
            mode: `main`: curves (bars for categories) with 95 % bands, the data along the bottom.
                `interaction`: pairs as heat maps; pale where there were no rows. `importance`:
                shares of the variance as bars. `heatmap`: the same as a matrix of the inputs.
                `local`: what adds up to the prediction for one row. `poles`: the complex poles of
                the heads around the data of each number. `tradeoff`: the share of the variance that
                is left, by the number of effects.
            effects: those to draw, by name; `few`: those that together keep 99.8 % of the variance;
                `all`, or None, for those of the largest shares.
            top: how many at most; None for what fits: 9, 6, 20, 12 inputs, 12, 6 inputs.
            output: with several classes, the one to draw. None: main effects are drawn for all
                classes, a pair for the class that it matters most to, shares for all classes
                together; `local` takes the predicted class.
            names: other names for the inputs, one for each.

        Example:
            >>> import rational_anova as ra
            >>> model = ra.RANRegressor().fit([[0.0], [1.0], [2.0]] * 9, [0.0, 1.0, 2.0] * 9)
            >>> model.plot_anova(mode="importance").axes[0].get_xlabel()
            'share of the variance of target'
        """
        check_is_fitted(self)
        if isinstance(X, str):
            raise TypeError(f"X must be a table, got {X!r}; a mode is given as mode={X!r}")
        outputs = None if output is None else self._outputs(output)
        if isinstance(effects, str) and effects in ("few", "all") and effects not in self.effects_:
            kinds = {"main": "main", "interaction": "pair"}
            found = list(self.effects_.values())
            found = found[: self.measured_.few()] if effects == "few" else found
            chosen = [e.name for e in found if e.kind == kinds.get(mode, e.kind)]
            effects, top = (chosen, top) if effects == "few" and chosen else (None, top)
        return plot(self._anova(X, mode, names), mode, effects, top, outputs)

    def _anova(self, X: Any, mode: str, names: Any) -> Anova:
        """Return the model as pictures know it."""
        measured = self.measured_
        if X is not None and mode != "local":
            rows: Rows = self._rows(X)  # type: ignore[attr-defined]
            measured = measure(self.model_, rows, np.ones(len(rows)))
        inputs = inputs_of(self.model_, measured, names)
        classes = self._output_classes()
        effects = effects_of(self.model_, measured, classes, inputs)
        return Anova(
            inputs, effects, measured.total, tuple(map(self._said, range(self.model_.outputs))),
            classes, "all softmax scores", lambda: poles_of(self.model_),
            self._local(X, effects) if mode == "local" else None, measured.left,
        )  # fmt: skip

    def _local(self, X: Any, effects: Effects) -> Local:
        """Return what adds up to f at the one row of X."""
        if X is None or len(X) != 1:
            got = "none" if X is None else f"{len(X)} rows"
            raise ValueError(f"mode='local' draws one row, got {got}; pass X=table.iloc[[k]]")
        rows: Rows = self._rows(X)  # type: ignore[attr-defined]
        parts = {name: effect.at(rows.values)[0] for name, effect in effects.items()}
        if has_deep_part(self):
            whole = self._decision(rows)  # type: ignore[attr-defined]
            parts[NETWORKS] = (whole - self.model_.decision(rows))[0]
        texts = {name: self._with_values(effect, X) for name, effect in effects.items()}
        return Local(parts, texts, self.model_.intercept)

    def _with_values(self, effect: Effect, X: Any) -> str:
        """Write an effect's inputs with the values that a row has."""
        frame = as_frame(X)[0]
        texts = []
        for axis, one in zip(effect.axes, effect.seen, strict=True):
            value = frame.iloc[0, self.model_.features[axis].column]
            if pd.isna(value):
                text = "missing"
            elif isinstance(value, pd.Timestamp):
                text = str(value.date())
            elif isinstance(value, str) or one.category:
                text = short(value, 14)
            else:
                text = f"{value:.4g}" if abs(value) < 1e4 or value % 1 else f"{value:.0f}"
            texts.append(f"{short(one.name, 20)} = {text}")
        return ", ".join(texts)

    # -- outputs

    def _output_classes(self) -> tuple[Any, ...]:
        """The class or target of each output; none where there is one."""
        if self.model_.outputs == 1:
            return ()
        return tuple(getattr(self, "output_names_", ())) or tuple(self.classes_)  # type: ignore[attr-defined]

    def _outputs(self, output: Any) -> list[int]:
        """Return the positions of an output that is given by its class; of all for None."""
        classes = list(self._output_classes())
        if output is None:
            return list(range(self.model_.outputs))
        known = classes or list(getattr(self, "classes_", ()))[1:]
        if output not in known:
            way = f"choose one of {known}" if known else "leave it out: there is one output"
            raise ValueError(f"output={output!r} has no decision of its own; {way}")
        return [known.index(output)]

    def _said(self, k: int) -> str:
        """Say what an output is, for the labels of pictures."""
        classes = getattr(self, "classes_", None)
        if classes is None:
            link = self.link_.name  # type: ignore[attr-defined]
            target = str(getattr(self, "target_name_", "target"))
            return LINKS[link] + (self._output_names() or [target])[k]
        if self.model_.outputs == 1:
            return f"log odds of {classes[1]}"
        return f"softmax score of {classes[k]}"
