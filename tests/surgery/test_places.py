"""Where activations are, and the channels that they are given."""

import pytest
import torch
from torch import nn

import rational_anova as ra
from rational_anova.surgery import recognise
from tests.surgery.models import D, H, Layer, Model, X


class Behind(Layer):
    """Another activation, behind the second map."""

    def __init__(self):
        super().__init__()
        self.act2 = nn.ReLU()

    def forward(self, x):
        return self.act2(super().forward(x))


class Gate(Layer):
    """Squeeze and excitation with convolutions of one pixel, narrow inside."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(D, 4, 1), nn.Conv2d(4, D, 1)
        self.gate = nn.Tanh()

    def forward(self, x):
        return x * self.gate(super().forward(x.mean((2, 3), keepdim=True)))


class EarlyGate(nn.Module):
    """As timm's `GatedMlp`: the activation comes before the split, on both halves."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(D, 2 * H), nn.Linear(H, D)
        self.act = nn.GELU()

    def forward(self, x):
        value, gate = self.act(self.fc1(x)).chunk(2, -1)
        return self.fc2(value * gate)


class Reused(Layer):
    def forward(self, x):
        return self.act(super().forward(x))


class Closed(Behind):
    """Cannot be called on a tensor alone, and has two activations."""

    def forward(self, x, scale):
        return super().forward(x) * scale


@pytest.mark.parametrize(
    ("make", "changed", "width", "left"),
    [
        (Behind, "layers.0.act", H, ("layers.0.act2",)),
        (Gate, "layers.0.act", 4, ("layers.0.gate",)),
        (EarlyGate, "layers.0.act", 2 * H, ()),
    ],
)
def test_widths_are_those_that_activations_are_given(make, changed, width, left):
    model = Model(make())
    x = torch.randn(2, D, 3, 3) if make is Gate else X
    before = model(x)
    state = torch.get_rng_state()
    report = ra.replace_activations_(model, share="channel")
    assert torch.equal(torch.get_rng_state(), state)
    assert [change.name for change in report.changes] == [changed]
    assert model.layers[0].act.features == width
    assert report.left == left
    assert all(name in str(report) for name in left)
    assert torch.allclose(model(x), before, atol=1e-6)


def test_sequences_that_fold_their_channels():
    model = nn.Sequential(
        nn.Linear(D, H), nn.Unflatten(-1, (4, 4)), nn.GELU(), nn.Flatten(-2), nn.Linear(H, D)
    )
    with pytest.raises(ValueError, match="there are activations at 2"):
        ra.replace_activations_(model, share="channel")
    before = model(X)
    ra.replace_activations_(model, where="2", init="fit", share=1, inputs=X[0])
    assert model[2].features == 4
    assert torch.allclose(model(X), before, atol=0.1)


def test_an_activation_of_two_widths_is_refused():
    model = Model(Reused())
    for inputs in (None, X):
        with pytest.raises(ValueError, match=r"layers.0.act is given \d+ channels once.*where="):
            ra.replace_activations_(model, inputs=inputs, share="channel")


def test_widths_in_doubt_are_seen_with_inputs():
    model = Closed()
    with pytest.raises(ValueError, match="act may be given 16 channels or others: pass inputs="):
        ra.replace_activations_(model, share="channel")
    before = model(X, 2.0)
    ra.replace_activations_(model, inputs=(X, 2.0), share="channel")
    assert (model.act.features, model.act2.features) == (H, D)
    assert torch.allclose(model(X, 2.0), before, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "x"),
    [
        (
            nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()),
            torch.randn(2, 3, 10, 10),
        ),
        (nn.Sequential(nn.Conv1d(3, 16, 3), nn.Dropout(), nn.ReLU()), torch.randn(2, 3, 30)),
        (
            nn.Sequential(nn.ConvTranspose2d(3, 16, 3), nn.Identity(), nn.ReLU()),
            torch.ones(2, 3, 9, 9),
        ),
    ],
)
def test_units_behind_convolutions_are_for_channels(model, x):
    model.eval()
    ra.replace_activations_(model, where="2", inputs=x, share="channel")
    assert (model[2].features, model[2].dim) == (16, 1)
    assert model(torch.randn(2, 3, *(n + 2 for n in x.shape[2:]))).shape[1] == 16


def test_images_whose_channels_are_not_told_are_refused():
    model = nn.Sequential(nn.AvgPool2d(2), nn.ReLU())
    with pytest.raises(ValueError, match=r"shape \(2, 3, 5, 5\).*which axis"):
        ra.replace_activations_(model, where="1", inputs=torch.randn(2, 3, 10, 10), share="channel")
    square = nn.Sequential(nn.Conv2d(3, 8, 1), nn.ReLU())
    with pytest.raises(ValueError, match="pass inputs= of another size"):
        ra.replace_activations_(square, where="1", inputs=torch.randn(2, 3, 8, 8), share="channel")
    halved = nn.Sequential(nn.Conv1d(3, 8, 1), nn.GLU(1), nn.ReLU())
    with pytest.raises(ValueError, match="which axis"):
        ra.replace_activations_(halved, where="2", inputs=torch.randn(2, 3, 9), share="channel")


def test_any_default_device():
    model, again = Model(Layer()), Model(Layer())
    with torch.device("meta"):
        assert recognise(nn.GELU()) == "gelu"
        report = ra.replace_activations_(model, share="channel")
        ra.reapply_(again, report.plan)
        report.undo()
        ra.replace_feed_forward_(model, topology="0.5d")
    assert model(X).shape == again(X).shape == X.shape


def test_random_activations_are_fitted_as_they_evaluate():
    model = Model(Layer(nn.RReLU))
    assert model.training
    report = ra.replace_activations_(model, init="fit", share=1)
    assert report.changes[0].error < 0.2
    assert model.layers[0].act.training


def test_the_report_tells_the_tails_of_fitted_units():
    model = Model(Layer())
    change = ra.replace_activations_(model, init="fit", share=1).changes[0]
    unit = model.layers[0].act
    x = torch.tensor([[-40.0], [40.0]]).expand(2, H)
    far = ((unit(x) - nn.functional.gelu(x)).abs() / (1 + x.abs())).max()
    assert change.error < 0.02
    assert float(far.detach()) <= change.tail * 1.001
    report = ra.replace_activations_(Model(Layer()), share="channel")
    assert report.changes[0].tail == 0
    assert "tail" in str(report)
