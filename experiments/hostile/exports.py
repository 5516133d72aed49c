"""Exports against `predict` on hostile rows: the largest difference in each engine.

python -m experiments.hostile.exports [--rows 100000] [--engine SQLite ...]

Python, SQL in SQLite, DuckDB (if it is installed) and PostgreSQL (if the variable RAN_POSTGRES has
a connection string, and psycopg2 is installed), ONNX, and laws in C, compiled with -O2. Rows have
gaps, unseen and odd levels, numbers at the ends of float64, -0.0, denormals, and dates at the edges
of what pandas holds. Differences are relative to the size of the prediction and the spread of all.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import os
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import rational_anova as ra
from experiments.results import Log

LEVELS = ["a", "it's", 'say "x"', "=1+1", "\U0001f600", "", " b ", "(missing)x", "1", "1.0"]
UNSEEN = ["never", "a ", "A", "'; DROP TABLE t; --", "2"]
EDGES = [np.nan, 0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e308, -1e308, 1e15, 1e-15, 3.0000000000000004]
DATES = [
    "1678-01-01",
    "2262-04-11",
    "1970-01-01",
    "1969-12-31 23:59:59",
    "2000-02-29",
    "2024-12-31 23:00:00",
]
_MODELS = 4


def rows(count: int, seed: int, hostile: bool) -> pd.DataFrame:
    """Return a table; hostile rows have what no training row had."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(40, 15, count), "log x": rng.lognormal(0, 2, count)})
    frame["city's"] = rng.choice(LEVELS + (UNSEEN if hostile else []), count)
    frame["code"] = rng.choice([1, 2, 3] + ([9] if hostile else []), count)
    frame["code"] = frame["code"].astype("category")
    frame["member"] = rng.random(count) < 0.4
    frame["when"] = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 10**8, count), "s")
    gaps = rng.random((count, 4)) < 0.1
    for name, gap in zip(("age", "log x", "city's", "when"), gaps.T, strict=True):
        frame.loc[gap, name] = None
    if hostile:
        odd = rng.random(count) < 0.2
        frame.loc[odd, "age"] = rng.choice(EDGES, odd.sum())
        odd = rng.random(count) < 0.2
        frame.loc[odd, "log x"] = rng.choice(EDGES, odd.sum())
        odd = rng.random(count) < 0.1
        frame.loc[odd, "when"] = pd.to_datetime(rng.choice(DATES, odd.sum()), format="ISO8601")
    return frame


def models() -> Iterator[tuple[str, Any]]:
    """Yield generated models, one of each kind."""
    for seed in range(_MODELS):
        frame = rows(400, seed, hostile=False)
        rng = np.random.default_rng(seed)
        f = np.sin(frame["age"].fillna(40) / 10) + (frame["city's"] == "a") + 0.5 * frame["member"]
        f = f + (frame["code"].astype(int) == 2) + 0.1 * rng.normal(size=len(frame))
        if seed == 0:
            yield "identity", ra.RANRegressor(pairs=2, refinements=0, link="identity").fit(frame, f)
        elif seed == 1:
            yield "log", ra.RANRegressor(pairs=1, refinements=0, link="log").fit(frame, np.exp(f))
        elif seed == 2:
            yield "two classes", ra.RANClassifier(pairs=1, refinements=0).fit(frame, f > 1)
        else:
            names = np.array(["prediction", "b'c", "=d"])[np.digitize(f, [0.5, 1.5])]
            yield "three classes", ra.RANClassifier(pairs=0, refinements=0).fit(frame, names)


def expected(model: Any, frame: pd.DataFrame) -> np.ndarray:  # (rows, outputs)
    """Return predictions, or the probabilities of all classes."""
    if hasattr(model, "classes_"):
        return model.predict_proba(frame)
    return model.predict(frame)[:, None]


def shuffled(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns in another order: a database knows them by name."""
    return frame[frame.columns[::-1]]


def expressions(model: Any, dialect: str) -> list[str]:
    """Return SQL for each output."""
    if hasattr(model, "classes_"):
        return [model.to_sql(dialect, probability=one) for one in model.classes_]
    return [model.to_sql(dialect)]


def in_python(model: Any, frame: pd.DataFrame) -> np.ndarray:
    scope: dict[str, Any] = {}
    exec(model.to_python(), scope)
    found = [scope["predict"](row) for row in shuffled(frame).to_dict("records")]
    return np.array([list(f.values()) if isinstance(f, dict) else [f] for f in found])


def in_sqlite(model: Any, frame: pd.DataFrame) -> np.ndarray:
    base = sqlite3.connect(":memory:")
    whole = frame.assign(**{"when": frame["when"].dt.strftime("%Y-%m-%d %H:%M:%S")})
    whole["code"] = whole["code"].astype(int)
    shuffled(whole).to_sql("people", base, index=False)
    query = f"SELECT {', '.join(expressions(model, 'sqlite'))} FROM people ORDER BY rowid"
    return np.array(base.execute(query).fetchall(), float)


def in_duckdb(model: Any, frame: pd.DataFrame) -> np.ndarray:
    import duckdb

    base = duckdb.connect()
    people = shuffled(
        frame.assign(code=frame["code"].astype(int).astype(str), place=range(len(frame)))
    )
    base.register("people", people)
    query = f"SELECT {', '.join(expressions(model, 'duckdb'))} FROM people ORDER BY place"
    return np.array(base.execute(query).fetchall(), float)


def in_postgres(model: Any, frame: pd.DataFrame) -> np.ndarray:
    import io

    import psycopg2

    with psycopg2.connect(os.environ["RAN_POSTGRES"]) as base, base.cursor() as cursor:
        cursor.execute(
            'CREATE TEMP TABLE people (at int, age float8, "log x" float8, "city\'s" text, '
            'code text, member boolean, "when" timestamp)'
        )
        people = frame.assign(code=frame["code"].astype(int).astype(str))
        people.insert(0, "at", range(len(frame)))
        text = people.to_csv(
            index=False, header=False, na_rep="\\N", float_format=lambda number: repr(float(number))
        )
        cursor.copy_expert("COPY people FROM STDIN (FORMAT csv, NULL '\\N')", io.StringIO(text))
        query = f"SELECT {', '.join(expressions(model, 'postgres'))} FROM people ORDER BY at"
        cursor.execute(query)
        return np.array(cursor.fetchall(), float)


def in_onnx(model: Any, frame: pd.DataFrame) -> np.ndarray:
    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:
        model.to_onnx(Path(folder) / "model.onnx")
        session = onnxruntime.InferenceSession(Path(folder) / "model.onnx")
    return np.asarray(session.run(None, model.onnx_inputs(frame))[0])


ENGINES: dict[str, Callable[[Any, pd.DataFrame], np.ndarray]] = {
    "DuckDB": in_duckdb, "ONNX": in_onnx, "SQLite": in_sqlite, "Python": in_python,
    "PostgreSQL": in_postgres,
}  # fmt: skip

LAWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "a*x/(b + x)": lambda x: 2 * x / (0.7 + x),
    "a*exp(-b*x) + c": lambda x: 3 * np.exp(-0.8 * x) + 0.2,
    "a*sin(b*x)/x": lambda x: 1.3 * np.sin(2 * x) / x,
    "a*log(1 + b*x**2)": lambda x: 0.4 * np.log(1 + 3 * x**2),
    "a*sqrt(b + x) - c*x**3": lambda x: 5 * np.sqrt(0.3 + x) - 0.1 * x**3,
}


def laws_in_c(count: int) -> float:
    """Return the largest difference of laws as C functions from `predict`, relative."""
    rng, worst = np.random.default_rng(0), 0.0
    for at, (form, truth) in enumerate(LAWS.items()):
        x = rng.uniform(0.5, 4, 40)
        law = ra.fit_law(form, {"x": x}, truth(x))
        odd = [5e-324, -0.0, 1e-310, 1e300, np.nan]
        points = np.concatenate([rng.uniform(0.1, 5, count // len(LAWS)), odd])
        worst = max(worst, _c_difference(law, points, at))
    return worst


def _c_difference(law: Any, points: np.ndarray, at: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "law.c", Path(folder) / f"law{at}.so"
        loop = (
            "\nvoid all(long n, const double *x, double *y)\n"
            "{\n    for (long i = 0; i < n; i++)\n        y[i] = law(x[i]);\n}\n"
        )
        source.write_text(law.to_c() + loop)
        flags = ["-O2", "-fno-fast-math", "-shared", "-fPIC", "-Wall", "-Werror"]
        subprocess.run(["cc", *flags, source, "-o", library, "-lm"], check=True)
        found = np.empty_like(points)
        place = ctypes.POINTER(ctypes.c_double)
        call = ctypes.CDLL(str(library)).all
        call(ctypes.c_long(len(points)), points.ctypes.data_as(place), found.ctypes.data_as(place))
    return difference(found[:, None], law.predict({"x": points})[:, None])


def difference(found: np.ndarray, wanted: np.ndarray) -> float:
    """Return the largest difference, relative to the value and to the spread of all; gaps agree."""
    assert (np.isnan(found) == np.isnan(wanted)).all(), "a gap in one and a number in the other"
    known = np.isfinite(wanted)
    assert (found[~known & ~np.isnan(wanted)] == wanted[~known & ~np.isnan(wanted)]).all()
    scale = np.abs(wanted[known]) + np.abs(wanted[known]).min(initial=1.0) + 1e-300
    return float((np.abs(found[known] - wanted[known]) / scale).max(initial=0.0))


def absent(engine: str) -> str:
    """Return why an engine cannot take part; empty if it can."""
    needed = {"DuckDB": "duckdb", "PostgreSQL": "psycopg2", "ONNX": "onnxruntime"}.get(engine)
    if needed and importlib.util.find_spec(needed) is None:
        return f"{needed} is not installed"
    if engine == "PostgreSQL" and "RAN_POSTGRES" not in os.environ:
        return "the variable RAN_POSTGRES names no database"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--engine", nargs="*", default=["C", *ENGINES])
    options = parser.parse_args()
    log = Log("hostile_exports")
    made: list[tuple[str, Any]] = []
    for engine in options.engine:
        if log.has(engine=engine, rows=options.rows):
            continue
        if why := absent(engine):
            print(f"skipped: {engine}: {why}")
            continue
        if engine == "C":
            worst, count = laws_in_c(options.rows), len(LAWS)
        else:
            made = made or list(models())
            worst, count = 0.0, len(made)
            for seed, (_, model) in enumerate(made):
                frame = rows(options.rows // count, 100 + seed, hostile=True)
                found = ENGINES[engine](model, frame)
                worst = max(worst, difference(found, expected(model, frame)))
        log.add(engine=engine, rows=options.rows, models=count, difference=worst)


if __name__ == "__main__":
    main()
