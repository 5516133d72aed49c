"""`write_model_report`: a model of a table as one HTML file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from .._core.files import write_whole
from ..tabular.cards import Facts, inputs_table, known_edit, limits, number
from ._sections import code, figure, listing, page, section, table

CURVES, SURFACES = 12, 6  # that are drawn, at most


def write_model_report(
    model: Any, path: str | os.PathLike[str], facts: Facts | None = None,
    edits: Sequence[dict[str, Any]] = (),
) -> None:  # fmt: skip
    """Write a fitted estimator to an HTML file that needs nothing but a browser.

    It has what is predicted, the error on rows held out where it is known, the effects with their
    shares, curves with bands and surfaces of the largest ones, proofs, edits, inputs and limits.

    Args:
        model: a fitted `RANRegressor`, `RANClassifier`, `RANOrdinal` or `RANSurvival`.
        path: where to write; the file appears whole or not at all.
        facts: of the fit, as `ran fit` has them.
        edits: as of `cards.card`; by default what the model itself knows of them.
    """
    if not hasattr(model, "measured_"):
        raise TypeError(
            f"a report of a model needs a fitted estimator of a table, got {type(model).__name__}"
        )
    target = str(getattr(model, "target_name_", "target") if facts is None else facts.target)
    effects = list(model.effects_.values())
    few = effects[: model.measured_.few()]
    heading = f"Model of {target}"
    edits = edits or [known_edit(edit) for edit in getattr(model, "edits_", ())]
    body = [
        f"<h1>{escape(heading)}</h1>",
        _said(model, effects, len(few)),
        section("Error on rows held out", *_errors(facts)),
        section("Effects", _shares(model, effects)),
        section("The largest effects", _plots(model, few)),
        section("Proved", listing(_proofs(model))),
        section("Edits by hand", _edits(edits)),
        section("Inputs", _inputs(model)),
        section("Limits", listing(_limits(facts))),
        section("Options", code("Model", repr(model)), *_origin(facts)),
        "<footer>Written by rational-anova.</footer>",
    ]
    write_whole(path, page(heading, body).encode())


def _said(model: Any, effects: Sequence[Any], few: int) -> str:
    """Return the summary's lines before the effects, in a box."""
    lines = model.summary().splitlines()[1:]
    lines = [line for line in lines if not line.startswith(("inputs: ", "  "))]
    lines = [line for line in lines if "effects, by their share" not in line]
    if few < len(effects):
        lines.append(f"{few} of {len(effects)} effects keep 99.8 % of the variance of the sum")
    return "".join(f'<p class="trust">{escape(line)}</p>' for line in lines)


def _errors(facts: Facts | None) -> list[str]:
    if facts is None or not facts.scores:
        return []
    rows = [(name, number(own), number(guess)) for name, (own, guess) in facts.scores.items()]
    which = "fitted again on all rows" if facts.refitted else "not fitted to these rows"
    words = f"{facts.held} of {facts.rows} rows, drawn at random; the model shown was {which}."
    heads = ("measure", "model", f"guess of the {facts.baseline}")
    return [table(heads, rows), f'<p class="soft">{escape(words)}</p>']


def _shares(model: Any, effects: Sequence[Any]) -> str:
    rows = [(e.name, f"{e.share:.1%}", number(e.std)) for e in effects]
    words = (
        "The share is that of the variance of the sum over the rows of the fit; std is the "
        "standard deviation of the effect, on the scale of the sum."
    )
    return table(("effect", "share", "std"), rows) + f'<p class="soft">{escape(words)}</p>'


def _plots(model: Any, effects: Sequence[Any]) -> str:
    """Return curves, then surfaces, each as a figure."""
    from ._plots import drawn

    found = []
    for kind, mode, most in (("main", "main", CURVES), ("pair", "interaction", SURFACES)):
        chosen = [effect for effect in effects if effect.kind == kind][:most]
        for place, effect in enumerate(chosen):
            picture = model.plot_anova(mode=mode, effects=[effect.name])
            picture.set_size_inches(5.0, 3.6)
            about = f"the effect of {effect.name}, {effect.share:.1%} of the variance"
            found.append(figure(drawn(picture, f"{mode}{place}", about, transparent=False), about))
    return f'<div class="plots">{"".join(found)}</div>' if found else ""


def _proofs(model: Any) -> Iterable[str]:
    for proof in getattr(model, "monotone_", {}).values():
        sign = "never falls" if proof.sign > 0 else "never rises"
        yield f"The sum {sign} with {proof.input}: {proof.verdict}."


def _edits(edits: Sequence[dict[str, Any]]) -> str:
    if not edits:
        return ""
    names = ("what", "reason", "when", "measure", "before", "after")
    shown = [name for name in names if any(edit.get(name) for edit in edits)]
    rows = [[str(edit.get(name) or "none given") for name in shown] for edit in edits]
    return table(shown, rows, numeric=len(shown))


def _inputs(model: Any) -> str:
    names = getattr(model, "feature_names_in_", None)
    columns = [f.name for f in model.features_] if names is None else list(map(str, names))
    rows = inputs_table(model, dict.fromkeys(columns, 0))
    return table(("input", "kind", "range or levels"), [(n, k, e) for n, k, _, e in rows], 3)


def _limits(facts: Facts | None) -> list[str]:
    sentences = limits("the table" if facts is None else facts.table)
    return [sentence.replace("`", "") for sentence in sentences]


def _origin(facts: Facts | None) -> list[str]:
    return [] if facts is None else [code("Command", facts.command)]
