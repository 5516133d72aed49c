"""Tables and loaders that a fit takes, and those it refuses."""

import pandas as pd
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, WeightedRandomSampler

import rational_anova as ra

D = torch.float64


def data(rows=80):
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(rows, 3, generator=generator, dtype=D)
    return X, torch.sin(X[:, 0]) + X[:, 1] * X[:, 2]


class Plain(torch.utils.data.Dataset):
    def __init__(self, X, y):
        self.X, self.y = X, y

    def __len__(self):
        return len(self.X)

    def __getitem__(self, n):
        return self.X[n], self.y[n]


def network(**options):
    torch.manual_seed(0)
    return ra.RAN(3, dtype=D, **{"topology": "all", "noise": 0.1, **options})


def linear(outputs=1):
    torch.manual_seed(0)
    return nn.Linear(3, outputs).double()


def test_a_share_cannot_keep_a_sampler():
    X, y = data()

    loader = DataLoader(Plain(X, y), 8, sampler=WeightedRandomSampler([1.0] * 80, 80))
    with pytest.raises(ValueError, match="cannot keep the WeightedRandomSampler"):
        ra.fit(network(), loader, validation=0.2)
    short = DataLoader(Plain(X, y), 100, drop_last=True)
    with pytest.raises(ValueError, match="yields no batch"):
        ra.fit(network(), short)


def test_half_precision_models_train():
    X, y = data()
    history = ra.fit(nn.Linear(3, 1).bfloat16(), (X, y), optimizer="adam", epochs=3)
    assert history.training_loss > 0


def test_batches_of_weight_zero_are_passed_over():
    X, y = data()
    weight = torch.zeros(80)
    weight[:10] = 1.0
    for optimizer, options in (("adam", {"batch_size": 4}), ("lm", {}), ("lbfgs", {})):
        history = ra.fit(network(), (X, y, weight), optimizer=optimizer, epochs=3, **options)
        assert history.training_loss > 0


def test_a_path_from_a_loader_has_the_same_penalties():
    X, y = data()

    options = {"validation": (X[:20], y[:20]), "penalties": 2, "epochs": 1, "optimizer": "adam"}
    one = ra.fit_path(network(), (X, y), refit=False, **options)
    two = ra.fit_path(network(), DataLoader(Plain(X, y), 16), refit=False, **options)
    assert two.steps[1].penalty == pytest.approx(one.steps[1].penalty)
    with pytest.raises(ValueError, match="needs a model with terms"):
        ra.fit_path(linear(), (X, y), validation=0.2, penalties=[0.1])


@pytest.mark.parametrize(
    ("model", "form", "options", "error", "message"),
    [
        (ra.RAN, data(), {}, TypeError, "model must be an nn.Module.*build it first"),
        (network(), (3.0, data()[1]), {}, TypeError, "X must be an array, .* got 3.0"),
        (network(), (data()[0].to(torch.complex64), data()[1]), {}, TypeError, "real numbers"),
        (network(), data(), {"seed": 2**45}, ValueError, "seed must be below"),
        (network(), data(), {"validation": 30}, ValueError, "validation=30 must be a share"),
    ],
)
def test_plausible_mistakes(model, form, options, error, message):
    with pytest.raises(error, match=message):
        ra.fit(model, form, **options)


def test_missing_values_of_pandas_are_placed():
    frame = pd.DataFrame(data()[0].numpy(), columns=list("abc")).astype("Float64")
    frame.loc[4, "b"] = pd.NA
    with pytest.raises(ValueError, match="nan at row 4, column 1"):
        ra.fit(network(), (frame, data()[1]))
