"""`ran discover`, as its user would call it; the search itself is replaced."""

import json

import numpy as np
import pandas as pd
import pytest
import sympy as sp
from typer.testing import CliRunner

import rational_anova.discovery as discovery
from rational_anova.cli import app
from rational_anova.cli._tables import listed
from rational_anova.discovery import _discover
from rational_anova.discovery.law._law import Evidence, Law, Parameter
from rational_anova.symbols import Names
from rational_anova.tables import _prepare

T = np.linspace(280, 460, 12)
V = np.array([0.5, 0.3, 0.9, 1.1, 0.7, 0.4, 1.3, 1.9, 0.6, 1.2, 1.7, 0.8])


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "gas.csv"
    frame = {"rownames": range(1, 13), "T": T, "V": V, "gas": ["a", "b"] * 6, "P": 8.314 * T / V}
    pd.DataFrame(frame).to_csv(path, index=False)
    return path


@pytest.fixture
def calls(monkeypatch):
    """Replace the search by one that returns c0 * first column, and remember what it was given."""
    seen = []

    def discover(table, *, progress, **options):
        X, y, names, target = table.X, table.y, list(table.names.columns), table.target
        seen.append(
            {"X": X, "y": y, "names": names, "target": target, "constants": table.known, **options}
        )
        if progress is not None:
            progress("looking [for] symmetries")
        columns = Names(names)
        return Law(sp.Symbol("c0") * columns.symbols[0], (Parameter("c0", 8.314, 0.01),), columns, target,
                  tuple(zip(X.min(0), X.max(0), strict=True)), [[1e-4]],
                  Evidence(rows=len(y), noise=0.01, error=0.01), found=options["seed"] != 3)  # fmt: skip

    monkeypatch.setattr(discovery, "discover", discover, raising=False)
    return seen


def run(*arguments):
    result = CliRunner().invoke(app, ["discover", *map(str, arguments)])
    assert "Traceback" not in result.output
    return result


def test_law_and_notes(table, calls):
    result = run(table, "--target", "P")
    assert result.exit_code == 0, result.output
    assert "P = 8.314*T" in result.output
    assert "The law fits 12 rows" in result.output
    assert "+- 0.01" in result.output
    assert "range       T: 280 to 460" in result.output
    assert "note: rownames was left out: it numbers the rows." in result.output
    assert "--where gas=a" in result.output
    (call,) = calls
    np.testing.assert_array_equal(call["X"], np.stack([T, V], 1))
    np.testing.assert_array_equal(call["y"], 8.314 * T / V)
    del call["X"], call["y"]
    assert call == {
        "names": ["T", "V"], "target": "P", "constants": {}, "positive": [], "periodic": [],
        "without": [], "time_limit": 60.0, "seed": 0,
    }  # fmt: skip


def test_options(table, calls):
    options = "--inputs V,T --constant R=8.314 --constant k=1e-3 --positive T,V --periodic T --without sin,exp"
    more = "--without log --time-limit 5 --seed 7 --noise 0.01 --where gas=b --quiet"
    result = run(table, "--target", "P", *options.split(), *more.split())
    assert result.exit_code == 0, result.output
    assert result.output == "P = 8.314*V\n"
    (call,) = calls
    np.testing.assert_array_equal(call["X"], np.stack([V, T], 1)[1::2])
    assert call["names"] == ["V", "T"]
    assert call["constants"] == {"R": 8.314, "k": 1e-3}
    assert (call["positive"], call["periodic"]) == (["T", "V"], ["T"])
    assert call["without"] == ["sin", "exp", "log"]
    assert (call["time_limit"], call["seed"], call["noise"]) == (5.0, 7, 0.01)


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("gas=a", slice(0, None, 2)), ("gas!=a", slice(1, None, 2)), ("T < 400", T < 400),
        ("T>=300", T >= 300), ("gas == a", slice(0, None, 2)),
    ],
)  # fmt: skip
def test_where(table, calls, condition, rows):
    result = run(table, "--target", "P", "--where", condition, "--exclude", "rownames")
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(calls[0]["X"], np.stack([T, V], 1)[rows])
    assert "rownames" not in result.output
    assert ("gas was left out" in result.output) == (condition[:3] != "gas" or "!=" in condition)


def test_files(table, calls, tmp_path):
    page, law = tmp_path / "out" / "law.html", tmp_path / "law.json"
    result = run(table, "--target", "P", "--report", page, "--json", law)
    assert result.exit_code == 0, result.output
    assert f"report: {page}" in result.output
    assert "numbers the rows" in page.read_text()
    assert "measured P" in page.read_text()
    assert json.loads(law.read_text())
    assert Law.load(law).predict([[2.0, 1.0]]) == 2 * 8.314


def test_no_law(table, calls):
    result = run(table, "--target", "P", "--seed", 3)
    assert result.exit_code == 3
    assert "No compact law was found" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "p"], "--target must be one of 'rownames', 'T', 'V', 'gas', 'P', got 'p'; did you mean 'P'?"),
        (["--target", "gas"], "the target 'gas' must be numbers"),
        (["--target", "P", "--inputs", "T,W"], "--inputs must be one of"),
        (["--target", "P", "--exclude", "W"], "--exclude must be one of"),
        (["--target", "P", "--exclude", "P"], "--exclude leaves out the target 'P'"),
        (["--target", "P", "--where", "gas=c"], "no row meets --where 'gas=c'; gas has a, b"),
        (["--target", "P", "--where", "gas"], "--where must be as state=treated, got 'gas'"),
        (["--target", "P", "--where", "gas<3"], "compares gas, which is not numbers, by size"),
        (["--target", "P", "--where", "T=hot"], "T is a number"),
        (["--target", "P", "--where", "T<300"], "at least 5 rows, and 2 of 2 can be used"),
        (["--target", "P", "--constant", "R"], "--constant must be a name and a number, as R=8.314, got 'R'"),
        (["--target", "P", "--constant", "T=1"], "constant 'T' has the name of a column"),
        (["--target", "P", "--positive", "rownames"], "--positive names 'rownames', which is left out: row number"),
        (["--target", "P", "--periodic", "W"], "--periodic must be one of 'T', 'V'"),
        (["--target", "P", "--time-limit", "0"], "time-limit"),
        ([], "Missing option '--target'"),
    ],
)  # fmt: skip
def test_bad_input_ends_in_one_line(table, calls, arguments, message):
    result = run(table, *arguments)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.replace("│", " ").split())
    if "error:" in result.output:
        assert len(result.output.splitlines()) == 1
    assert not calls


def test_bad_files(tmp_path, calls):
    missing = run(tmp_path / "[bold]missing.csv", "--target", "P")
    assert missing.exit_code == 2
    assert "there is no file" in missing.output
    assert "[bold]missing.csv" in missing.output
    (tmp_path / "empty.csv").touch()
    assert "is empty" in run(tmp_path / "empty.csv", "--target", "P").output


def test_errors_of_the_search_are_one_line(table, monkeypatch):
    def discover(table, **options):
        raise ValueError("positive: T is\nnegative in row 3")

    monkeypatch.setattr(discovery, "discover", discover, raising=False)
    result = run(table, "--target", "P")
    assert (result.exit_code, result.output) == (2, "error: positive: T is negative in row 3\n")


def test_names_with_commas():
    assert listed(["a,b", "c , d", "e,"], ["a,b"]) == ["a,b", "c", "d", "e"]
    assert listed(None, []) == []


def test_help():
    result = run("--help")
    assert result.exit_code == 0
    assert all(word in result.output for word in ("--target", "--where", "--report", "--periodic"))


def test_the_table_is_prepared_once(table, monkeypatch):
    """Twice over, a row number that was asked for got lost, and every cell was read again."""
    read, given = [], []
    numbers, found = _prepare.numbers, _discover._found
    monkeypatch.setattr(_prepare, "numbers", lambda *a: read.append(a[1]) or numbers(*a))
    monkeypatch.setattr(_discover, "_found", lambda *a: given.append(a[0]) or found(*a))
    result = run(table, "--target", "P", "--inputs", "V,rownames", "--time-limit", "1")
    assert result.exit_code in (0, 3), result.output
    assert read == ["the target 'P'", "column 'V'", "column 'rownames'"]
    assert given[0].names.columns == ("V", "rownames")
