"""Real tables as discovery problems: where does the textbook's form stand among the rivals?

Two lists: the tables of RAN_DATA/science_laws/textbook.json, and NIST's certified sets with the
form in their headers. Tables of several experiments are given whole, with by=. A rival is the
textbook's form when it is of its family by the rule of `family`. `level` means first, or as heavy
as the first within two units of BIC. The data reject a form (`rejected`) when its BIC, fitted by
`fit_law` under the noise model of the law, is more than 10 above that of the law; `bic_behind`,
`error` and `textbook_error` (RMS over the spread of y) are the evidence. Some forms have given
numbers, as 60 and 70 in 60 + 70*exp(-a*time), that no table tells: `rank_freed` and `level_freed`
are those of the form with these numbers free.

python -m experiments.measurements.textbook [--smoke] [--jobs 2] [--only NAME ...]
    [--lists textbook nist]
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import sympy as sp

import rational_anova as ra
from experiments.discovery.recorded import Recorded, by, count
from experiments.measurements import nist, shared
from experiments.measurements.family import Form, function_of, in_columns
from experiments.table import Row, run

LISTS = ("textbook", "nist")
REJECTED = 10.0  # units of BIC: very strong evidence
KEY = ("source", "measured")


@dataclass(frozen=True)
class Measured:
    """A table and the form that textbooks have for it.

    Args:
        source: the list it comes from.
        name: of the table.
        frame: inputs, target and the column of experiments, by names that a formula may have.
        inputs: columns.
        target: column.
        form: in the inputs and free names.
        law: what textbooks call it.
        group: column that separates experiments.
    """

    source: str
    name: str
    frame: pd.DataFrame
    inputs: tuple[str, ...]
    target: str
    form: str
    law: str
    group: str | None = None

    @property
    def X(self) -> np.ndarray:
        """Inputs (n, d)."""
        return self.frame[list(self.inputs)].to_numpy(np.float64)

    @property
    def y(self) -> np.ndarray:
        """Target (n,)."""
        return self.frame[self.target].to_numpy(np.float64)

    @property
    def box(self) -> tuple[tuple[float, float], ...]:
        """Range of each input."""
        return tuple(zip(self.X.min(0).tolist(), self.X.max(0).tolist(), strict=True))

    @property
    def columns(self) -> list[str]:
        """Inputs, then the column of experiments, if there is one."""
        return [*self.inputs, *([self.group] if self.group else [])]


def textbook_tables() -> list[Measured]:
    """Return the tables of textbook.json, without rows that lack a number."""
    folder = shared.data_folder("science_laws")
    entries = json.loads((folder / "textbook.json").read_text())["tables"]
    return [from_entry(entry, pd.read_csv(folder / entry["file"])) for entry in entries]


def from_entry(entry: dict[str, Any], frame: pd.DataFrame) -> Measured:
    """Return a table as an entry of textbook.json describes it."""
    frame = frame.rename(columns=_symbol)
    inputs, target = tuple(map(_symbol, entry["inputs"])), _symbol(entry["target"])
    group = _symbol(entry["by"]) if "by" in entry else None
    for column in (*inputs, target):
        frame[column] = pd.to_numeric(frame[column], errors="coerce")
    columns = [*inputs, target, *([group] if group else [])]
    frame = frame[columns].dropna().reset_index(drop=True)
    if group:
        frame[group] = frame[group].astype(str)
    name = entry["file"].removesuffix(".csv")
    return Measured("textbook", name, frame, inputs, target, entry["form"], entry["name"], group)


def _symbol(column: str) -> str:
    return column.replace(".", "_")


def nist_tables() -> list[Measured]:
    """Return NIST's sets; where the form is that of log(y), log(y) is what is measured."""
    tables = []
    for known in nist.sets():
        frame = pd.DataFrame(known.X, columns=list(known.columns))
        frame[known.target] = known.fitted_target
        tables.append(
            Measured("nist", known.name, frame, known.columns, known.target, known.form, known.name)
        )
    return tables


def one(measured: Measured, limit: float) -> Row:
    """Return where the textbook's form stands."""
    row: Row = {
        "source": measured.source, "measured": measured.name, "rows": len(measured.frame),
        "textbook": measured.form, "by": measured.group or "",
    }  # fmt: skip
    frame, y = measured.frame[measured.columns], measured.y
    law, row["seconds"], row["failure"] = shared.found(
        limit, frame, y, target=measured.target, **grouping(measured)
    )
    if law is None:
        return {**row, **_NO, **shared.NOTHING}
    told, _, trouble = shared.timed(
        lambda: ra.fit_law(
            measured.form, frame, y, target=measured.target, noise_model=law.noise.model, seed=0,
            **grouping(measured),
        )
    )  # fmt: skip
    row |= shared.described(law)
    if told is None:
        return {**row, **_NO, "failure": f"the textbook's form: {trouble}"}
    return {**row, **verdict(measured, law, told)}


def grouping(measured: Measured) -> dict[str, Any]:
    """Return the option that tells experiments apart, where there are several."""
    return {"by": measured.group} if measured.group else {}


_NO = {"rank": 0, "level": False, "three": False, "rejected": False, "level_freed": False}


def verdict(measured: Measured, law: Any, told: Any) -> Row:
    """Return the columns that compare a law with the textbook's form, told to `fit_law`."""
    form = Form(measured.form, measured.inputs, measured.box, truths(told))
    place, freed = (shared.standing(law, some) for some in (form, form.freed()))
    fits = [predicted(some, measured) for some in (law, told)]
    sizes = [count_of(some) for some in (law, told)]
    floor = law.noise.floor / law.noise.scale if law.noise.model == "proportional" else 0.0
    scores = [
        shared.bic(measured.y, fit, size, law.noise.model, floor)
        for fit, size in zip(fits, sizes, strict=True)
    ]
    spread = measured.y.std()
    errors = [float(np.sqrt(np.mean((fit - measured.y) ** 2)) / spread) for fit in fits]
    behind = scores[1] - scores[0]
    return {
        "rank": place.rank,
        "level": place.level,
        "three": place.level or 0 < place.rank <= 3,
        "rejected": not place.level and behind > REJECTED,
        "rank_freed": freed.rank,
        "level_freed": place.level or freed.level,
        "weight": place.weight,
        "best_weight": place.best,
        "bic_behind": behind,
        "error": errors[0],
        "textbook_error": errors[1],
        "rivals": " | ".join(
            f"{rival.weight:.2g} {rival.name or shared.printed(rival.formula.evalf(3))}"
            for rival in law.rivals[:5]
        )[:600],
        "doubts": " ".join(law.doubts)[:300],
    }


def truths(told: Any) -> tuple[dict[str, float], ...]:
    """Return the fitted numbers of a form; with experiments, those of each of the first three."""
    values = shared.values_of(told)
    if told.groups is None:
        return (values,)
    rows = told.groups.values.iloc[:3]
    return tuple(
        {**values, **{name: float(row[name]) for name in told.groups.own if name in row.index}}
        for _, row in rows.iterrows()
    )


def predicted(law: Any, measured: Measured) -> np.ndarray:
    """Return the values of a law on its rows, each with the numbers of its experiment."""
    if law.groups is None:
        return np.asarray(law.predict(measured.X), dtype=np.float64)
    template = in_columns(law.template, law.names.symbols, measured.inputs)
    function = function_of(template, [sp.Symbol(p.name) for p in law.parameters], measured.inputs)
    result = np.full(len(measured.y), np.nan)
    for group, row in law.groups.values.iterrows():
        own = {**shared.values_of(law), **row.to_dict()}
        rows = (measured.frame[measured.group] == str(group)).to_numpy()
        result[rows] = function(np.array([own[p.name] for p in law.parameters]), measured.X[rows])
    return result


def count_of(law: Any) -> int:
    """Return how many numbers were fitted, those of all experiments together."""
    if law.groups is None:
        return sum(p.exact is None and not p.given for p in law.parameters)
    return len(law.groups.shared) + len(law.groups.own) * len(law.groups.values)


def summary(rows: Recorded) -> list[str]:
    """Return a line for each list, then the tables where the form is neither high nor rejected."""
    lines = []
    for (name,), some in by(rows, "source").items():
        held = [row for row in some if row["three"] == "True" or row["rejected"] == "True"]
        lines.append(
            f"{name}: first or level {count(some, 'level')} of {len(some)} "
            f"({count(some, 'level_freed')} with given numbers free), in the first three "
            f"{count(some, 'three')}, rejected by the data {count(some, 'rejected')}, "
            f"one of these {len(held)}; median {median(float(r['seconds']) for r in some):.1f} s"
        )
        for row in some:
            if row not in held:
                lines.append(f"  {row['measured']}: rank {row['rank']}, law {row['law']}")
    return lines


def made_up() -> Measured:
    """Return a table that needs no file: two enzymes."""
    random = np.random.default_rng(0)
    conc = np.tile([0.02, 0.06, 0.11, 0.22, 0.56, 1.1], 4)
    top = np.repeat([200.0, 160.0], 12)
    rate = top * conc / (0.06 + conc) + random.normal(0, 2, 24)
    frame = pd.DataFrame({"conc": conc, "rate": rate, "state": np.repeat(["a", "b"], 12)})
    form = "a*conc/(b + conc)"
    return Measured("textbook", "made up", frame, ("conc",), "rate", form, "", "state")


def main() -> None:
    parser = shared.options(__doc__)
    parser.add_argument("--lists", nargs="+", choices=LISTS, default=list(LISTS))
    options = shared.parsed(parser)
    makers = {"textbook": textbook_tables, "nist": nist_tables}
    tables = [made_up()] if options.smoke else [m for name in options.lists for m in makers[name]()]
    table = shared.results("textbook", KEY, options)
    tasks = [
        {"source": m.source, "measured": m, "limit": options.limit}
        for m in shared.chosen(tables, options.only)
    ]
    run(table, _work, tasks, options.jobs)
    print("\n".join(summary(table.rows)))


def _work(measured: Measured, limit: float, **_: Any) -> Row:
    return one(measured, limit)


if __name__ == "__main__":
    main()
