"""Models in a worker: `RANRegressor` and `RANClassifier` on a table of the workspace."""

from __future__ import annotations

import io
import json
import shlex
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..._core.files import write_whole
from .._records import Choice, from_json
from ..models import FACTS, HELD, MODEL, ROWS
from ._jobs import Job, plain
from ._reading import chosen_frame


def fit_model(job: Job) -> tuple[str, ...]:
    """Fit a model to a table; a share of the rows is held out and judges it, now and after edits.

    Options: `choice`, `task` (`auto`, `regression`, `classification`), `pairs` (`auto` or a
    number), `monotone` (+1 or -1 by input), `test` (share to hold out), `seed`, `time_limit`.
    """
    import numpy as np

    from ...tabular import RANClassifier, RANRegressor
    from ...tabular.cards import (
        TASKS,
        Facts,
        card,
        gaps_of,
        held_out,
        inputs_and_target,
        scores,
        task_of,
    )  # fmt: skip
    from ...tabular.model import read

    job.tell("reading the table")
    asked = job.options
    choice: Choice = from_json(Choice, asked["choice"])
    frame, notes = chosen_frame(job, choice)
    inputs = [n for n in frame.columns if n not in (choice.target, choice.by, choice.sigma)]
    X, y, more = inputs_and_target(frame, inputs, choice.target, [], [])
    wanted = str(asked.get("task", "auto"))
    if wanted not in TASKS:
        raise ValueError(f"there is no task {wanted!r}; there are {', '.join(TASKS)}")
    task = task_of(y, wanted, "the task")
    share, seed = float(asked.get("test", 0.2)), int(asked.get("seed", 0))
    if not 0 < share <= 0.9:
        raise ValueError(f"the share of rows to hold out must be above 0 and at most 0.9: {share}")
    held = held_out(task, share, seed)
    signs = {str(n): int(s) for n, s in (asked.get("monotone") or {}).items() if n in inputs}
    pairs = asked.get("pairs", "auto")
    start = time.monotonic()
    model: Any = (RANClassifier if task.classes else RANRegressor)(
        pairs=pairs if pairs == "auto" else int(pairs), monotone=signs or None,
        time_limit=asked.get("time_limit"), random_state=seed,
    ).fit(X[~held], task.y[~held], callbacks=[job.callback])  # fmt: skip
    model.target_name_ = choice.target
    job.tell("looking at the rows held out", part=0.95)
    facts = Facts(
        job.name, choice.target, len(X), int(held.sum()), False, task.name, task.why,
        scores(model, X[held], task.y[held], task.y[~held]), time.monotonic() - start,
        _notes([*notes, *more], choice), _command(job.name, choice, inputs, asked),
    )  # fmt: skip
    y_codes = np.searchsorted(model.classes_, task.y) if task.classes else task.y.astype(float)
    judged = np.flatnonzero(held)
    if len(judged) > HELD:
        judged = np.sort(np.random.default_rng(seed).choice(judged, HELD, replace=False))
    rows = io.BytesIO()
    np.savez_compressed(
        rows, values=read(model.features_, X.iloc[judged]).values, y=y_codes[judged],
        numbers=judged, train=y_codes[~held],
    )  # fmt: skip
    write_whole(job.folder / ROWS, rows.getvalue())
    gaps = gaps_of(X)
    known = plain({"facts": asdict(facts), "gaps": gaps})
    write_whole(job.folder / FACTS, json.dumps(known).encode())
    write_whole(job.folder / "card.md", card(facts, model, gaps).encode())
    model.save(job.folder / MODEL)
    return (MODEL, FACTS, ROWS, "card.md")


def _notes(notes: list[str], choice: Choice) -> list[str]:
    """Return the notes on a table, each once, and what models do not use of the choice."""
    found = list(dict.fromkeys(note.rstrip(".") for note in notes))
    beside = [name for name in (choice.by, choice.sigma) if name]
    return found + [f"{name} was left out: it is no input" for name in beside]


def _command(name: str, choice: Choice, inputs: list[str], asked: Mapping[str, Any]) -> str:
    """Return the command that fits the same model from the shell."""
    words = ["ran", "fit", name, "--target", choice.target]
    for one in inputs:
        words += ["--inputs", one]
    for condition in choice.where:
        words += ["--where", condition]
    if asked.get("task", "auto") != "auto":
        words += ["--task", str(asked["task"])]
    if asked.get("pairs", "auto") != "auto":
        words += ["--pairs", str(asked["pairs"])]
    for one, sign in (asked.get("monotone") or {}).items():
        words += ["--monotone", f"{one}={int(sign):+d}"]
    words += ["--test", f"{float(asked.get('test', 0.2)):g}", "--seed", str(asked.get("seed", 0))]
    return shlex.join([*words, "--no-refit"])
