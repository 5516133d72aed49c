"""The four cells of the ablation are what they say, of one size; the summary counts them right."""

import pytest
import torch
from torch import nn

import rational_anova as ra
from experiments.tabular.ablation import BUDGET, CELLS, made_up, main, summary, work


def _kinds(net):
    return {type(module) for module in net.modules()}


@pytest.mark.parametrize("inputs", [4, 30, 130])
@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_keeps_to_the_budget_and_to_its_units(cell, inputs):
    torch.manual_seed(0)
    net = CELLS[cell](inputs)
    assert ra.count_parameters(net) == pytest.approx(BUDGET, rel=0.02)
    assert net(torch.randn(5, inputs)).shape == (5, 1)
    rational = bool(_kinds(net) & {ra.Rational1d, ra.Rational2d})
    assert rational == cell.endswith("rational") == (nn.ReLU not in _kinds(net))
    assert isinstance(net, ra.DeepRAN) == cell.startswith("sparse")


@pytest.mark.parametrize("cell", CELLS)
def test_every_number_of_a_cell_learns(cell):
    torch.manual_seed(0)
    net = CELLS[cell](6)
    net(torch.randn(512, 6)).square().mean().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name


def test_a_run_is_repeatable_and_has_an_error(tmp_path):
    table = made_up(str(tmp_path))
    one, other = (work(table, "sparse ReLU", 0, steps=20) for _ in range(2))
    assert one["error"] == other["error"]
    assert 0 < float(one["error"]) < 2
    assert one["inputs"] == 6  # three numbers, a gap, two levels


def test_the_summary_ranks_and_leaves_out_what_is_not_whole():
    errors = dict(zip(CELLS, ("4", "2", "3", "1"), strict=True))
    rows = [{"table": t, "cell": c, "error": e} for t in ("one", "two") for c, e in errors.items()]
    lines = list(summary([*rows, {"table": "half", "cell": "dense ReLU", "error": "0"}]))
    assert lines[3] == "sparse rational: mean rank 1.00, best on 2 of 2 tables"
    assert lines[4] == "dense rational beats dense ReLU on 2 of 2; median ratio of errors 0.500"


def test_a_small_run_writes_its_rows_and_sums_them_up(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("experiments.table.FOLDER", tmp_path)
    monkeypatch.setattr("sys.argv", ["ablation", "--smoke"])
    main()
    lines = (tmp_path / "tabular_ablation_smoke.csv").read_text().splitlines()
    assert len(lines) == 1 + len(CELLS)
    assert "sparse rational: mean rank" in capsys.readouterr().out
