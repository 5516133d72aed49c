"""The cost of rows, the four cells, and what the docs make of them."""

import pandas as pd
import pytest

from experiments import results
from experiments.tabular import doc_studies, figure_scaling, losses, scaling


def test_a_small_run_records_what_a_fit_costs(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.table.FOLDER", tmp_path)
    monkeypatch.setattr("sys.argv", ["scaling", "--smoke"])
    scaling.main()
    row = pd.read_csv(tmp_path / "tabular_scaling_smoke.csv").iloc[0]
    assert row["rows"] == 200
    assert 0 < row["error"] < 1
    assert row["seconds"] > 0
    assert 0.05 < row["peak_gib"] < 8


def test_tables_and_figure_of_recorded_studies(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.results.FOLDER", tmp_path)
    assert len(list(doc_studies.scaling())) == len(list(doc_studies.ablation())) == 1
    assert figure_scaling.scaling_figure() is None
    record = {"rows": [1000, 100], "seconds": [2.0, 1.0], "processor_seconds": [2.5, 1.0],
              "peak_gib": [1.0, 0.5], "effects": [3, 2], "error": [0.1, 0.2]}  # fmt: skip
    pd.DataFrame(record).to_csv(tmp_path / "tabular_scaling.csv")
    _, first, second = doc_studies.scaling()
    assert (first[0], second[:2]) == ("100", ["1,000", "2"])
    axes = figure_scaling.scaling_figure().axes
    assert all(a.get_xscale() == a.get_yscale() == "log" and a.get_ylabel() for a in axes)
    cells = [
        {"table": t, "cell": cell, "error": error}
        for t in ("one", "two")
        for error, cell in enumerate(doc_studies.CELLS, 1)
    ]
    pd.DataFrame(cells).to_csv(tmp_path / "tabular_ablation.csv")
    assert list(doc_studies.ablation())[1:3] == [
        ["dense ReLU", "1.00", "2", "2", "1.000"],
        ["dense rational", "2.00", "0", "2", "2.000"],
    ]


def test_losses_of_a_small_run(tmp_path, monkeypatch):
    for package in ("statsmodels", "lightgbm"):
        pytest.importorskip(package)
    monkeypatch.setattr("experiments.results.FOLDER", tmp_path)
    losses.main(["--smoke", "--only", "diabetes"])
    rows = results.read("tabular_losses_smoke")["rows"]
    errors = {row["model"]: row["error"] for row in rows}
    assert set(errors) == {"constant", "RAN", "linear", "LightGBM"}
    assert errors["RAN"] < errors["constant"]
