"""`ran fit-law` and `ran laws`, as their users would call them."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import rational_anova.discovery as discovery
from rational_anova.cli import app
from rational_anova.discovery import Law

S = np.linspace(0.2, 8, 24)
STRAIN = np.array(["a", "b"] * 12)
V = np.where(STRAIN == "a", 3.0, 5.0) * S / (0.7 + S)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "enzyme.csv"
    noise = 0.01 * np.random.default_rng(0).normal(size=24)
    frame = {
        "S": S,
        "v": V + noise,
        "strain": STRAIN,
        "dose": 2.0,
        "gap": [None, *range(23)],
        "s": 0.01,
    }
    pd.DataFrame(frame).to_csv(path, index=False)
    return path


@pytest.fixture
def calls(monkeypatch):
    """Remember what `fit_law` is given, and end it."""
    seen = []

    def fit_law(form, table, **options):
        seen.append((form, table, options))
        raise ValueError("enough")

    monkeypatch.setattr(discovery, "fit_law", fit_law)
    return seen


def run(*arguments):
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert "Traceback" not in result.output
    return result


def test_fit_law(table, tmp_path):
    files = [tmp_path / name for name in ("law.json", "law.html", "law.png")]
    outputs = ["--json", files[0], "--report", files[1], "--plot", files[2]]
    result = run(
        "fit-law", table, "vmax*S/(km + S)", "--target", "v", "--where", "strain=a", *outputs
    )
    assert result.exit_code == 0, result.output
    assert "km " in result.output
    assert all(path.exists() for path in files)
    law = Law.load(files[0])
    assert {p.name: round(p.value, 1) for p in law.parameters} == {"vmax": 3.0, "km": 0.7}
    assert law.evidence.rows == 12, "a gap in a column that the formula has not does not matter"
    assert law.provenance["file"] == "enzyme.csv"
    left = run("fit-law", table, "1/v = a + b/S", "--target", "v", "--where", "strain=b", "--quiet")
    assert left.exit_code == 0, left.output
    assert left.output.startswith("1/v = ")


def test_what_fit_law_is_given(table, calls):
    words = "--by strain --shared km --shrink --bounds km=0:,vmax=:9 --bounds n=1:4 --fixed n=2 --sigma s"
    more = "--loss robust --noise-model proportional --constant R=8.3 --seed 4"
    run(
        "fit-law",
        table,
        "vmax*S**n/(km + S**n)*dose",
        "--target",
        "v",
        *words.split(),
        *more.split(),
    )
    ((form, found, options),) = calls
    assert form == "vmax*S**n/(km + S**n)*dose"
    assert found.names.columns == ("S", "dose"), "a constant column stays if the formula has it"
    assert (found.by, set(found.groups), found.known) == ("strain", {"a", "b"}, {"R": 8.3})
    assert (found.sigma == 0.01).all()
    assert len(options.pop("callbacks")) == 1
    assert options == {
        "bounds": {"km": (0.0, None), "vmax": (None, 9.0), "n": (1.0, 4.0)}, "fixed": {"n": 2.0},
        "shared": ["km"], "shrink": True, "loss": "robust", "noise_model": "proportional", "seed": 4,
    }  # fmt: skip
    run("fit-law", table, "a*S + dose", "--target", "v", "--inputs", "S")
    assert calls[1][1].names.columns == ("S",), "a name that is no input is a number"
    assert set(calls[1][2]) == {"loss", "noise_model", "seed", "callbacks"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a*x"], "the formula 'a*x' has none of the columns, which are S, strain, dose, gap, s"),
        (["a*strain"], "column 'strain' must be numbers: it is text"),
        (["a*S*s", "--sigma", "s"], "the formula has 's', which is given as an error or a group"),
        (["a*S +"], "cannot read the formula"),
        (["a*S", "--bounds", "a=3"], "--bounds must be a name and its bounds, as b2=0: or b2=:5 or b2=0:5, got 'a=3'"),
        (["a*S", "--bounds", "a=x:"], "got 'a=x:'"),
        (["a*S", "--fixed", "a"], "--fixed must be a name and a number, as b1=3, got 'a'"),
        (["a*S", "--shared", "a"], "--shared needs groups: give --by COLUMN"),
        (["a*S", "--shrink"], "--shrink needs groups: give --by COLUMN"),
        (["a*S", "--loss", "lad"], "--loss must be one of"),
        (["a*S", "--x-sigma", "dose=1"], "x_sigma must be one of 'S', got 'dose'"),
    ],
)  # fmt: skip
def test_bad_input_ends_in_one_line(table, calls, words, message):
    result = run("fit-law", table, *words, "--target", "v")
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert len(result.output.splitlines()) == 1
    assert not calls


def test_the_catalogue():
    result = run("laws")
    assert result.exit_code == 0
    assert all(text in result.output for text in ("Arrhenius", "vmax*x/(km + x)", "where it holds"))
    assert f"{len(discovery.catalogue())} laws" in result.output
    thermal = run("laws", "--field", "thermal").output
    assert "Arrhenius" in thermal
    assert "Michaelis" not in thermal


def test_one_law_and_search():
    result = run("laws", "langmuir")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0] == "law         Michaelis-Menten"
    assert "formula     vmax*x/(km + x)" in lines
    assert "km          input at half the limit; positive" in lines
    several = run("laws", "enzyme").output
    assert "Michaelis-Menten" in several
    assert "Planck" not in several


def test_no_such_law():
    result = run("laws", "Michaelis-Mentn")
    assert result.exit_code == 2
    assert "near it are 'Michaelis-Menten'" in result.output
    field = run("laws", "--field", "heat")
    assert field.exit_code == 2
    assert "field must be one of 'astronomy'" in field.output
