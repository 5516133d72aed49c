"""Whole layers replaced: which are, which are refused, and what stays of their weights."""

import pytest
import torch
from torch import nn
from torch.ao.quantization import MinMaxObserver

import rational_anova as ra
from tests.surgery.models import D, H, Layer, Model


class Residual(Layer):
    def forward(self, x):
        return x + super().forward(x)


class Skip(Layer):
    """A path that is closed at the start."""

    def __init__(self):
        super().__init__()
        self.alpha = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        return super().forward(x) + self.alpha * x


class Scaled(Layer):
    def __init__(self):
        super().__init__()
        self.gamma = nn.Parameter(torch.full((D,), 0.1))

    def forward(self, x):
        return self.gamma * super().forward(x)


def normed():
    layer = Layer()
    nn.utils.parametrizations.weight_norm(layer.fc1)
    return layer


@pytest.mark.parametrize("make", [Residual, Scaled, Skip, normed])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_other_layers_are_not_replaced_whole_in_any_precision(make, dtype):
    model = Model(make()).to(dtype)
    was = repr(model)
    with pytest.raises(ValueError, match=r"computes something else|parameters beside"):
        ra.replace_feed_forward_(model)
    assert repr(model) == was


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_layers_of_half_precision_are_replaced_whole(dtype):
    model = Model(Layer()).to(dtype)
    ra.replace_feed_forward_(model)
    units = {p for name, p in model.named_parameters() if ".unit." in name}
    assert {p.dtype for p in units} == {torch.float32}  # in half precision they would not move
    assert {p.dtype for p in set(model.parameters()) - units} == {dtype}


@pytest.mark.parametrize("topology", [None, "0.5d"])
def test_frozen_weights_stay_frozen(topology):
    model = Model(Layer(), Layer())
    model.layers[0].requires_grad_(False)
    model.layers[1].fc1.bias.requires_grad_(False)
    ra.replace_feed_forward_(model, topology)
    assert not any(p.requires_grad for n, p in model.layers[0].named_parameters() if "fc" in n)
    frozen = [n for n, p in model.layers[1].named_parameters() if not p.requires_grad]
    assert frozen == ["fc1.bias"]
    assert model.layers[0].unit.numerator.requires_grad


class Transposed(nn.Module):
    """As GPT-2 has its linear maps."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.nf = outputs
        self.weight = nn.Parameter(torch.randn(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return x @ self.weight + self.bias


def test_weights_learn_wherever_surgery_is_done():
    model = Model(Layer())
    model.layers[0].fc1 = Transposed(D, H)
    with torch.no_grad():
        ra.replace_feed_forward_(model)
    assert all(p.requires_grad for p in model.parameters())


def test_layers_and_weights_in_several_places_are_refused_whole():
    layer = Layer()
    model = Model(*[layer] * 3)
    with pytest.raises(ValueError, match=r"layers.0 is one layer under several names.*layers.1"):
        ra.replace_feed_forward_(model)
    assert model.layers[0] is model.layers[2] is layer
    assert len(ra.replace_activations_(model, share="channel").changes) == 1
    tied = Model(Layer(), Layer())
    tied.layers[1].fc1.weight = tied.layers[0].fc1.weight
    with pytest.raises(ValueError, match=r"layers.0 are tied \(layers.0.fc1.weight, layers.1.fc1"):
        ra.replace_feed_forward_(tied)


def test_biases_cannot_be_chosen():
    with pytest.raises(ValueError, match="bias=False cannot be chosen: .*layers.0 have biases"):
        ra.replace_feed_forward_(Model(Layer()), bias=False)
    bare = Model(Layer())
    bare.layers[0].fc1.bias = bare.layers[0].fc2.bias = None
    with pytest.raises(ValueError, match="bias=True cannot be chosen: .*layers.0 have no bias"):
        ra.replace_feed_forward_(bare, bias=True)
    ra.replace_feed_forward_(bare, bias=False)
    assert bare.layers[0].fc1.bias is None


def test_names_from_a_generator():
    model = Model(Layer(), Layer(), Layer())
    ra.replace_feed_forward_(model, where=(f"layers.{n}" for n in (0, 2)))
    assert [type(part).__name__ for part in model.layers] == ["RANFFN", "Layer", "RANFFN"]


def test_looking_for_activations_leaves_modules_as_they_were():
    observer = MinMaxObserver()
    observer(torch.tensor([-0.16, 0.4]))
    model = Model(Layer())
    model.observer = observer
    calls = []
    model.layers[0].act.register_forward_hook(lambda *_: calls.append(1))
    model.layers[0].register_forward_hook(lambda *_: calls.append(2))
    ra.replace_feed_forward_(model)
    assert (float(observer.min_val), float(observer.max_val)) == pytest.approx((-0.16, 0.4))
    assert not calls
