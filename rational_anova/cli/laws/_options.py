"""The options that the commands on laws share, and how what is typed is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

NOISE_MODELS = ("auto", "constant", "proportional", "log-normal", "Poisson")
LOSSES = ("squares", "robust")

Sigma = Annotated[
    str | None,
    typer.Option(metavar="COLUMN|NUMBER", help="Standard error of the target, if it is known."),
]
XSigma = Annotated[
    list[str] | None,
    typer.Option(help="Standard error of an input, as T=0.5 or T=column. Repeatable."),
]
By = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of experiments with one law; which parameters differ is selected by BIC.",
    ),
]
Loss = Annotated[
    str, typer.Option(help="squares, or robust, which identifies outliers and leaves them out.")
]
NoiseModel = Annotated[str, typer.Option(help="Noise model: " + ", ".join(NOISE_MODELS) + ".")]
UnitsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=UNIT",
        help="A unit, as T=K; by default from headers such as T [K] or p (bar). Repeatable.",
    ),
]
NoUnits = Annotated[bool, typer.Option("--no-units", help="Treat headers as names only.")]
Constant = Annotated[
    list[str] | None, typer.Option(help="A known constant, as R=8.314. Repeatable.")
]
Json = Annotated[Path | None, typer.Option(help="Write the law, for Law.load().")]
Report = Annotated[Path | None, typer.Option(help="Write an HTML report with plots.")]
Plot = Annotated[Path | None, typer.Option(help="Write a plot, as file.png, .svg or .pdf.")]


def check_choices(loss: str, noise_model: str) -> None:
    """Refuse words that are none of those allowed."""
    from ..._core.checks import choice

    choice(loss, LOSSES, "--loss")
    choice(noise_model, NOISE_MODELS, "--noise-model")


def named_number(text: str, option: str, example: str) -> tuple[str, float]:
    """Read a name and a number, as R=8.314."""
    name, _, value = text.rpartition("=")
    try:
        if not name.strip():
            raise ValueError
        return name.strip(), float(value)
    except ValueError:
        raise ValueError(
            f"{option} must be a name and a number, as {example}, got {text!r}"
        ) from None


def named_range(text: str, option: str) -> tuple[str, tuple[float | None, float | None]]:
    """Read a name and its ends, as b2=0: or b2=0:5."""
    name, _, ends = text.rpartition("=")
    low, colon, high = ends.partition(":")
    try:
        if not (name.strip() and colon):
            raise ValueError
        return name.strip(), (_end(low), _end(high))
    except ValueError:
        raise ValueError(
            f"{option} must be a name and its bounds, as b2=0: or b2=:5 or b2=0:5, got {text!r}"
        ) from None


def _end(text: str) -> float | None:
    return float(text) if text.strip() else None


def named_text(text: str, names: Sequence[str], option: str, example: str) -> tuple[str, str]:
    """Split what is typed for a column, as T=K; the longest name that fits counts."""
    for name in sorted(names, key=len, reverse=True):
        rest = text[len(name) :].lstrip() if text.startswith(name) else ""
        if rest.startswith("="):
            return name, rest[1:].strip()
    known = ", ".join(names)
    raise ValueError(f"{option} must be as {example}, got {text!r}; there are {known}")
