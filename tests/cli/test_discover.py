"""`ran discover`, as its user would call it; the search itself is replaced."""

import json
import re
import signal

import numpy as np
import pandas as pd
import pytest
import sympy as sp
from typer.testing import CliRunner

import rational_anova.discovery as discovery
from rational_anova._core.callbacks import Progress
from rational_anova.cli import app
from rational_anova.cli._console import spinner
from rational_anova.cli._tables import listed
from rational_anova.cli.laws._outcome import progress_line
from rational_anova.discovery import Evidence, Grade, Law, Parameter
from rational_anova.discovery.law import Sample
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

    def discover(table, *, callbacks, **options):
        X, y, names, target = table.X, table.y, list(table.names.columns), table.target
        seen.append({
            "table": table, "X": X, "y": y, "names": names, "target": target,
            "constants": table.known, **options,
        })  # fmt: skip
        for tell in callbacks:
            tell(Progress("looking [for] symmetries", 1.0, best=0.1, formula="c*[T]", left=5.0))
        columns = Names(names)
        return Law(sp.Symbol("c0") * columns.symbols[0], (Parameter("c0", 8.314, 0.01),), columns, target,
                  tuple(zip(X.min(0), X.max(0), strict=True)), [[1e-4]],
                  Evidence(rows=len(y), noise=0.01, error=0.01),
                  grade=Grade.INTERPOLATION if options["seed"] == 3 else Grade.SEVERAL,
                  provenance={"version": "1"}, data=Sample(X, y))  # fmt: skip

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
    assert "+- 0.01" in result.output
    assert "range       T: 280 to 460" in result.output
    assert "note: rownames was left out: it numbers the rows." in result.output
    assert 'by="gas" (in the shell --by gas)' in result.output
    assert "--where gas=a" in result.output
    (call,) = calls
    np.testing.assert_array_equal(call["X"], np.stack([T, V], 1))
    np.testing.assert_array_equal(call["y"], 8.314 * T / V)
    del call["X"], call["y"], call["table"]
    assert call == {
        "names": ["T", "V"], "target": "P", "constants": {}, "positive": [], "periodic": [],
        "without": [], "time_limit": 60.0, "seed": 0, "loss": "squares", "noise_model": "auto",
    }  # fmt: skip


def test_options(table, calls):
    options = "--inputs V,T --constant R=8.314 --constant k=1e-3 --positive T,V --periodic T --without sin,exp"
    more = "--without log --time-limit 5 --seed 7 --noise 0.01 --where gas=b --quiet"
    functions = ["--function", "erf(b*x)", "--function", "besselj(0, x)"]
    result = run(table, "--target", "P", *options.split(), *more.split(), *functions)
    assert result.exit_code == 0, result.output
    assert result.output == "P = 8.314*V\n"
    (call,) = calls
    np.testing.assert_array_equal(call["X"], np.stack([V, T], 1)[1::2])
    assert call["names"] == ["V", "T"]
    assert call["constants"] == {"R": 8.314, "k": 1e-3}
    assert (call["positive"], call["periodic"]) == (["T", "V"], ["T"])
    assert call["without"] == ["sin", "exp", "log"]
    assert call["functions"] == ["erf(b*x)", "besselj(0, x)"]
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
    page, law, plot = tmp_path / "out" / "law.html", tmp_path / "law.json", tmp_path / "law.png"
    result = run(
        table, "--target", "P", "--report", page, "--json", law, "--plot", plot, "--where", "T<400"
    )
    assert result.exit_code == 0, result.output
    assert all(
        f"{k}: {p}" in result.output for k, p in (("report", page), ("law", law), ("plot", plot))
    )
    assert "numbers the rows" in page.read_text()
    assert ">measured<" in page.read_text()
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert json.loads(law.read_text())
    found = Law.load(law)
    assert found.predict([[2.0, 1.0]]) == 2 * 8.314
    assert found.provenance == {"file": "gas.csv", "where": ["T<400"], "version": "1"}


def test_no_law(table, calls):
    result = run(table, "--target", "P", "--seed", 3)
    assert result.exit_code == 3
    assert "interpolation" in result.output


def test_errors_and_groups(tmp_path, calls):
    path = tmp_path / "runs.csv"
    frame = {"t": T, "y": V, "s": 0.1 + V / 10, "st": T / 100, "run": [1, 2] * 6, "u": V**2}
    pd.DataFrame(frame).to_csv(path, index=False)
    words = "--sigma s --x-sigma t=st --x-sigma u=0.5 --by run --loss robust --noise-model Poisson"
    result = run(path, "--target", "y", *words.split())
    assert result.exit_code == 0, result.output
    (call,) = calls
    found = call["table"]
    assert found.names.columns == ("t", "u")
    np.testing.assert_allclose(found.sigma, 0.1 + V / 10)
    np.testing.assert_allclose(found.x_sigma, np.stack([T / 100, np.full(12, 0.5)], 1))
    assert (found.by, found.groups.tolist()) == ("run", ["1", "2"] * 6)
    assert (call["loss"], call["noise_model"]) == ("robust", "Poisson")
    run(path, "--target", "y", "--inputs", "t", "--sigma", "0.25", "--by", "run")
    assert calls[1]["table"].names.columns == ("t",)
    assert (calls[1]["table"].sigma == 0.25).all()


def test_forms_and_templates(table, calls, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('[[form]]\nname = "mine"\nformula = "a*x**2"\n')
    words = ["--forms", own, "--form", "a*T/(b + V)", "--form", "a*T", "--template", "T/V - f(V)"]
    result = run(table, "--target", "P", *words)
    assert result.exit_code == 0, result.output
    named, *texts = calls[0]["forms"]
    assert (named.name, texts) == ("mine", ["a*T/(b + V)", "a*T"])
    assert calls[0]["template"] == "T/V - f(V)"


# ---- units


@pytest.fixture
def with_units(tmp_path):
    path = tmp_path / "units.csv"
    frame = {"id": range(12), "T [K]": T, "V (L/mol)": V, "gas": ["a", "b"] * 6, "P [bar]": T / V}
    pd.DataFrame(frame).to_csv(path, index=False)
    return path


def test_units_in_headers(with_units, calls):
    pytest.importorskip("pint")
    typed = ["--target", "P [bar]", "--where", "T [K]<400", "--positive", "T [K],V"]
    for words in (typed, ["--target", "P", "--where", "T<400", "--positive", "T,V"]):
        result = run(with_units, *words)
        assert result.exit_code == 0, result.output
        assert "note: units: T in K, V in L/mol, P in bar." in result.output
        assert "parameters of the law may have units" in result.output
    first, second = calls
    assert first["names"] == second["names"] == ["T", "V"]
    assert (first["target"], first["positive"]) == ("P", ["T", "V"])
    assert first["units"] == {"T": "K", "V": "L/mol", "P": "bar"}
    assert first["absorb_units"]
    assert (first["X"][:, 0] < 400).all()
    strict = run(with_units, "--target", "P", "--no-absorb-units", "--units", "P=Pa")
    assert "of their own" not in strict.output
    assert not calls[2]["absorb_units"]
    assert calls[2]["units"]["P"] == "Pa"


def test_units_that_are_not_used(with_units, calls, tmp_path):
    pytest.importorskip("pint")
    off = run(with_units, "--target", "P [bar]", "--no-units")
    assert off.exit_code == 0, off.output
    assert calls[0]["names"] == ["T [K]", "V (L/mol)"]
    constant = run(with_units, "--target", "P", "--constant", "R=8.3")
    assert "units in the headers are not used: R has none; give it by --units R=" in constant.output
    run(with_units, "--target", "P", "--constant", "R=8.3", "--units", "R=J/(mol K)")
    assert calls[2]["units"]["R"] == "J/(mol K)"
    path = tmp_path / "celsius.csv"
    pd.DataFrame({"T [degC]": T, "x [1]": V, "x": V**2, "P [bar]": T / V}).to_csv(path, index=False)
    offset = run(path, "--target", "P", "--inputs", "T")
    assert "not used: the unit of 'T': 'degC' has another zero" in offset.output
    twice = run(path, "--target", "P")  # x would be there twice
    assert "not used: x [1] has none" in twice.output
    assert calls[4]["names"] == ["T", "x [1]", "x"]
    assert all("units" not in calls[n] for n in (0, 1, 3, 4))


def test_units_without_pint(with_units, calls, monkeypatch):
    from rational_anova.discovery.dimensions import _headers

    def absent(header):
        raise ImportError("units need pint")

    monkeypatch.setattr(_headers, "units_in_header", absent)
    result = run(with_units, "--target", "P [bar]")
    assert result.exit_code == 0, result.output
    assert "to use these, install pint" in result.output
    assert calls[0]["names"] == ["T [K]", "V (L/mol)"]


# ---- progress and Ctrl-C


def test_progress_is_one_line():
    now = Progress("quotients", 3.0, best=0.0123, formula="x" * 100, left=57.2)
    line = progress_line(now)
    assert line == f"quotients: {'x' * 57}..., error 0.012"
    assert progress_line(Progress("reading", 0.0)) == "reading"


def test_a_terminal_shows_the_best_law_and_the_time_left(monkeypatch, capsys):
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm"), ("COLUMNS", "120")):
        monkeypatch.setenv(name, value)
    with spinner() as show:
        show("quotients: c*[T]", 57.0)
    shown = capsys.readouterr().err
    assert "quotients: c*[T]" in shown
    assert re.search(r"5[67] s left", shown)


def test_interrupted(table, calls, monkeypatch, tmp_path):
    """The library returns the best law so far; the command shows it, and says so."""
    search = discovery.discover

    def interrupted(*arguments, **options):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            return search(*arguments, **options)

    monkeypatch.setattr(discovery, "discover", interrupted)
    before = signal.getsignal(signal.SIGINT)
    result = run(table, "--target", "P", "--json", tmp_path / "law.json")
    assert result.exit_code == 130
    assert result.stderr == "interrupted: this is the best law so far\n"
    assert "P = 8.314*T" in result.stdout
    assert (tmp_path / "law.json").exists()
    assert signal.getsignal(signal.SIGINT) is before


def test_interrupted_before_there_is_a_law(table, monkeypatch):
    monkeypatch.setattr(discovery, "discover", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    result = run(table, "--target", "P")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "interrupted: nothing more was written\n"


# ---- bad input


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
        (["--target", "P", "--sigma", "W"], "--sigma, unless it is a number, must be one of 'rownames', 'T', 'V', 'gas', got 'W'"),
        (["--target", "P", "--sigma", "-1"], "sigma must be positive, got -1.0"),
        (["--target", "P", "--sigma", "gas"], "sigma must be numbers: it is text"),
        (["--target", "P", "--x-sigma", "T"], "--x-sigma must be as T=0.5, got 'T'; there are rownames, T, V, gas"),
        (["--target", "P", "--x-sigma", "gas=1"], "x_sigma names 'gas', which is left out: text"),
        (["--target", "P", "--by", "P"], "--by must be one of 'rownames', 'T', 'V', 'gas', got 'P'"),
        (["--target", "P", "--by", "gas", "--where", "gas=a"], "by='gas' has one group only, 'a', in the 6 rows"),
        (["--target", "P", "--by", "T"], "by='T' has 12 groups in 12 rows"),
        (["--target", "P", "--loss", "huber"], "--loss must be one of 'squares', 'robust', got 'huber'"),
        (["--target", "P", "--noise-model", "poisson"], "got 'poisson'; did you mean 'Poisson'?"),
        (["--target", "P", "--units", "T"], "--units must be as T=K, got 'T'"),
        (["--target", "P", "--units", "rownames=1"], "--units names 'rownames', which is left out: row number"),
        (["--target", "P", "--forms", "none.toml"], "none.toml"),
        (["--target", "P", "--plot", "law.doc"], "cannot draw law.doc: its name must end in one of .png"),
        (["--target", "P", "--plot", "law.png", "--json", "./law.png"], "cannot write law.png twice"),
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
    assert all(
        word in result.output for word in ("--target", "--where", "--report", "--periodic", "--by")
    )


def test_the_table_is_prepared_once(table, calls, monkeypatch):
    """Twice over, a row number that was asked for got lost, and every cell was read again."""
    read, numbers = [], _prepare.numbers
    monkeypatch.setattr(_prepare, "numbers", lambda *a: read.append(a[1]) or numbers(*a))
    result = run(table, "--target", "P", "--inputs", "V,rownames")
    assert result.exit_code == 0, result.output
    assert read == ["the target 'P'", "column 'V'", "column 'rownames'"]
    assert calls[0]["names"] == ["V", "rownames"]
