"""A fitted model in the workspace with its edits: what it says, what an edit would do, history.

The folder of the run has `model.ran` as it was fitted, `facts.json`, `rows.npz` (the rows held out,
as the model reads them) and, once there are edits, `edits.json`. The edited model is the fitted one
with all edits done again in order, by the estimator's own methods; undo goes one back.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.files import write_whole
from ..._core.types import Array
from ._shapes import Draft, thinned, weights
from ._steps import Step, edited

if TYPE_CHECKING:
    from ...anova import Effect
    from ...tabular.cards import Facts

MODEL, FACTS, ROWS = "model.ran", "facts.json", "rows.npz"
EDITS = "edits.json"
HELD = 20_000  # rows held out that are kept, at most
POINTS = 120  # of a curve that can be edited
MOST_LEVELS = 40  # of a category that can be edited
_SHOWN = 5  # rows that an edit affects most


@dataclass(frozen=True)
class Curve:
    """What an effect of one input looks like, for one output.

    Args:
        name: of the input.
        x: points; of a category the codes of its levels.
        labels: the levels, or dates, as text; empty for numbers.
        effect: what each adds.
        low: of the 95 % band; empty without one.
        high: as `low`.
        edges: of the cells of a histogram of the rows.
        counts: share of the rows in each cell.
        gap: what a missing number adds; None if there are none.
        category: whether the points are levels.
        editable: whether its points can be given by hand, or why not.
    """

    name: str
    x: Array
    labels: tuple[str, ...]
    effect: Array
    low: Array
    high: Array
    edges: Array
    counts: Array
    gap: float | None
    category: bool
    editable: str = ""


@dataclass(frozen=True)
class Impact:
    """What an edit does to the predictions of the rows held out.

    Args:
        before: measures by name.
        after: the same, with the edit.
        rows: held out.
        moved: how many get another prediction.
        most: the largest change, in units of the prediction.
        worst: rows that change most: number of the row, inputs, target, prediction before, after.
    """

    before: Mapping[str, float]
    after: Mapping[str, float]
    rows: int
    moved: int
    most: float
    worst: tuple[tuple[Any, ...], ...]


class Session:
    """A fitted model with its edits; all pages that show it share one.

    Args:
        folder: of the run that fitted it.
    """

    def __init__(self, folder: Path) -> None:
        from ..._core.records import load
        from ...tabular.cards import Facts

        self.folder, self._lock = folder, threading.RLock()
        self.base = load(folder / MODEL)
        known = json.loads((folder / FACTS).read_text("utf-8"))
        self.gaps: dict[str, int] = known["gaps"]
        self.facts: Facts = Facts(**known["facts"])
        with np.load(folder / ROWS, allow_pickle=False) as rows:
            self.rows, self.y = rows["values"], rows["y"]
            self.numbers, self.train = rows["numbers"], rows["train"]
        self.steps: list[Step] = []
        self.done = 0  # of the steps; those beyond were taken back
        self._models = [self.base]
        self._read_edits()
        self.version = 0

    # -- what it is

    @property
    def model(self) -> Any:
        """The model with all edits that were not taken back."""
        return self._models[self.done]

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes as text; none for a number."""
        return tuple(map(str, getattr(self.base, "classes_", ())))

    @property
    def outputs(self) -> tuple[str, ...]:
        """What each decision is called: more than one for three classes and more."""
        return self.classes if len(self.classes) > 2 else ("",)

    @property
    def scale(self) -> str:
        """What effects are measured in."""
        if self.classes:
            return "score" if len(self.classes) > 2 else f"log odds of {self.classes[1]}"
        link = self.base.link_.name
        return self.facts.target if link == "identity" else f"{link}({self.facts.target})"

    def effects(self) -> list[Effect]:
        """Return the effects of the model as it is, the largest share first."""
        return list(self.model.effects_.values())

    def curve(self, name: str, output: int = 0, model: Any = None) -> Curve:
        """Return an effect of one input; of the model as it is, or of another one."""
        model = model or self.model
        effect = model.effects_[name]
        seen, feature = effect.seen[0], model.model_.features[effect.axes[0]]
        if seen.category:
            x = np.arange(len(seen.levels), dtype=float)
        else:
            x = thinned(seen.points(POINTS))
        values = self._column(effect, x)
        y, spread = effect.at(values)[:, output], effect.spread(values)
        band = 1.96 * spread[:, output] if spread is not None else np.zeros(0)
        gap = None
        if not seen.category and seen.gaps:
            gap = float(effect.at(self._column(effect, np.array([np.nan])))[0, output])
        labels: tuple[str, ...] = ()
        if seen.category:
            labels = tuple(map(str, seen.levels))
        elif seen.part == "day":
            labels = tuple(str(day)[:10] for day in seen.readable(x))
        why = ""
        if feature.kind == "date" and feature.part != "day":
            why = f"the {feature.part} of a date has no points that can be given by hand"
        elif len(x) > MOST_LEVELS and seen.category:
            why = f"{name} has {len(x)} levels, more than the {MOST_LEVELS} that fit on a page"
        elif len(x) < 2:
            why = f"{name} has one value only"
        edges, counts = _histogram(seen, x)
        return Curve(
            name, x, labels, y, y - band if len(band) else band, y + band if len(band) else band,
            edges, counts, gap, seen.category, why,
        )  # fmt: skip

    def draft(self, name: str, output: int = 0) -> Draft:
        """Return a draft of an effect of one input, without a change."""
        effect, curve = self.model.effects_[name], self.curve(name, output)
        if curve.editable:
            raise ValueError(curve.editable)
        seen = effect.seen[0].observed
        weight = weights(curve.x, seen.points, seen.weight)
        return Draft.of(curve.x, curve.effect, weight, curve.category)

    # -- predictions

    def decision(self, values: Array, model: Any = None) -> Array:
        """Return the sum of all effects at rows, (rows, outputs)."""
        from ...tabular.model import Rows

        found: Array = (model or self.model).model_.decision(Rows(values))
        return found

    def predicted(self, f: Array) -> Array:
        """Return predictions for decisions: numbers, or the probability of each class."""
        from scipy.special import softmax

        if not self.classes:
            return np.asarray(self.base.link_.mean(f[:, 0]))
        return softmax(np.concatenate([np.zeros_like(f), f], 1) if f.shape[1] == 1 else f, axis=1)

    def measures(self, f: Array) -> dict[str, float]:
        """Return the measures of decisions on the rows held out."""
        from ...tabular.cards import measures

        if not len(self.y):
            return {}
        classes = np.arange(len(self.classes)) if self.classes else None
        found = measures(self.predicted(f), self.y, self.train, classes)
        return {name: pair[0] for name, pair in found.items()}

    def impact(self, after: Array, before: Array | None = None) -> Impact:
        """Return what other decisions on the rows held out mean."""
        before = self.decision(self.rows) if before is None else before
        old, new = self.predicted(before), self.predicted(after)
        if self.classes:
            at = 1 if len(self.classes) == 2 else int(np.abs(new - old).sum(0).argmax())
            old, new = old[:, at], new[:, at]
        change = np.abs(new - old)
        moved = change > 1e-6 * (np.ptp(old) or 1.0) if len(old) else change > 0
        order = np.argsort(-change, kind="stable")[:_SHOWN]
        worst = [
            (int(self.numbers[k]) + 1, self.readable(self.rows[k]), self._target(k), float(old[k]),
             float(new[k]))
            for k in order if moved[k]
        ]  # fmt: skip
        return Impact(
            self.measures(before), self.measures(after), len(change), int(moved.sum()),
            float(change.max(initial=0.0)), tuple(worst),
        )  # fmt: skip

    def preview(self, name: str, draft: Draft, output: int = 0) -> Impact:
        """Return what a draft would do, without an edit."""
        before = self.decision(self.rows)
        after = before.copy()
        after[:, output] += draft.at(self.rows[:, self.model.effects_[name].axes[0]])
        return self.impact(after, before)

    def readable(self, row: Array) -> dict[str, str]:
        """Return the inputs of a row as text."""
        found = {}
        for feature, value in zip(self.base.model_.features, row, strict=True):
            if feature.category:
                known = int(value) < len(feature.levels)
                found[feature.name] = str(feature.levels[int(value)]) if known else "(not seen)"
            elif np.isnan(value):
                found[feature.name] = "missing"
            elif feature.part == "day":
                found[feature.name] = str(np.datetime64(int(value), "D"))
            else:
                found[feature.name] = f"{value:.6g}"
        return found

    def middle(self) -> Array:
        """Return a row of medians and commonest levels."""
        found = []
        for effect_input in self.base.measured_.inputs:
            points, weight = effect_input.points, effect_input.weight
            if len(weight):
                found.append(float(points[int(weight.argmax())]))
            else:
                found.append(float(points[len(points) // 2]) if len(points) else np.nan)
        return np.array(found)

    def between(self, row: Array) -> str:
        """Return the 95 % band of the mean of a number's prediction at a row, for people."""
        from ...tabular.model import Rows

        f = self.decision(row[None])[:, 0]
        away = 1.96 * self.model.model_.spread(Rows(row[None]))[:, 0]
        low, high = self.base.link_.mean(f - away)[0], self.base.link_.mean(f + away)[0]
        return f"{low:.5g} and {high:.5g}"

    def explained(self, row: Array, output: int = 0) -> list[tuple[str, float]]:
        """Return what each effect adds at a row, the largest first."""
        parts = [(one.name, float(one.at(row[None])[0, output])) for one in self.effects()]
        return sorted(parts, key=lambda part: -abs(part[1]))

    # -- edits

    def keep(self, step: Step) -> Impact:
        """Do an edit and record it; what was taken back before is forgotten.

        Raises:
            ValueError: the model cannot be edited so.
        """
        with self._lock:
            before = self.decision(self.rows)
            changed = edited(self.model, step)
            found = self.impact(self.decision(self.rows, changed), before)
            first = next(iter(found.before), "")
            step = replace(
                step, when=time.strftime("%Y-%m-%d %H:%M"), measure=first, moved=found.moved,
                before=f"{found.before[first]:.4g}" if first else "",
                after=f"{found.after[first]:.4g}" if first else "",
            )  # fmt: skip
            self.steps[self.done :] = [step]
            self._models[self.done + 1 :] = [changed]
            self._at(self.done + 1)
            return found

    def keep_draft(self, name: str, draft: Draft, reason: str, output: int = 0) -> Impact:
        """Keep a draft of a curve as an edit."""
        if not draft.changed:
            raise ValueError("the curve was not changed yet")
        curve = self.curve(name, output)
        values: list[tuple[float | None, list[float]]] = []
        for k, x in enumerate(draft.x):
            each = self._each(name, float(x))
            each[output] = float(draft.after[k])
            values.append((float(x), each))
        if curve.gap is not None:
            values.append((None, self._each(name, float("nan"))))
        said = draft.said
        if curve.category:
            said = tuple(
                f"{label}: {old:.4g} to {new:.4g}"
                for label, old, new in zip(curve.labels, draft.before, draft.after, strict=True)
                if old != new
            )
        which = f" ({self.outputs[output]})" if len(self.outputs) > 1 else ""
        what = f"{name}{which}: {', '.join(said)}"
        return self.keep(Step("fix_term", name, tuple(values), what=what, reason=reason))

    def drop(self, name: str, reason: str) -> Impact:
        """Take an effect out of the model."""
        return self.keep(Step("drop_term", name, what=f"{name}: dropped", reason=reason))

    def monotone(self, name: str, sign: int, reason: str) -> Impact:
        """Make an effect rise or fall everywhere, with a proof; its pairs go first."""
        way = "rises" if sign > 0 else "falls"
        pairs = self.pairs_of(name)
        with self._lock:
            start, steps, models = self.done, list(self.steps), list(self._models)
            try:
                for pair in pairs:
                    self.keep(Step("forbid_pair", pair, what=f"{pair}: forbidden, so that {name} "
                                   "can be proved", reason=reason))  # fmt: skip
                return self.keep(Step("make_monotone", name, sign=sign, reason=reason,
                                      what=f"{name}: {way} everywhere, proved"))  # fmt: skip
            except ValueError:
                self.steps, self._models = steps, models
                self._at(start)
                raise

    def pairs_of(self, name: str) -> list[str]:
        """Return the pairs that an input takes part in."""
        return [e.name for e in self.effects() if e.kind == "pair" and name in e.inputs]

    def proof(self, name: str) -> Any:
        """Return what can be shown about the sign of an input's slope; None where nothing can."""
        known = getattr(self.model, "monotone_", {})
        if name in known:
            return known[name]
        effect = self.model.effects_[name]
        if self.model.model_.outputs > 1 or effect.seen[0].category or self.pairs_of(name):
            return None
        curve = self.curve(name)
        sign = 1 if curve.effect[-1] >= curve.effect[0] else -1
        return self.model.prove_monotone(name, sign)

    def undo(self) -> None:
        """Take the last edit back."""
        self._at(max(self.done - 1, 0))

    def redo(self) -> None:
        """Do the edit again that was taken back last."""
        self._at(min(self.done + 1, len(self.steps)))

    # -- what it gives

    def card(self) -> str:
        """Return the card of the model as it is, with its edits."""
        from ...tabular.cards import card

        edits = [asdict(step) for step in self.steps[: self.done]]
        return card(self.facts, self.model, self.gaps, edits)

    def export(self, kind: str, dialect: str = "ansi") -> tuple[str, bytes]:
        """Return name and content of a file: `ran`, `sql` (in a dialect), `python`, `onnx`, `card`.

        Raises:
            ValueError: there is no such file of this model; the message says why.
        """
        import tempfile

        if kind == "sql":
            return "model.sql", self.model.to_sql(dialect).encode()
        if kind == "python":
            return "model.py", self.model.to_python().encode()
        if kind == "card":
            return "model.card.md", self.card().encode()
        if kind not in ("ran", "onnx"):
            raise ValueError(f"there is no export {kind!r}")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"model.{kind}"
            self.model.save(path) if kind == "ran" else self.model.to_onnx(path)
            return path.name, path.read_bytes()

    # -- help

    def _at(self, done: int) -> None:
        with self._lock:
            while len(self._models) <= done:  # after a reload, as they are asked for
                self._models.append(edited(self._models[-1], self.steps[len(self._models) - 1]))
            self.done = done
            self.version += 1
            content = {"done": done, "steps": [asdict(step) for step in self.steps]}
            write_whole(self.folder / EDITS, json.dumps(content).encode())

    def _read_edits(self) -> None:
        try:
            known = json.loads((self.folder / EDITS).read_text("utf-8"))
        except FileNotFoundError:
            return
        self.steps = [Step(**step) for step in known["steps"]]
        for step in self.steps[: known["done"]]:
            self._models.append(edited(self._models[-1], step))
        self.done = known["done"]

    def _column(self, effect: Effect, x: Array) -> Array:
        values = np.zeros((len(x), effect.columns))
        values[:, effect.axes[0]] = x
        return values

    def _each(self, name: str, x: float) -> list[float]:
        """Return what an effect adds at a value, of every output."""
        effect = self.model.effects_[name]
        found: list[float] = effect.at(self._column(effect, np.array([x])))[0].tolist()
        return found

    def _target(self, row: int) -> str:
        return self.classes[int(self.y[row])] if self.classes else f"{self.y[row]:.6g}"


_OPEN: dict[str, Session] = {}
_MOST_OPEN = 8
_OPENING = threading.Lock()


def opened(folder: Path) -> Session:
    """Return the session of a run; two pages that show the same run share it."""
    with _OPENING:
        key = str(folder)
        if key not in _OPEN:
            while len(_OPEN) >= _MOST_OPEN:
                _OPEN.pop(next(iter(_OPEN)))
            _OPEN[key] = Session(folder)
        return _OPEN[key]


def _histogram(seen: Any, x: Array) -> tuple[Array, Array]:
    """Return edges of cells and the share of the rows in each."""
    observed = seen.observed
    if len(observed.weight):
        if seen.category or len(x) < 2:
            return np.append(x - 0.5, x[-1] + 0.5), observed.weight[: len(x)]
        near = np.diff(x).min() / 2
        edges = np.ravel([x - near, x + near], "F")
        counts = np.zeros(2 * len(x) - 1)
        counts[::2] = observed.weight[: len(x)]
        return edges, counts
    low, high = observed.shown
    edges = np.linspace(low, high, 31)
    level = np.interp(edges, observed.points, np.linspace(0, 1, len(observed.points)))
    return edges, np.diff(level)
