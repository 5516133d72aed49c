"""Several experiments, one law: Puromycin by state, DNase by run, theophylline by subject.

The textbook's form is told to `fit_law` with by=, and `discover` has to find one form for all.
Known numbers, mostly of R, stand beside ours, with their source. Their forms have other numbers,
and ours are turned into them: DNase in R is a logistic in log(conc), whose xmid and
scal are log(b) and 1/c of a/(1 + (b/conc)**c); theophylline in R has lKe = log(b), lKa = log(c) and
lCl = log(Dose*b*c/(a*(c - b))) of a*(exp(-b*Time) - exp(-c*Time)). R's nlme gives the middle of the
subjects, so ours is their mean. Four fits: with numbers that are shared where the evidence says so
(told), with all numbers own, as R's nls of one experiment has them (told, all own), with own
numbers drawn together, as nlme does (told, shrunk), and with a form that is not told (found).

python -m experiments.measurements.groups [--smoke] [--jobs 2] [--only NAME ...]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import rational_anova as ra
from experiments.measurements import shared, textbook
from experiments.measurements.family import Form
from experiments.measurements.textbook import Measured, from_entry, made_up, truths
from experiments.table import Row, run

KEY = ("study", "fit")
FITS = ("told", "told, all own", "told, shrunk", "found")


@dataclass(frozen=True)
class Known:
    """A number that others give.

    Args:
        name: what they call it.
        group: of which experiment; "" for the middle of all.
        value: as printed.
        source: where.
        fits: those of ours that it is comparable with.
        ours: from the numbers of an experiment (and its row of the data) to theirs.
    """

    name: str
    group: str
    value: float
    source: str
    fits: tuple[str, ...]
    ours: Callable[[pd.Series, pd.Series], float]


_NLS = "R, ?Puromycin and Bates & Watts (1988), nls(rate ~ Vm*conc/(K + conc))"
_SHARED = "SciPy's curve_fit of rate = (Vm + delV*(state == 'treated'))*conc/(K + conc)"
_DNASE = "R, ?nls, nls(density ~ SSlogis(log(conc), Asym, xmid, scal)), Run 1"
_THEOPH = "Pinheiro & Bates (2000), Mixed-Effects Models in S and S-PLUS, nlme with SSfol"


_OWN, _MIDDLE = ("told, all own",), ("told", "told, all own", "told, shrunk")


def _pick(name: str) -> Callable[[pd.Series, pd.Series], float]:
    return lambda values, _: float(values[name])


def _rates(values: pd.Series) -> tuple[float, float]:
    """Return the rates of elimination and absorption; a < 0 means that they are exchanged."""
    rates = float(values["b"]), float(values["c"])
    return rates if values["a"] > 0 else (rates[1], rates[0])


KNOWN: dict[str, tuple[Known, ...]] = {
    "datasets_Puromycin": (
        Known("Vm", "treated", 212.7, _NLS, _OWN, _pick("a")),
        Known("K", "treated", 0.06412, _NLS, _OWN, _pick("b")),
        Known("Vm", "untreated", 160.3, _NLS, _OWN, _pick("a")),
        Known("K", "untreated", 0.0477, _NLS, _OWN, _pick("b")),
        Known("Vm + delV", "treated", 208.63, _SHARED, ("told",), _pick("a")),
        Known("Vm", "untreated", 166.60, _SHARED, ("told",), _pick("a")),
        Known("K", "", 0.05797, _SHARED, ("told",), _pick("b")),
    ),
    "datasets_DNase": (
        Known("Asym", "1", 2.345, _DNASE, _OWN, _pick("a")),
        Known("xmid", "1", 1.483, _DNASE, _OWN, lambda v, _: float(np.log(v["b"]))),
        Known("scal", "1", 1.041, _DNASE, _OWN, lambda v, _: float(1 / v["c"])),
    ),
    "datasets_Theoph": (
        Known("lKe", "", -2.433, _THEOPH, _MIDDLE, lambda v, _: float(np.log(_rates(v)[0]))),
        Known("lKa", "", 0.451, _THEOPH, _MIDDLE, lambda v, _: float(np.log(_rates(v)[1]))),
        Known(
            "lCl", "", -3.214, _THEOPH, _MIDDLE,
            lambda v, d: float(np.log(d["Dose"] * v["b"] * v["c"] / (v["a"] * (v["c"] - v["b"])))),
        ),
    ),
}  # fmt: skip


def one(study: Measured, fit: str, limit: float) -> Row:
    """Return the numbers of each experiment, beside R's."""
    row: Row = {"study": study.name, "fit": fit, "form": study.form if fit != "found" else ""}
    law, row["seconds"], row["failure"] = shared.timed(lambda: fitted(study, fit, limit), limit)
    if law is None:
        return row
    row |= {
        "grade": str(getattr(law.grade, "value", law.grade)),
        "law": shared.printed(law.rounded()),
    }
    if fit == "found":
        told = fitted(study, "told", limit)
        form = Form(study.form, study.inputs, study.box, truths(told))
        place = shared.standing(law, form)
        row |= {"rank": place.rank, "level": place.level, "form": shared.printed(law.template)}
    if law.groups is not None:
        row |= {
            "experiments": len(law.groups.values),
            "shared": " ".join(law.groups.shared),
            "own": " ".join(law.groups.own),
            "numbers": in_words(law.groups.values)[:1500],
        }
    if fit != "found":
        row["beside"] = " | ".join(beside(study, law, fit))
        row["source"] = " | ".join(dict.fromkeys(k.source for k in comparable(study, fit)))
    return row


def fitted(study: Measured, fit: str, limit: float) -> Any:
    """Return the law of all experiments."""
    frame = study.frame[study.columns]
    options: dict[str, Any] = {"target": study.target, "by": study.group}
    if fit == "found":
        return ra.discover(frame, study.y, seed=0, time_limit=limit, **options)
    if fit == "told, all own":
        options["shared"] = []
    return ra.fit_law(study.form, frame, study.y, shrink="shrunk" in fit, seed=0, **options)


def in_words(values: pd.DataFrame) -> str:
    """Return the numbers of each experiment with their standard errors."""
    names = [c for c in values.columns if not c.endswith(" stderr")]

    def cell(row: pd.Series, name: str) -> str:
        error = row.get(f"{name} stderr", np.nan)
        return f"{name}={row[name]:.5g}" + (f"+-{error:.2g}" if np.isfinite(error) else "")

    return "; ".join(
        f"{group}: " + " ".join(cell(row, name) for name in names)
        for group, row in values.iterrows()
    )


def beside(study: Measured, law: Any, fit: str) -> list[str]:
    """Return known numbers with ours."""
    shared_values = shared.values_of(law)
    own = law.groups.values if law.groups is not None else pd.DataFrame()
    lines = []
    for known in comparable(study, fit):
        groups = [g for g in own.index if not known.group or str(g) == known.group]
        if not groups:
            lines.append(
                f"{known.name} of {known.group!r}: no such experiment in {list(own.index)}"
            )
            continue
        values = [
            known.ours(
                pd.Series({**shared_values, **own.loc[g].to_dict()}), of_group(study, str(g))
            )
            for g in groups
        ]
        where = f" of {known.group}" if known.group else ", mean"
        lines.append(f"{known.name}{where}: ours {np.mean(values):.5g}, known {known.value:g}")
    return lines


def comparable(study: Measured, fit: str) -> list[Known]:
    """Return the known numbers that a fit can be compared with."""
    return [known for known in KNOWN.get(study.name, ()) if fit in known.fits]


def of_group(study: Measured, group: str) -> pd.Series:
    """Return the first row of an experiment, with all columns of the table."""
    return study.frame[study.frame[study.group] == group].iloc[0]


def studies() -> list[Measured]:
    """Return the tables of several experiments, with the columns that known numbers need."""
    tables = [table for table in textbook.textbook_tables() if table.group]
    return [with_dose(table) if table.name == "datasets_Theoph" else table for table in tables]


def with_dose(table: Measured) -> Measured:
    """Return theophylline with the dose of each subject."""
    frame = pd.read_csv(shared.data_folder("science_laws") / "datasets_Theoph.csv")
    entry = {
        "file": "datasets_Theoph.csv", "inputs": list(table.inputs), "target": table.target,
        "by": table.group, "form": table.form, "name": table.law,
    }  # fmt: skip
    dosed = from_entry(entry, frame)
    dosed.frame["Dose"] = frame["Dose"].to_numpy(float)
    return dosed


def main() -> None:
    options = shared.parsed(shared.options(__doc__))
    some = [made_up()] if options.smoke else shared.chosen(studies(), options.only)
    table = shared.results("groups", KEY, options)
    fits = FITS[:1] if options.smoke else FITS
    tasks = [{"study": s, "fit": f, "limit": options.limit} for s in some for f in fits]
    run(table, one, tasks, options.jobs)
    for row in table.rows:
        rank = f"rank of the textbook's form {row.get('rank')}" if row.get("rank") else ""
        words = row.get("beside") or rank or row.get("numbers", "")[:200]
        print(f"{row['study']}, {row['fit']}: {words} {row['failure']}")


if __name__ == "__main__":
    main()
