"""Surgery on models of torch alone, where a review found it wrong or silent."""

import copy
import json

import pytest
import torch
from torch import nn
from torch.ao.quantization import MinMaxObserver

import rational_anova as ra
from rational_anova.surgery import recognise

D, H = 8, 16
X = torch.randn(2, 5, D, generator=torch.manual_seed(0))


class Layer(nn.Module):
    """fc1, act, fc2, and what a test adds."""

    def __init__(self, act=nn.GELU, hidden=H):
        super().__init__()
        self.fc1 = nn.Linear(D, hidden)
        self.act = act()
        self.fc2 = nn.Linear(hidden, D)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class Model(nn.Module):
    """One layer, or several."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


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
    assert {p.dtype for p in model.parameters()} == {dtype}


@pytest.mark.parametrize("topology", [None, "0.5d"])
def test_frozen_weights_stay_frozen(topology):
    model = Model(Layer(), Layer())
    model.layers[0].requires_grad_(False)
    model.layers[1].fc1.bias.requires_grad_(False)
    ra.replace_feed_forward_(model, topology)
    assert not any(p.requires_grad for n, p in model.layers[0].named_parameters() if "fc" in n)
    frozen = [n for n, p in model.layers[1].named_parameters() if not p.requires_grad]
    assert frozen == ["fc1.bias"]
    assert model.layers[0].unit.gate.requires_grad


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
    assert len(ra.replace_activations_(model).changes) == 1
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
    report = ra.replace_activations_(model)
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
        ra.replace_activations_(model)
    before = model(X)
    ra.replace_activations_(model, where="2", init="fit", share=1, inputs=X[0])
    assert model[2].features == 4
    assert torch.allclose(model(X), before, atol=0.1)


def test_an_activation_of_two_widths_is_refused():
    model = Model(Reused())
    for inputs in (None, X):
        with pytest.raises(ValueError, match=r"layers.0.act is given \d+ channels once.*where="):
            ra.replace_activations_(model, inputs=inputs)


def test_widths_in_doubt_are_seen_with_inputs():
    model = Closed()
    with pytest.raises(ValueError, match="act may be given 16 channels or others: pass inputs="):
        ra.replace_activations_(model)
    before = model(X, 2.0)
    ra.replace_activations_(model, inputs=(X, 2.0))
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
    ra.replace_activations_(model, where="2", inputs=x)
    assert (model[2].features, model[2].dim) == (16, 1)
    assert model(torch.randn(2, 3, *(n + 2 for n in x.shape[2:]))).shape[1] == 16


def test_images_whose_channels_are_not_told_are_refused():
    model = nn.Sequential(nn.AvgPool2d(2), nn.ReLU())
    with pytest.raises(ValueError, match=r"shape \(2, 3, 5, 5\).*which axis"):
        ra.replace_activations_(model, where="1", inputs=torch.randn(2, 3, 10, 10))
    square = nn.Sequential(nn.Conv2d(3, 8, 1), nn.ReLU())
    with pytest.raises(ValueError, match="pass inputs= of another size"):
        ra.replace_activations_(square, where="1", inputs=torch.randn(2, 3, 8, 8))
    halved = nn.Sequential(nn.Conv1d(3, 8, 1), nn.GLU(1), nn.ReLU())
    with pytest.raises(ValueError, match="which axis"):
        ra.replace_activations_(halved, where="2", inputs=torch.randn(2, 3, 9))


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


def test_any_default_device():
    model, again = Model(Layer()), Model(Layer())
    with torch.device("meta"):
        assert recognise(nn.GELU()) == "gelu"
        report = ra.replace_activations_(model)
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
    report = ra.replace_activations_(Model(Layer()))
    assert report.changes[0].tail == 0
    assert "tail" in str(report)


def plan(**changes):
    """The plan of a surgery on one layer, with changes in its entry."""
    made = json.loads(json.dumps(ra.replace_activations_(Model(Layer())).plan))
    made["places"][0] |= changes
    return made


@pytest.mark.parametrize(
    ("made", "make", "message"),
    [
        (lambda: plan(), lambda: Layer(nn.ReLU), "its activation was gelu, here it is relu"),
        (lambda: plan(), lambda: Layer(hidden=32), "had 16 channels there, here are 32"),
        (lambda: plan(name="layers.0.fc1"), Layer, "has Linear there, no activation"),
        (lambda: plan(shared="layers.9.act"), Layer, "no unit at layers.9.act"),
        (lambda: plan(arguments=3), Layer, "damaged entry in its plan"),
        (lambda: plan(**{"class": None}), Layer, "damaged entry in its plan"),
        (lambda: plan(arguments={"features": "x"}), Layer, "the plan is damaged"),
        (lambda: plan(**{"class": "Linear"}), Layer, "the class in the plan"),
        (lambda: {**plan(), "places": [7]}, Layer, "damaged entry in its plan: 7"),
        (lambda: {**plan(), "places": [{}]}, Layer, "damaged entry in its plan"),
    ],
)
def test_plans_for_other_models_are_refused(made, make, message):
    model = Model(make())
    was = repr(model)
    with pytest.raises(ValueError, match=message):
        ra.reapply_(model, made())
    assert repr(model) == was


def test_plans_of_whole_layers_for_other_models_are_refused():
    made = ra.replace_feed_forward_(Model(Layer())).plan
    for make, message in (
        (lambda: Layer(nn.ReLU), "its activation was gelu, here it is relu"),
        (lambda: Layer(hidden=32), r"its maps were \[\(8, 16\), \(16, 8\)\], here"),
        (lambda: nn.Linear(D, D), "has Linear there, no layer of two linear maps"),
    ):
        with pytest.raises(ValueError, match=message):
            ra.reapply_(Model(make()), made)


def depths(model):
    groups = ra.parameter_groups(model, 1.0, layer_decay=0.5)
    found = {id(p): g["depth"] for g in groups for p in g["params"]}
    return {name: found[id(p)] for name, p in model.named_parameters()}


def test_layers_decay_with_units_and_without():
    model = nn.Sequential(nn.Linear(4, D), Model(*(Layer() for _ in range(3))), nn.Linear(D, 2))
    before = depths(model)
    assert before["0.weight"] == 3
    assert [before[f"1.layers.{n}.fc1.weight"] for n in range(3)] == [2, 1, 0]
    assert before["2.weight"] == 0
    ra.replace_activations_(model, where="1.layers.0.*")
    after = depths(model)
    assert {name: after[name] for name in before} == before
    with pytest.raises(ValueError, match="layer_decay=0.5 cannot be done: Linear has no blocks"):
        ra.parameter_groups(nn.Linear(2, 2), 1.0, layer_decay=0.5)


def test_blocks_of_one_list_and_lists_in_blocks():
    def block(experts):
        return nn.Sequential(nn.LayerNorm(D), nn.ModuleDict({"experts": Model(*experts)}))

    model = Model(*(block(Layer() for _ in range(count)) for count in (4, 5)))
    found = depths(model)
    assert {d for name, d in found.items() if name.startswith("layers.0.")} == {1}
    assert {d for name, d in found.items() if name.startswith("layers.1.")} == {0}
    assert set(depths(Model(Layer())).values()) == {0}


def test_copies_of_a_converted_model_keep_their_groups():
    model = Model(Layer(), Layer())
    ra.replace_activations_(model, share="model")
    assert depths(copy.deepcopy(model)) == depths(model)
