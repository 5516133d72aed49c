"""Laws in a worker: `discover` and `fit_law` on a table of the workspace."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..._core.files import write_whole
from .._records import Choice, from_json
from ._jobs import Job
from ._reading import chosen_frame

if TYPE_CHECKING:
    from ...discovery import Law
    from ...symbols import Names
    from ...tables import Table

_DRAWN = 300  # rows that are drawn while a search goes on
_KEPT = 5000  # rows that are kept beside the law, for its plots
ROWS = "rows.npz"


def discover_law(job: Job) -> tuple[str, ...]:
    """Find the law of a table."""
    from ...discovery import discover, fit_law

    job.tell("reading the table")
    table, units = _table(job)
    asked = job.options
    watched = _Watched(job, table)
    shape = {table.target: "positive"} if table.target in asked.get("positive", ()) else None
    try:
        law = discover(
            table,
            units=units,
            absorb_units=units is not None,
            positive=[name for name in asked.get("positive", ()) if name != table.target],
            periodic=list(asked.get("periodic", ())),
            shape=shape,
            without=list(asked.get("without", ())),
            loss=asked.get("loss", "squares"),
            noise_model=asked.get("noise_model", "auto"),
            time_limit=float(asked.get("time_limit") or 60.0),
            seed=int(asked.get("seed", 0)),
            callbacks=[watched],
        )
    except KeyboardInterrupt:  # in the midst of a step; what it told last is fitted once more
        if watched.formula is None:
            return ()
        law = fit_law(form_of(watched.formula, table), table)
    return _written(job, law)


def fit_form(job: Job) -> tuple[str, ...]:
    """Fit the numbers of a form, such as one of the Pareto front, and test it."""
    from ...discovery import fit_law

    job.tell("reading the table")
    table, units = _table(job)
    law = fit_law(
        form_of(str(job.options["form"]), table), table, units=units, callbacks=[job.callback],
        loss=job.options.get("loss", "squares"),
    )  # fmt: skip
    return _written(job, law)


def form_of(formula: str, table: Table) -> str:
    """Return a formula with a name for each of its decimal numbers, to be fitted anew."""
    import sympy as sp

    parsed = table.names.parse(formula.partition("=")[2] or formula, list(table.known))
    numbers = sorted(parsed.atoms(sp.Float), key=float)
    taken = {*map(str, parsed.free_symbols), *(s.name for s in table.names.symbols)}
    free = (name for k in range(10_000) if (name := f"b{k + 1}") not in taken)
    return str(
        parsed.xreplace(
            {value: sp.Symbol(name) for value, name in zip(numbers, free, strict=False)}
        )
    )


def _table(job: Job) -> tuple[Table, dict[str, str] | None]:
    """Return the table that was chosen, and the units if every column has one."""
    from ...tables import prepare

    choice: Choice = from_json(Choice, job.options["choice"])
    frame, notes = chosen_frame(job, choice)
    constants: Mapping[str, float] = job.options.get("constants") or {}
    table = prepare(
        frame, choice.target, names=list(choice.inputs) or None, constants=dict(constants) or None,
        sigma=choice.sigma or None, by=choice.by or None,
    )  # fmt: skip
    table = replace(table, notes=(*notes, *table.notes))
    units = {**choice.units, **(job.options.get("constant_units") or {})}
    used = [*table.names.columns, table.target, *table.known]
    whole = all(units.get(name) for name in used)
    return table, {name: units[name] for name in used} if whole and job.options.get(
        "units"
    ) else None


class _Watched:
    """A callback of a search: it tells the best law so far with its values on some rows."""

    def __init__(self, job: Job, table: Table) -> None:
        import numpy as np

        self.job, self.table = job, table
        self.formula: str | None = None
        rows = np.arange(len(table.y))
        if len(rows) > _DRAWN:
            rows = np.sort(np.random.default_rng(0).choice(rows, _DRAWN, replace=False))
        self.X, y = table.X[rows], table.y[rows]
        if self.X.shape[1] == 1:
            order = np.argsort(self.X[:, 0])
            self.X, y = self.X[order], y[order]
            job.tell("first look", x=self.X[:, 0], y=y, input=table.names.columns[0])
        else:
            job.tell("first look", y=y)

    def __call__(self, progress: Any) -> bool:
        """Tell how far the search is."""
        if progress.formula is not None and progress.formula != self.formula:
            self.formula = progress.formula
            said = self._said(progress.formula)
            svg = _typeset(progress.formula, self.table.target, self.table.names)
            self.job.tell(progress.stage, said=said, svg=svg)
        return self.job.callback(progress)

    def _said(self, formula: str) -> Any:
        """Return the values of a formula on the rows that are drawn; None if they have none."""
        import numpy as np

        from ...symbols import program

        try:
            parsed = self.table.names.parse(formula, list(self.table.known))
            parsed = parsed.subs(dict(self.table.known))
            with np.errstate(all="ignore"):
                values = program(self.table.names.symbols, [parsed])(*self.X.T)[0]
            return np.broadcast_to(np.asarray(values, dtype=float), len(self.X))
        except (ValueError, TypeError, NotImplementedError, KeyError):
            return None  # a picture is missing, not a law


def _typeset(formula: str, target: str, names: Names) -> str | None:
    """Return the best formula so far, typeset."""
    import sympy as sp

    from ...discovery.law import name_in_latex, names_in_latex
    from ...report import math_svg
    from ...symbols import names_in

    try:
        parsed = names.parse(formula, names_in(formula))
        written = sp.latex(
            parsed, symbol_names=names_in_latex(names), full_prec=False, mul_symbol=r"\,"
        )
    except (ValueError, TypeError, KeyError):
        return None
    if len(written) > 600:
        return None
    written = written.replace(r"\frac", r"\dfrac")
    svg = math_svg(f"{name_in_latex(target)} = {written}")
    return None if svg is None else f"<span>{svg}</span>"


def _written(job: Job, law: Law) -> tuple[str, ...]:
    """Write a law, and the rows that it was fitted to, for its plots."""
    import numpy as np

    law = replace(
        law, units=law.units or _labels(job, law), provenance={"file": job.name, **law.provenance}
    )
    law.save(job.folder / "law.json")
    data = law.data
    if data is None:
        return ("law.json",)
    rows = np.arange(len(data.y))
    if len(rows) > _KEPT and not law.outliers:
        rows = np.sort(np.random.default_rng(0).choice(rows, _KEPT, replace=False))
    parts = {"X": data.X, "y": data.y, "sigma": data.sigma, "groups": data.groups}
    out = io.BytesIO()
    kept: dict[str, Any] = {
        name: np.asarray(part)[rows] for name, part in parts.items() if part is not None
    }
    if "groups" in kept:
        kept["groups"] = kept["groups"].astype(str)
    np.savez_compressed(out, **kept)
    write_whole(job.folder / ROWS, out.getvalue())
    return ("law.json", ROWS)


def _labels(job: Job, law: Law) -> dict[str, str]:
    """Return the units of the columns, for the axes, where they were not used in the search."""
    units = job.options["choice"].get("units", {})
    return {name: units[name] for name in (*law.names.columns, law.target) if units.get(name)}
