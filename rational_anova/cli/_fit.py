"""`ran fit`: from a table in a file to a model in a file, with its card."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._console import console, in_table, say, spinner
from ._options import Exclude, Inputs, Quiet, Seed, TablePath, Target, Where, check_outputs

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from ..tabular.cards import Facts, Task

_TOP = 10  # effects that are printed


def fit(
    path: TablePath,
    target: Target,
    inputs: Inputs = None,
    exclude: Exclude = None,
    where: Where = None,
    task: Annotated[str, typer.Option(help="auto, regression or classification.")] = "auto",
    category: Annotated[
        list[str] | None, typer.Option(help="Numeric columns that are categories, as zip,code.")
    ] = None,
    date: Annotated[
        list[str] | None, typer.Option(help="Columns of dates that are not in ISO format.")
    ] = None,
    pairs: Annotated[
        int | None, typer.Option(min=0, help="Maximum number of pairs; selected by default.")
    ] = None,
    depth: Annotated[str, typer.Option(help="shallow or deep.")] = "shallow",
    loss: Annotated[
        str,
        typer.Option(
            help="auto, squared, huber, quantile, poisson, negative_binomial, gamma, tweedie, "
            "binomial, ordinal (ordered classes) or cox (waiting times)."
        ),
    ] = "auto",
    exposure: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="What multiplies the mean, as years.")
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="For cox: 1 if the event was seen, 0 if not yet."),
    ] = None,
    power: Annotated[
        float | None, typer.Option(help="Of tweedie, from 1 to 2; estimated by default.")
    ] = None,
    quantiles: Annotated[
        str, typer.Option(metavar="LEVELS", help="Of the loss quantile, as 0.1,0.5,0.9.")
    ] = "0.5",
    monotone: Annotated[
        list[str] | None, typer.Option(help="Monotone inputs, as age=+1,price=-1.")
    ] = None,
    test: Annotated[float, typer.Option(min=0, max=0.9, help="Share of rows to hold out.")] = 0.2,
    seed: Seed = 0,
    refit: Annotated[
        bool, typer.Option(help="Refit on all rows after the evaluation on held-out rows.")
    ] = True,
    out: Annotated[Path, typer.Option(help="Where to write the model.")] = Path("model.ran"),
    card_path: Annotated[
        Path | None,
        typer.Option("--card", help="Where to write the model card; by default next to the model."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Where to write the model as a page (HTML).")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Fit a model to a table, evaluate it on held-out rows, and write it with a model card."""
    options = {
        "target": target, "inputs": inputs, "exclude": exclude, "where": where, "task": task,
        "category": category, "date": date, "pairs": pairs, "depth": depth,
        "loss": loss, "exposure": exposure, "event": event, "power": power,
        "quantiles": quantiles, "monotone": monotone,
        "test": test, "seed": seed, "no-refit": not refit, "out": out, "card": card_path,
        "report": report,
    }  # fmt: skip
    import numpy as np

    from .._core.checks import choice
    from .._core.files import write_whole
    from ..tabular.cards import TASKS, Facts, card, gaps_of, held_out, scores, task_of
    from ..tabular.explain import agreement, effect_values
    from ._tables import choose, read_inputs, read_named

    beside = card_path or out.with_name(f"{out.stem}.card.md")
    check_outputs(out, beside, report, inputs=[path])
    choice(loss, LOSSES, "--loss")
    beside_target = [name for name in (exposure, event) if name is not None]
    table = read_named(path)
    for option, name in (("--exposure", exposure), ("--event", event)):
        if name is not None:
            choice(name, list(table.columns), option)
    chosen = choose(table, target, inputs, [*(exclude or []), *beside_target], where)
    known = known_columns(chosen.frame, target, loss, exposure, event)
    frame, y, notes = read_inputs(chosen, target, category, date)
    what = task_of(y, _task(choice(task, TASKS, "--task"), loss))
    options_of_loss = {"power": power, "quantiles": quantiles}
    model = _model(what, pairs, depth, monotone, list(frame.columns), seed, loss, options_of_loss)
    start = time.monotonic()
    with spinner(quiet) as progress:
        held = held_out(what, test, seed)
        fitted = _fitted(model, frame, what.y, ~held, progress, known)
        found = {}
        if held.any():
            seen, unseen = ({name: v[rows] for name, v in known.items()} for rows in (~held, held))
            found = scores(model, frame[held], what.y[held], what.y[~held], unseen, seen)
        again = bool(refit and held.any())
        agrees = None
        if again:
            before = effect_values(model, frame)
            fitted = _fitted(model, frame, what.y, np.ones(len(held), bool), progress, known)
            agrees = agreement(before, effect_values(fitted, frame))[""]
    fitted.target_name_ = target
    facts = Facts(
        path.name, target, len(frame), int(held.sum()), again, what.name, what.why, found,
        time.monotonic() - start, notes, command(path, options), agrees,
    )  # fmt: skip
    shown = console(quiet)
    try:
        fitted.save(out)
        write_whole(beside, card(facts, fitted, gaps_of(frame)).encode())
        if report is not None:
            from ..report import write_model_report

            write_model_report(fitted, report, facts)
    finally:  # a full disk takes the files, not the figures
        _print(shown, facts, fitted)
    page = "" if report is None else f"\npage: {report}"
    say(shown, f"model: {out}\ncard: {beside}{page}")


def command(path: Path, options: dict[str, Any]) -> str:
    """Return the command with the options that are not at their defaults."""
    words = ["ran", "fit", str(path)]
    usual = {
        "task": "auto", "depth": "shallow", "loss": "auto", "quantiles": "0.5", "test": 0.2,
        "seed": 0, "out": Path("model.ran"),
    }  # fmt: skip
    for name, value in options.items():
        if value is None or value is False or (name in usual and value == usual[name]):
            continue
        for one in value if isinstance(value, list) else [value]:
            words += [f"--{name}"] if one is True else [f"--{name}", str(one)]
    return shlex.join(words)


LOSSES = (
    "auto", "squared", "huber", "quantile", "poisson", "negative_binomial", "gamma", "tweedie",
    "binomial", "ordinal", "cox",
)  # fmt: skip


def _task(task: str, loss: str) -> str:
    """Return the task that a loss means."""
    if loss == "auto":
        return task
    meant = "classification" if loss == "ordinal" else "regression"
    if task not in ("auto", meant):
        raise ValueError(f"--loss {loss} is for {meant}, got --task {task}")
    return meant


def known_columns(
    frame: pd.DataFrame, target: str | None, loss: str, exposure: str | None, event: str | None
) -> dict[str, Any]:
    """Return columns that are neither inputs nor target, of the rows that have a target."""
    import numpy as np

    if (event is not None) != (loss == "cox"):
        raise ValueError(f"--event names a column for --loss cox, and only for it, got {event!r}")
    if exposure is not None and loss in ("ordinal", "cox"):
        raise ValueError(f"--exposure {exposure} has no meaning for --loss {loss}")
    found = {}
    rows = slice(None) if target is None else ~frame[target].isna().to_numpy()
    for name, column in (("exposure", exposure), ("event", event)):
        if column is None:
            continue
        if column not in frame.columns:
            raise ValueError(
                f"--{name} names {column!r}, which is no column; there are {list(frame.columns)}"
            )
        try:
            found[name] = np.asarray(frame[column].astype(float))[rows]
        except (TypeError, ValueError) as error:
            raise ValueError(f"--{name} {column} must be numbers: {error}") from None
    return found


def _model(
    task: Task, pairs: int | None, depth: str, monotone: list[str] | None, names: list[str],
    seed: int, loss: str, own: dict[str, Any],
) -> Any:  # fmt: skip
    from .._core.checks import choice
    from ..tables import listed
    from ..tabular import RANClassifier, RANOrdinal, RANRegressor, RANSurvival

    signs = {}
    for text in listed(monotone, []):
        name, _, sign = text.rpartition("=")
        if sign not in ("+1", "1", "-1", "+", "-"):
            raise ValueError(f"--monotone must be as age=+1 or price=-1, got {text!r}")
        signs[choice(name.strip(), names, "--monotone")] = -1 if sign.startswith("-") else 1
    options: dict[str, Any] = {
        "pairs": "auto" if pairs is None else pairs, "monotone": signs or None,
        "random_state": seed,
    }  # fmt: skip
    if loss in ("ordinal", "cox"):
        if depth != "shallow":
            raise ValueError(f"--depth {depth} is not there for --loss {loss}")
        return (RANOrdinal if loss == "ordinal" else RANSurvival)(**options)
    options["depth"] = depth
    if task.classes:
        return RANClassifier(**options)
    try:
        levels = tuple(float(level) for level in own["quantiles"].split(","))
    except ValueError:
        raise ValueError(f"--quantiles must be as 0.1,0.5,0.9, got {own['quantiles']!r}") from None
    name = "squared" if loss == "auto" else loss
    return RANRegressor(loss=name, power=own["power"], quantiles=levels, **options)


def _fitted(
    model: Any, frame: pd.DataFrame, y: Any, rows: Any, progress: Callable[[str], None] | None,
    known: dict[str, Any],
) -> Any:  # fmt: skip
    """Fit, and tell the stages."""
    callbacks = [] if progress is None else [lambda now: progress(now.stage)]
    own = {name: values[rows] for name, values in known.items()}
    return model.fit(frame[rows], y[rows], callbacks=callbacks, **own)


def _print(out: Console, facts: Facts, model: Any) -> None:
    from rich.table import Table

    from ..tabular.cards import effects_of, number

    def line(name: str, text: str) -> None:
        say(out, f"{name:<12}{text}")

    line("table", f"{facts.table}: {facts.rows} rows, {model.n_features_in_} inputs")
    line("task", f"{facts.task}: {facts.why}")
    if facts.scores:
        table = Table("", "model", facts.baseline, title=f"{facts.held} rows held out")
        for name, both in facts.scores.items():
            table.add_row(name, *map(number, both))
        out.print(table)
        line("fit", f"on all {facts.rows} rows" if facts.refitted else "without the held-out rows")
    else:
        line("held out", "no rows: the error on new rows is unknown")
    shown = effects_of(model)
    table = Table("effect", "share", title="effects")
    table.columns[1].justify = "right"
    for name, share, _ in shown[:_TOP]:
        table.add_row(in_table(name), f"{share:.1%}")
    out.print(table)
    if len(shown) > _TOP:
        line("", f"and {len(shown) - _TOP} more, in the card")
    line("time", f"{facts.seconds:.1f} s")
    for note in facts.notes:
        say(out, f"note: {note}", "dim")
