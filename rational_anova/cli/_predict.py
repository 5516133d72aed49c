"""`ran predict`: a model file and a table to predictions, as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._core.display import cell, visible
from ._options import Exclude, Inputs, TablePath, Where, check_outputs

if TYPE_CHECKING:
    import pandas as pd


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model written by ran fit, or by save().")
    ],
    path: TablePath,
    inputs: Inputs = None,
    exclude: Exclude = None,
    where: Where = None,
    out: Annotated[Path | None, typer.Option(help="Where to write; printed if left out.")] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = (
        False
    ),
    std: Annotated[bool, typer.Option("--std", help="Add the standard error of the mean.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Add the contribution of each effect.")
    ] = False,
    exposure: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="What multiplies the mean, as in ran fit.")
    ] = None,
) -> None:
    """Predict the rows of a table with a saved model; columns that it does not know are ignored."""
    from .._core.files import write_whole
    from .._core.records import load_kind
    from ._fit import known_columns
    from ._tables import as_fitted, read_chosen

    check_outputs(out, inputs=[model, path])
    found = load_kind(model, "estimator")
    chosen = read_chosen(path, None, inputs, exclude, where)
    known = known_columns(chosen.frame, None, "auto", exposure, None)
    frame = as_fitted(chosen.frame[chosen.inputs], found)
    result = predictions(found, frame, proba, std, explain, known)
    content = for_spreadsheets(result).to_csv(index=False).encode()
    if out is not None:
        write_whole(out, content)
    else:
        shown = visible(content.decode(errors="surrogateescape"))
        typer.echo(shown.encode(), nl=False)  # in UTF-8, whatever the terminal takes


def predictions(
    model: Any, frame: pd.DataFrame, proba: bool, std: bool, explain: bool,
    known: dict[str, Any] | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return predictions and what goes with them, a row for each row of the table."""
    import numpy as np
    import pandas as pd

    from ..tabular import RANRegressor

    X: Any = frame if hasattr(model, "feature_names_in_") else frame.to_numpy()
    classes, known = hasattr(model, "classes_"), known or {}
    if (std or known) and not isinstance(model, RANRegressor) and not classes:
        raise ValueError(f"--std and --exposure are not there for a {type(model).__name__}")
    if known and classes:
        raise ValueError("--exposure is for numbers; this model predicts classes")
    if proba and not classes:
        raise ValueError("--proba is for classes; this model predicts numbers: use --std")
    if std and classes:
        raise ValueError("--std is for numbers; this model predicts classes: use --proba")
    names = list(getattr(model, "output_names_", ())) or [""]

    def named(what: str, values: Any) -> dict[str, Any]:
        each = np.reshape(values, (len(frame), -1)).T
        return {f"{what} {n}".strip(): v for n, v in zip(names, each, strict=True)}

    if std:
        mean, spread = model.predict(X, return_std=True, **known)
        columns = named("prediction", mean) | named("std", spread)
    else:
        columns = named("prediction", model.predict(X, **known))
    if proba:
        shares = np.asarray(model.predict_proba(X))
        columns |= {f"proba: {c}": p for c, p in zip(model.classes_, shares.T, strict=True)}
    result = pd.DataFrame(columns, index=frame.index)
    if not explain:
        return result
    parts = model.explain_local(X)
    parts.columns = [f"effect: {_flat(name)}" for name in parts.columns]
    parts.index = frame.index
    return pd.concat([result, parts], axis=1)


def for_spreadsheets(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table of which no cell and no name is a formula to a spreadsheet."""
    from pandas.api.types import is_numeric_dtype

    safe = frame.apply(lambda column: column if is_numeric_dtype(column) else column.map(cell))
    return safe.set_axis([cell(name) for name in frame.columns], axis=1)


def _flat(name: Any) -> str:
    if isinstance(name, tuple):
        return f"{_flat(name[1])} [{name[0]}]"
    return "(sum)" if name == "prediction" else str(name)  # it may be on another scale
