"""`ran dynamics`: equations of time series from the shell."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import rational_anova as ra
from rational_anova.cli import app

runner = CliRunner()


@pytest.fixture
def series(tmp_path):
    t = np.linspace(0, 6, 40)
    table = pd.DataFrame({"t": t, "N": 5 / (1 + 4 * np.exp(-t)), "note": "a"})
    table.to_csv(tmp_path / "series.csv", index=False)
    return tmp_path / "series.csv"


def test_a_system_is_printed_written_and_drawn(series, tmp_path):
    out = runner.invoke(app, ["dynamics", str(series), "--time", "t", "--states", "N",
                              "--json", str(tmp_path / "n.json"),
                              "--plot", str(tmp_path / "n.png"), "--quiet"])  # fmt: skip
    assert out.exit_code == 0, out.output
    assert out.output.strip() == "dN/dt = -N**2/5 + N"
    assert str(ra.load(tmp_path / "n.json")) == "dN/dt = -N**2/5 + N"
    assert (tmp_path / "n.png").stat().st_size > 10_000


def test_a_column_that_is_not_there_is_named(series):
    out = runner.invoke(app, ["dynamics", str(series), "--time", "time"])
    assert out.exit_code != 0
    assert "--time must be one of 't', 'N', 'note'" in out.output + str(out.exception)
