"""The card of a model: what it was fitted to, how good it is, what it does and where it ends."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd

from ..._core.display import code, line, markdown

_PACKAGES = ("rational-anova", "scikit-learn", "numpy", "pandas")
_LEVELS = 8  # of a category that are shown


@dataclass(frozen=True)
class Facts:
    """What a fit knows that the model does not.

    Args:
        table: name of the file.
        target: the column that is predicted.
        rows: with a target.
        held: rows held out.
        refitted: whether the model was fitted again on all rows.
        task: `regression` or `classification`.
        why: it is this task.
        scores: measures on the held-out rows, of the model and of a constant guess.
        seconds: that it took.
        notes: on the table.
        command: that made the model.
        agreement: of the effects with those of the fit without the rows held out.
    """

    table: str
    target: str
    rows: int
    held: int
    refitted: bool
    task: str
    why: str
    scores: dict[str, tuple[float, float]]
    seconds: float
    notes: list[str]
    command: str
    agreement: float | None = None

    @property
    def baseline(self) -> str:
        """What the constant guess is called."""
        return "mean" if self.task == "regression" else "majority"


def gaps_of(frame: pd.DataFrame) -> dict[str, int]:
    """Return how many cells of each column are missing, in the order of the columns."""
    return {str(name): int(frame[name].isna().sum()) for name in frame.columns}


def card(
    facts: Facts, model: Any, gaps: Mapping[str, int], edits: Sequence[Mapping[str, Any]] = ()
) -> str:
    """Return the card as Markdown.

    Args:
        facts: of the fit.
        model: that was fitted, and perhaps edited.
        gaps: missing cells of each input, of `gaps_of`.
        edits: of the model, in order: `what` was done, the `reason`, `when`, and the error on the
            rows held out `before` and `after`, with the `measure` they are of; by default what
            the model itself knows of them.
    """
    edits = edits or [known_edit(edit) for edit in getattr(model, "edits_", ())]
    blocks = [
        f"# Model of {markdown(facts.target)}",
        f"A `{type(model).__name__}`: a sum of effects of one or two inputs, made of rational "
        f"functions.{_link(model)}{_loss(model)}",
        "## Data",
        f"{code(facts.table)}: {facts.rows} rows, {len(gaps)} inputs.",
        *(f"Note: {markdown(note)}." for note in facts.notes),
        _table(("input", "kind", "gaps", "range or levels"), _inputs(model, gaps)),
        "## Task",
        f"{facts.task.capitalize()} of {code(facts.target)}: {markdown(facts.why)}."
        f"{_classes(model)}",
        "## Error on rows held out",
        *_errors(facts),
        "## Effects",
        "The share is that of the variance of the model's sum over the rows it was fitted to; "
        "`std` is the standard deviation of the effect, on the scale of the sum."
        f"{_agreement(facts)}",
        _table(("effect", "share", "std"), _effects(model)),
        *_edits(edits),
        "## Limits",
        "\n".join(f"- {limit}" for limit in _limits(facts)),
        "## Origin",
        f"Made on {datetime.date.today().isoformat()} in {facts.seconds:.1f} s with\n\n"
        f"    {line(facts.command)}",
        _table(("package", "version"), [(name, metadata.version(name)) for name in _PACKAGES]
               + [("python", platform.python_version())]),
    ]  # fmt: skip
    return "\n\n".join(blocks) + "\n"


def effects_of(model: Any) -> list[tuple[str, float, float]]:
    """Return name, share and standard deviation of the effects, the largest share first."""
    return [(effect.name, effect.share, effect.std) for effect in model.effects_.values()]


def number(value: float) -> str:
    """Return a measure for people."""
    return "-" if np.isnan(value) else f"{value:.4g}"


def _table(head: Iterable[str], lines: Iterable[Iterable[Any]]) -> str:
    def row(cells: Iterable[Any]) -> str:
        return "| " + " | ".join(markdown(" ".join(str(c).split())) for c in cells) + " |"

    names = list(head)
    rule = "| " + " | ".join("---" for _ in names) + " |"
    return "\n".join([row(names), rule, *map(row, lines)])


def _link(model: Any) -> str:
    link = getattr(model, "link_", None)
    if link is None or link.name == "identity":
        return ""
    return f" The effects add up on the scale of {link.name}(target)."


def _loss(model: Any) -> str:
    """Say which loss was fitted, its own numbers, and how much of it the effects save."""
    name = getattr(model, "loss", None)
    numbers = "".join(f", {k} {v}" for k, v in getattr(model, "loss_numbers_", {}).items())
    said = "" if name in (None, "squared") else f" Its loss is {name.replace('_', ' ')}{numbers}."
    share = getattr(model, "deviance_explained_", None)
    if share is None:
        return said
    return f"{said} It explains {share:.1%} of the {model._explained} of the rows it was fitted to."


def _classes(model: Any) -> str:
    classes = getattr(model, "classes_", None)
    return "" if classes is None else f" Classes: {', '.join(code(str(c)) for c in classes)}."


def _errors(facts: Facts) -> list[str]:
    if not facts.scores:
        return ["No rows were held out: the error on new rows is unknown."]
    which = "The model was then fitted again on all rows." if facts.refitted else (
        "The model was not fitted to these rows.")  # fmt: skip
    lines = [(name, *map(number, both)) for name, both in facts.scores.items()]
    table = _table(("measure", "model", f"guess of the {facts.baseline}"), lines)
    return [f"{facts.held} of {facts.rows} rows, drawn at random. {which}", table]


def _effects(model: Any) -> list[tuple[str, str, str]]:
    return [(name, f"{share:.1%}", number(std)) for name, share, std in effects_of(model)]


def known_edit(edit: Mapping[str, Any]) -> dict[str, str]:
    """Return what `edits_` knows of an edit, for people."""
    way = "rise" if edit.get("sign", 1) > 0 else "fall"
    said = {
        "drop_term": "dropped the effect of {}",
        "fix_term": "gave {} a curve by hand",
        "make_monotone": f"made the effect of {{}} {way} everywhere",
        "forbid_pair": "forbade the pair {}",
    }
    return {"what": said[edit["edit"]].format(edit["term"]), "reason": edit.get("reason", "")}


def _edits(edits: Sequence[Mapping[str, Any]]) -> list[str]:
    if not edits:
        return []
    names = ("what", "reason", "when", "measure", "before", "after")
    shown = [name for name in names if any(edit.get(name) for edit in edits)]
    lines = [[at + 1, *(edit.get(name) or "none given" for name in shown)]
             for at, edit in enumerate(edits)]  # fmt: skip
    blocks = [
        "## Edits by hand",
        "The model above was changed after the fit, in this order.",
        _table(("", *shown), lines),
    ]
    if "after" in shown:
        blocks.append(
            "Before and after are errors on the held-out rows. Edits chosen by looking at "
            "them may have a higher error on new rows."
        )
    return blocks


def _agreement(facts: Facts) -> str:
    if facts.agreement is None:
        return ""
    return (
        " The effects of the fit without the held-out rows agree with these to "
        f"{facts.agreement:.2f} (1: identical, 0: unrelated)."
    )


def _inputs(model: Any, gaps: Mapping[str, int]) -> list[tuple[str, str, int, str]]:
    lines = []
    for at, name in enumerate(gaps):
        features = [f for f in model.features_ if f.column == at]
        lines.append((name, features[0].kind, gaps[name], _extent(features[0])))
    return lines


def _extent(feature: Any) -> str:
    if feature.category:
        shown = ", ".join(str(level) for level in feature.levels[:_LEVELS])
        more = len(feature.levels) - _LEVELS
        return f"{shown}, and {more} more" if more > 0 else shown
    if feature.clip is None:
        return "none"
    if feature.kind == "date":
        days = (pd.Timestamp(0) + pd.to_timedelta(day, unit="D") for day in feature.clip)
        return " to ".join(day.isoformat(" ", "minutes") for day in days)
    special = ", ".join(f"{code:g}" for code in feature.special)
    text = " to ".join(f"{end:g}" for end in feature.clip)
    return f"{text}; special: {special}" if special else text


def _limits(facts: Facts) -> list[str]:
    return [
        "Beyond the range of an input in the table above its effects stay as they are at the "
        "border: the model does not extrapolate.",
        "A level of a category that was not seen has the effect of none of the levels; one seen "
        "in few rows is drawn towards that.",
        "A missing number has an effect of its own where the rows had gaps, else the mean of its "
        "effects; a missing category is a level like others.",
        "Effects describe the table; they are not causes. Inputs that go together share what they "
        "explain.",
        f"New rows are assumed to come from where {code(facts.table)} came from; the error above "
        "is for such rows.",
    ]
