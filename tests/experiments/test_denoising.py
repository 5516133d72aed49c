"""The denoising experiment: parts that share nothing, frames, measures, and what is made of rows."""

import math

import pandas as pd
import pytest
import torch
from safetensors.torch import save

import rational_anova as ra
from experiments import results
from experiments.denoising import config, doc_tables, examples, figures, recorded
from experiments.denoising.frame import Frame, cosine_basis, denoised
from experiments.denoising.models import build
from experiments.denoising.pictures import crops, made_up, parts, scaled
from experiments.denoising.quality import psnr, ssim
from experiments.denoising.shifts import moved, shift_of
from experiments.denoising.train import measured, quality, trained
from rational_anova.images import NoisyPairs

PROTOCOL, SETTINGS = config.read()
QUICK = PROTOCOL._replace(steps=3, crops=2, size=16, checks=1, margin=8)
SIZES = {"10k": 10_000, "50k": 50_000, "100k": 100_000, "200k": 200_000, "600k": 600_000}


def setting(name):
    return next(each for each in SETTINGS if each.name == name)


def test_no_subject_is_in_two_parts():
    subjects = tuple(f"s{n % 23}" for n in range(100))
    blank = torch.zeros(100, 3, 2, 2, dtype=torch.uint8)
    names = tuple(map(str, range(100)))
    found = parts(NoisyPairs(blank, blank, names, subjects, subjects))
    seen = [set(part.subjects) for part in found]
    assert not seen[0] & seen[1]
    assert not seen[0] & seen[2]
    assert not seen[1] & seen[2]
    assert sorted(sum((part.names for part in found), ()), key=int) == list(names)
    assert len(found.test) >= 30
    assert len(found.validation) >= 15
    again = parts(NoisyPairs(blank, blank, names, subjects, subjects))
    assert again.test.names == found.test.names


def test_crops_of_both_pictures_are_the_same_place():
    pairs = made_up().train
    same = NoisyPairs(pairs.clean, pairs.clean, pairs.names, pairs.scenes, pairs.subjects)
    noisy, clean = crops(same, 16, 24, torch.Generator().manual_seed(0))
    assert noisy.shape == (16, 3, 24, 24)
    assert torch.equal(noisy, clean)
    other, _ = crops(same, 16, 24, torch.Generator().manual_seed(1))
    assert not torch.equal(noisy, other)


@pytest.mark.parametrize("patch", [2, 4, 8])
def test_the_basis_is_orthonormal(patch):
    basis = cosine_basis(patch)
    assert torch.allclose(basis @ basis.T, torch.eye(3 * patch**2), atol=1e-5)
    grey = torch.full((1, 3, patch, patch), 0.5)
    found = Frame(torch.nn.Identity(), patch).coefficients(grey).flatten()
    assert found[0] == pytest.approx(0.5 * math.sqrt(3) * patch)
    assert found[1:].abs().max() < 1e-5


def test_a_perfect_network_gives_back_the_clean_picture():
    pairs = made_up().train
    frame = Frame(torch.nn.Identity(), 4, convolution=True).measure(pairs)
    noisy, clean = scaled(pairs.noisy), scaled(pairs.clean)
    wanted = (frame.coefficients(clean) - frame.coefficients(noisy)) / frame.strength[:, None, None]
    frame.net = _Says(wanted)
    assert torch.allclose(frame(noisy), clean, atol=1e-5)
    inputs = frame.coefficients(noisy) - frame.centre[:, None, None]
    assert torch.allclose(
        (inputs / frame.spread[:, None, None]).std((0, 2, 3)), torch.ones(48), atol=1e-3
    )


class _Says(torch.nn.Module):
    def __init__(self, what):
        super().__init__()
        self.what = what

    def forward(self, x):
        return self.what


@pytest.mark.parametrize("each", SETTINGS, ids=lambda s: s.name)
def test_networks_have_the_size_of_their_name_and_start_by_changing_nothing(each):
    model = build(each.kind, **each.arguments)
    count = ra.count_parameters(model.net, trainable=False)
    size = SIZES.get(each.name.rpartition("_")[2])
    if size:
        assert abs(count / size - 1) < 0.07
    if each.name == "ran_paper":
        assert count == 12_475
    picture = torch.rand(1, 3, 16, 16)
    if each.kind != "kan":
        assert torch.equal(model(picture), picture)


def test_families_are_named_and_tuned_once():
    families = {each.family for each in SETTINGS}
    assert families == set(recorded.NAMES) == set(figures._MARKS)
    for family in families:
        tuned = [each.tuned for each in SETTINGS if each.family == family]
        assert sum(tuned) == 1
        assert tuned[0], "the others need the rate that it chooses"


def test_psnr_and_ssim():
    x = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(psnr(x + 0.1, x), torch.tensor(20.0, dtype=torch.float64), atol=1e-5)
    assert torch.allclose(ssim(x, x), torch.ones(2, dtype=torch.float64))
    flat, lighter = torch.full((1, 1, 16, 16), 0.4), torch.full((1, 1, 16, 16), 0.6)
    said = (2 * 0.4 * 0.6 + 1e-4) / (0.4**2 + 0.6**2 + 1e-4)  # without contrast, by hand
    assert float(ssim(lighter, flat)) == pytest.approx(said, abs=1e-5)
    noise = 0.2 * torch.randn(x.shape, generator=torch.Generator().manual_seed(1))
    assert bool((ssim(x + noise, x) < ssim(x + noise / 4, x)).all())


def test_a_shift_is_found():
    clean = scaled(made_up().test.clean[0]).double()
    wanted = torch.tensor([0.4, -0.2], dtype=torch.float64)
    assert torch.allclose(shift_of(moved(clean, wanted), clean), wanted, atol=0.02)


def test_training_keeps_the_best_weights_and_evaluation_the_mode():
    three = made_up()
    model, best = trained(setting("cnn_10k"), QUICK, three, 1e-3, 0)
    assert quality(model, three.validation, QUICK.margin)["psnr"] == pytest.approx(best)
    model.train()
    assert denoised(model, three.test.noisy, 4).shape == (2, 3, 56, 56)
    assert model.training
    first, _ = measured(setting("mlp_10k"), QUICK, three, 1e-3, 0)
    second, _ = measured(setting("mlp_10k"), QUICK, three, 1e-3, 0)
    assert first["test_psnr"] == second["test_psnr"]


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """Recorded runs in a folder of their own."""
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(results, "FIGURES", tmp_path)
    table = [("noisy", "noisy", 0, 0, 0, 36.0, 36.1)]
    for rate, value in ((1e-3, 37.0), (3e-3, 37.5)):
        table.append(("mlp_50k", "mlp", rate, 0, 50_088, value, value))
    table.append(("mlp_50k", "mlp", 3e-3, 1, 50_088, 37.0, 36.9))
    table.append(("mlp_10k", "mlp", 3e-3, 0, 9_968, 36.8, 36.7))
    columns = ["model", "family", "rate", "seed", "parameters", "validation_psnr", "test_psnr"]
    frame = pd.DataFrame(table, columns=columns).assign(test_ssim=0.9, cpu_seconds=3.0)
    frame.to_csv(tmp_path / "denoising_runs.csv", index=False)
    return frame


def test_validation_chooses_the_rate_and_seeds_are_averaged(rows):
    assert recorded.chosen_rates(rows) == {"mlp": 3e-3}
    table = recorded.chosen()
    assert list(table.index) == ["mlp_10k", "mlp_50k"]
    assert table.loc["mlp_50k", "test"] == pytest.approx(37.2)
    assert table.loc["mlp_50k", "seeds"] == 2
    lines = list(doc_tables.models({}))
    assert lines[-1][3] == "37.20 (36.90 to 37.50)"
    assert lines[-1][4] == "+1.10"
    assert list(doc_tables.by_size({}))[2] == ["50k", "37.20"]
    assert list(doc_tables.rates({}))[1] == ["`mlp_50k`", "37.00", "37.50"]


def test_figures_are_drawn(rows, tmp_path, capsys, monkeypatch):
    figures.main()
    assert (tmp_path / "denoising_pareto.png").exists()
    assert "no weights are kept" in capsys.readouterr().out
    three = made_up(size=128)
    each = setting("mlp_50k")
    model = build(each.kind, **each.arguments).measure(three.train)
    file = recorded.weights("mlp_50k", 3e-3, 0)
    file.parent.mkdir()
    file.write_bytes(save(model.state_dict()))
    figure = examples.examples_figure(three)
    assert len(figure.axes) == 6 * 3  # noisy, MLP and clean; three pictures and their errors
    assert examples.detail(torch.zeros(3, 128, 128)) == (0, 0)


def test_nothing_recorded_is_said(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    figures.main()
    assert "nothing is recorded" in capsys.readouterr().out
    assert len(list(doc_tables.models({}))) == 1
