"""Surgery on models of torch alone: what is found, what it computes, and the way back."""

import copy
import json

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

import rational_anova as ra
from rational_anova.functional import BASES
from rational_anova.surgery import SharedUnit, recognise

D, H = 8, 16


class Mlp(nn.Module):
    """As timm has it."""

    def __init__(self, act=nn.GELU, drop=0.0):
        super().__init__()
        self.fc1 = nn.Linear(D, H)
        self.act = act()
        self.drop1 = nn.Dropout(drop)
        self.norm = nn.Identity()
        self.fc2 = nn.Linear(H, D)
        self.drop2 = nn.Dropout(drop)

    def forward(self, x):
        return self.drop2(self.fc2(self.norm(self.drop1(self.act(self.fc1(x))))))


class Gated(nn.Module):
    """As LLaMA has it."""

    def __init__(self):
        super().__init__()
        self.gate_proj = nn.Linear(D, H, bias=False)
        self.up_proj = nn.Linear(D, H, bias=False)
        self.down_proj = nn.Linear(H, D, bias=False)
        self.act_fn = nn.SiLU()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class Halves(nn.Module):
    """Both halves of the first map in one, as ModernBERT has it; the activation is a function."""

    def __init__(self):
        super().__init__()
        self.Wi = nn.Linear(D, 2 * H)
        self.act = functional.gelu
        self.Wo = nn.Linear(H, D)

    def forward(self, x):
        value, gate = self.Wi(x).chunk(2, -1)
        return self.Wo(self.act(value) * gate)


class Pointwise(nn.Module):
    """Convolutions of one pixel, as in ConvNeXt."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Conv2d(D, H, 1)
        self.act = nn.GELU()
        self.fc2 = nn.Conv2d(H, D, 1)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class Stack(nn.Module):
    """Embedding, blocks, a pooler that is no feed-forward layer, and a head."""

    def __init__(self, make=Mlp, depth=3):
        super().__init__()
        self.embed = nn.Linear(4, D)
        self.blocks = nn.ModuleList(make() for _ in range(depth))
        self.pooler = nn.Sequential(nn.Linear(D, D), nn.Tanh())
        self.head = nn.Linear(D, 2)

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = x + block(x)
        return self.head(self.pooler(x))


def sequence():
    return nn.Sequential(nn.Linear(D, H), nn.LayerNorm(H), nn.GELU(), nn.Dropout(), nn.Linear(H, D))


def encoder(activation="gelu"):
    layer = nn.TransformerEncoderLayer(D, 2, H, batch_first=True, activation=activation)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


X = torch.randn(2, 5, 4, generator=torch.manual_seed(0))
WIDE = torch.randn(2, 5, D, generator=torch.manual_seed(1))
MODELS = {
    "timm": (Stack, X, 3, "gelu"),
    "gated": (lambda: Stack(Gated), X, 3, "silu"),
    "halves": (lambda: Stack(Halves), X, 3, "gelu"),
    "sequence": (sequence, WIDE, 1, "gelu"),
    "torch": (encoder, WIDE, 2, "gelu"),
    "torch, relu": (lambda: encoder("relu"), WIDE, 2, "relu"),
    "pixels": (Pointwise, torch.randn(2, D, 3, 3), 1, "gelu"),
}
every_model = pytest.mark.parametrize(("make", "x", "places", "base"), MODELS.values(), ids=MODELS)


def built(make):
    torch.manual_seed(0)
    return make().eval()


def picture(model):
    """All that may not change: what there is, what it holds, in which mode."""
    return (
        repr(model),
        {name: id(tensor) for name, tensor in model.state_dict(keep_vars=True).items()},
        [(name, module.training, set(vars(module))) for name, module in model.named_modules()],
    )


@every_model
@pytest.mark.parametrize("share", ["channel", 4, "layer", "model"])
def test_the_same_function_until_it_learns(make, x, places, base, share):
    model = built(make)
    with torch.no_grad():
        before = model(x)
    was = picture(model)
    size = sum(p.numel() for p in model.parameters())
    report = ra.replace_activations_(model, share=share, inputs=x)
    assert len(report.changes) == places
    with torch.no_grad():
        assert torch.allclose(model(x), before, atol=1e-6)
    units = [m for m in model.modules() if isinstance(m, ra.Rational1d)]
    assert {unit.base for unit in units} == {base}
    each = {"channel": H, 4: 4, "layer": 1, "model": 1}[share]
    own = 1 if share == "model" else places
    assert len(units) == own
    assert report.before.parameters == size
    assert report.after.parameters == size + own * each * 7
    assert report.after.flops.products == report.before.flops.products > 0
    assert report.after.flops.units > report.before.flops.units == 0
    # It learns: the gates first, then the rest, and another function comes of it.
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        assert all(unit.gate.grad.any() for unit in units)
        optimizer.step()
    assert all(unit.numerator.grad.any() and unit.denominator.grad.any() for unit in units)
    report.undo()
    assert picture(model) == was


def test_what_is_no_feed_forward_layer_is_left_alone():
    model = built(Stack)
    report = ra.replace_activations_(model, share="channel")
    assert [change.name for change in report.changes] == [f"blocks.{n}.act" for n in range(3)]
    assert isinstance(model.pooler[1], nn.Tanh)
    assert "GELU" in report.changes[0].old
    assert report.changes[0].error == 0
    assert "blocks.2.act" in str(report)
    assert "parameters" in str(report)
    assert report.before.flops is None


def test_one_activation_in_several_places_becomes_several_units():
    act = nn.ReLU(inplace=True)
    model = nn.Sequential(nn.Linear(4, 8), act, nn.Linear(8, 6), act, nn.Linear(6, 2))
    x = torch.randn(3, 4)
    before = model(x)
    report = ra.replace_activations_(model, where=lambda name: True, share="channel")
    assert [change.name for change in report.changes] == ["1", "3"]
    assert (model[1].features, model[3].features) == (8, 6)
    assert torch.allclose(model(x), before, atol=1e-6)
    report.undo()
    assert model[1] is model[3] is act


def test_another_matrix_in_between_is_no_feed_forward_layer():
    odd = nn.Sequential(
        nn.Linear(4, 8), nn.Unflatten(-1, (8, 1, 1)), nn.Conv2d(8, 3, 3, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Linear(3, 8),
    )  # fmt: skip
    with pytest.raises(ValueError, match="there are activations at 3: name those to replace"):
        ra.replace_activations_(odd, share="channel")


def test_undo_once_and_in_order():
    model = built(Stack)
    first = ra.replace_activations_(model, where="blocks.0.*", share="channel")
    second = ra.replace_activations_(
        model, where=lambda name: not name.startswith("blocks.0"), share="channel"
    )
    assert len(second.changes) == 2
    first.undo()
    with pytest.raises(RuntimeError, match="undone before"):
        first.undo()
    third = ra.replace_feed_forward_(model, where="blocks.0")
    model.blocks[0] = Mlp()
    with pytest.raises(RuntimeError, match="something else at blocks.0"):
        third.undo()
    second.undo()
    assert not any(isinstance(m, ra.Rational1d) for m in model.modules())


@pytest.mark.parametrize(
    "name", [name for name in BASES if name not in ("identity", "mean", "zero")]
)
def test_bases_are_recognised_by_their_values(name):
    assert recognise(lambda x: BASES[name].value(x)) == name
    assert recognise(lambda x: BASES[name].value(x) + 1e-4 * x) is None


def test_activations_are_told_apart():
    assert recognise(nn.GELU(approximate="tanh")) == "gelu_tanh"
    x = torch.linspace(-6, 6, 2001)
    apart = (functional.gelu(x) - functional.gelu(x, approximate="tanh")).abs().max()
    assert 4e-4 < apart < 5e-4
    assert recognise(nn.Softmax(dim=-1)) is None
    assert recognise(nn.LeakyReLU()) is None
    assert recognise(lambda x: x * torch.sigmoid(1.702 * x)) == "quick_gelu"


def test_fitted_units_come_near_and_say_how_near():
    model = built(Stack)
    with torch.no_grad():
        before = model(X)
    report = ra.replace_activations_(model, init="fit", share="layer", reach=None)
    error = report.changes[0].error
    assert 0 < error < 6e-3
    with torch.no_grad():
        after = model(X)
    assert 0 < (after - before).abs().max() < 0.05
    assert all(m.gate is None for m in model.modules() if isinstance(m, ra.Rational1d))


def test_by_default_eight_units_start_exactly_and_learn_fast():
    model = built(Stack)
    with torch.no_grad():
        before = model(X)
    report = ra.replace_activations_(model)
    units = [m for m in model.modules() if isinstance(m, ra.Rational1d)]
    assert {(u.units, u.degrees, u.kind, u.base, u.reach) for u in units} == {
        (8, (3, 2), "square", "gelu", 2.0)
    }
    assert all(u.gate.eq(0).all() for u in units)
    assert report.changes[0].error == 0
    assert torch.allclose(model(X), before, atol=1e-6)
    rates = {g["role"]: g["lr"] for g in ra.parameter_groups(model, 1e-3)}
    assert rates == {
        "weight": 1e-3, "vector": 1e-3, "numerator": 1e-2, "denominator": 1e-2, "gate": 1e-2,
    }  # fmt: skip


def test_fitted_units_start_near_and_have_no_gate():
    model = built(Stack)
    with torch.no_grad():
        before = model(X)
    report = ra.replace_activations_(model, init="fit")
    units = [m for m in model.modules() if isinstance(m, ra.Rational1d)]
    assert {(u.units, u.degrees, u.gate, u.reach) for u in units} == {(8, (5, 4), None, 2.0)}
    assert 0 < report.changes[0].error < 1e-4
    assert report.changes[0].tail < 1e-4
    assert 0 < (model(X) - before).abs().max() < 1e-4


def test_units_are_fewer_where_eight_do_not_divide_the_channels():
    model = nn.Sequential(nn.Linear(5, 12), nn.GELU(), nn.Linear(12, 5))
    ra.replace_activations_(model)
    assert model[1].units == 4
    assert ra.RANFFN(5, 12).unit.units == 4


def test_unknown_activations_are_refused_and_can_be_fitted():
    model = built(lambda: Stack(lambda: Mlp(nn.Mish)))
    was = picture(model)
    with pytest.raises(ValueError, match=r"blocks.0.act, Mish\(\), is none of gelu.*init='fit'"):
        ra.replace_activations_(model, share="channel")
    assert picture(model) == was
    report = ra.replace_activations_(model, init="fit", share=1)  # by degrees that suffice for it
    assert report.changes[0].error < 0.02
    assert model.blocks[0].act.degrees == (5, 4)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"share": 3}, ValueError, "share=3 groups must divide the channels, got 16 at blocks.0"),
        ({"share": "chanel"}, ValueError, "did you mean 'channel'"),
        ({"share": 0}, ValueError, "share must be >= 1"),
        ({"init": "fitted"}, ValueError, "did you mean 'fit'"),
        ({"denominator": "softmax"}, ValueError, "did you mean 'softplus'"),
        ({"degrees": (3, 0)}, ValueError, "denominator's degree"),
        ({"where": "layers.*"}, ValueError, "no replaceable activation.*blocks.0.act"),
        ({"where": "pooler.*"}, ValueError, "width of pooler.1 is not told.*pass inputs="),
        ({"inputs": torch.randn(2, 5, 3)}, RuntimeError, "shapes cannot be multiplied"),
    ],
)
def test_bad_input_leaves_the_model_as_it_was(options, error, message):
    model = built(Stack).train()
    was = picture(model)
    with pytest.raises(error, match=message):
        ra.replace_activations_(model, **options)
    assert picture(model) == was


def test_models_without_activations_or_partly_converted():
    with pytest.raises(ValueError, match="no replaceable activation found in .* of Linear"):
        ra.replace_activations_(nn.Linear(3, 3), share="channel")
    with pytest.raises(TypeError, match="must be an nn.Module, got str"):
        ra.replace_activations_("vit", share="channel")
    model = built(Stack)
    ra.replace_activations_(model, where="blocks.1.*", share="channel")
    was = picture(model)
    with pytest.raises(ValueError, match=r"1 of the chosen .*\(blocks.1.act\) and 2 are not"):
        ra.replace_activations_(model, share="channel")
    with pytest.raises(ValueError, match="rational already"):
        ra.replace_feed_forward_(model)
    assert picture(model) == was
    whole = built(Stack)
    ra.replace_feed_forward_(whole, topology="0.5d")
    with pytest.raises(ValueError, match="3 of the chosen places"):
        ra.replace_activations_(whole, share="channel")


def test_layers_of_several_widths_cannot_share_one_unit():
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4))
    with pytest.raises(ValueError, match=r"one width, got \[8, 16\]"):
        ra.replace_activations_(model, share="model")
    mixed = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
    with pytest.raises(ValueError, match="one activation in all layers"):
        ra.replace_activations_(mixed, share="model")


def test_places_outside_feed_forward_layers_by_name_and_a_trial_run():
    model = built(Stack).train()
    with torch.no_grad():
        before = model(X)
    report = ra.replace_activations_(model, where=["pooler.*"], inputs=X, share="channel")
    assert model.pooler[1].features == D
    assert model.pooler[1].base == "tanh"
    assert model.training
    assert len(report.changes) == 1
    with torch.no_grad():
        assert torch.allclose(model(X), before, atol=1e-6)
    never = nn.ModuleDict({"used": nn.Linear(4, 4), "act": nn.GELU()})
    never.forward = lambda x: never["used"](x)
    with pytest.raises(ValueError, match="did not call act"):
        ra.replace_activations_(never, where="act", inputs=X, share="channel")


def test_a_shared_unit_is_one_everywhere():
    model = built(Stack)
    ra.replace_activations_(model, share="model")
    assert isinstance(model.blocks[1].act, SharedUnit)
    copied = copy.deepcopy(model)
    assert copied.blocks[2].act.unit is copied.blocks[0].act is not model.blocks[0].act
    assert [name for name in model.state_dict() if "gate" in name] == ["blocks.0.act.gate"]
    copied.double()(X.double()).sum().backward()
    assert copied.blocks[0].act.gate.grad is not None


@pytest.mark.parametrize("share", [4, "model"])
def test_a_plan_in_json_brings_the_surgery_back(share):
    model = built(Stack)
    plan = json.loads(json.dumps(ra.replace_activations_(model, share=share).plan))
    with torch.no_grad():
        for unit in model.modules():
            if isinstance(unit, ra.Rational1d):
                unit.gate.fill_(0.3)
    again = Stack().double().eval()
    ra.reapply_(again, plan)
    assert again.blocks[0].act.gate.dtype == torch.float64
    again.float().load_state_dict(model.state_dict())
    assert torch.equal(again(X), model(X))
    was = picture(again)
    with pytest.raises(ValueError, match=r"blocks.0.act in Stack is rational already"):
        ra.reapply_(again, plan)
    assert picture(again) == was
    other = built(lambda: Stack(depth=2))
    was = picture(other)
    with pytest.raises(ValueError, match=r"unit at blocks.2.act, and Stack has no such place"):
        ra.reapply_(other, plan)
    with pytest.raises(ValueError, match="no plan of a surgery, got 3"):
        ra.reapply_(other, 3)
    with pytest.raises(ValueError, match="version 9.*upgrade"):
        ra.reapply_(other, {**plan, "version": 9})
    assert picture(other) == was


def test_feed_forward_layers_keep_their_weights():
    model = built(Stack)
    with torch.no_grad():
        before = model(X)
    old = copy.deepcopy(model.state_dict())
    was = picture(model)
    report = ra.replace_feed_forward_(model, groups=4, inputs=X)
    spread = 1e-4 * before.abs().max()
    assert isinstance(model.blocks[1], ra.RANFFN)
    assert report.after.parameters == report.before.parameters + 3 * 4 * 7
    assert torch.equal(model.blocks[1].fc1.weight, old["blocks.1.fc1.weight"])
    assert (model(X) - before).abs().max() < spread
    report.undo()
    assert picture(model) == was
    plus = ra.replace_feed_forward_(model, topology="0.5d")
    block = model.blocks[2]
    assert isinstance(block, ra.RANFFNPlus)
    assert torch.equal(block.fc2.weight[:, :H], old["blocks.2.fc2.weight"])
    assert (model(X) - before).abs().max() < spread
    model(X).square().sum().backward()
    assert block.pair.numerator.grad.any()
    again = built(Stack)
    ra.reapply_(again, json.loads(json.dumps(plus.plan)))
    again.load_state_dict(model.state_dict())
    assert torch.equal(again(X), model(X))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Stack(Gated),
            "blocks.0, blocks.1, blocks.2 in Stack: not a module of two linear maps",
        ),
        (lambda: Stack(Halves), "computes something else than fc2"),
        (lambda: Stack(lambda: Mlp(drop=0.1)), "dropout of 0.1; say by dropout="),
        (lambda: Stack(lambda: Mlp(nn.Mish)), "Mish"),
        (encoder, "layers.0"),
        (lambda: nn.Linear(2, 2), "no feed-forward layer found in Linear"),
    ],
)
def test_layers_that_are_no_plain_feed_forward_are_refused(make, message):
    model = built(make)
    was = picture(model)
    with pytest.raises(ValueError, match=message):
        ra.replace_feed_forward_(model)
    assert picture(model) == was


def test_parameter_groups():
    model = Stack()
    ra.replace_activations_(model, share="channel")
    groups = ra.parameter_groups(
        model, 1e-3, 0.05, numerator_rate=2, denominator_rate=0.5, gate_rate=10,
        denominator_decay=0.1, layer_decay=0.5,
    )  # fmt: skip
    found = {(g["role"], g["depth"]): g for g in groups}
    assert sum(p.numel() for g in groups for p in g["params"]) == ra.count_parameters(model)
    assert len({id(p) for g in groups for p in g["params"]}) == len(list(model.parameters()))
    # The head is at the top, the last block too, and the embedding is below the first.
    assert any(p is model.head.weight for p in found["weight", 0]["params"])
    assert any(p is model.blocks[0].fc1.weight for p in found["weight", 2]["params"])
    assert found["weight", 3]["params"] == [model.embed.weight]
    assert found["weight", 3]["lr"] == pytest.approx(1e-3 / 8)
    assert found["gate", 1]["lr"] == pytest.approx(5e-3)
    assert found["numerator", 0]["lr"] == pytest.approx(2e-3)
    assert found["denominator", 0]["weight_decay"] == 0.1
    assert found["vector", 0]["weight_decay"] == found["gate", 0]["weight_decay"] == 0
    model.embed.requires_grad_(False)
    plain = ra.parameter_groups(model, 1e-3)
    assert {g["role"] for g in plain} == {"weight", "vector", "numerator", "denominator", "gate"}
    assert not any(p is model.embed.weight for g in plain for p in g["params"])
    with pytest.raises(ValueError, match="gate_rate must be >= 0, got -1"):
        ra.parameter_groups(model, 1e-3, gate_rate=-1)
    assert len(torch.optim.AdamW(plain).param_groups) == 5


@pytest.mark.parametrize("share", ["layer", "model"])
def test_layers_decay_in_sequences_too(share):
    blocks = nn.Sequential(*(Mlp() for _ in range(3)))  # as timm has them
    model = nn.Sequential(nn.Linear(4, D), blocks, nn.Linear(D, 2))
    ra.replace_activations_(model, share=share)
    groups = ra.parameter_groups(model, 1.0, layer_decay=0.5)
    rates = {id(p): g["lr"] for g in groups for p in g["params"] if g["role"] == "weight"}
    weights = [model[0], *(block.fc2 for block in blocks), model[2]]
    assert [rates[id(part.weight)] for part in weights] == [0.125, 0.25, 0.5, 1.0, 1.0]


def test_autocast_and_checkpointing():
    plain = built(Stack)
    model = copy.deepcopy(plain)
    ra.replace_activations_(model, share=4)
    with torch.autocast("cpu", torch.bfloat16):
        expected, found = plain(X), model(X)
        assert found.dtype == torch.bfloat16
        assert torch.allclose(found.float(), expected.float(), atol=2e-2)
        found.float().square().sum().backward()
    gates = [m.gate for m in model.modules() if isinstance(m, ra.Rational1d)]
    assert all(gate.grad.dtype == torch.float32 and gate.grad.any() for gate in gates)
    grads = []
    for run in (model.blocks[1], lambda h: checkpoint(model.blocks[1], h, use_reentrant=False)):
        model.zero_grad()
        run(WIDE).square().sum().backward()
        grads.append(gates[1].grad.clone())
    assert torch.equal(*grads)


@pytest.mark.parametrize("share", [4, "model"])
def test_compiled(share):
    torch._dynamo.reset()
    model = built(Stack)
    ra.replace_activations_(model, share=share)
    with torch.no_grad():
        for unit in model.modules():
            if isinstance(unit, ra.Rational1d):
                unit.gate.fill_(0.5)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    assert torch.allclose(compiled(X), model(X), atol=1e-6)
    compiled(X).square().sum().backward()
    assert model.blocks[0].act.gate.grad.any()


def test_units_of_half_precision_models_have_full_precision():
    """In half precision a coefficient would not move by steps below a hundredth of itself."""
    model = built(Stack).bfloat16()
    before = model(X.bfloat16())
    ra.replace_activations_(model, share="channel")
    assert model.blocks[0].act.gate.dtype == torch.float32
    assert model.blocks[0].fc1.weight.dtype == torch.bfloat16
    assert torch.equal(model(X.bfloat16()), before)
    assert model.half().blocks[0].act.numerator.dtype == torch.float32
    assert model.double().blocks[0].act.numerator.dtype == torch.float64


def test_activations_that_are_called_as_functions_are_named():
    class Called(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2 = nn.Linear(4, 8), nn.Linear(8, 4)

        def forward(self, x):
            return self.fc2(nn.functional.gelu(self.fc1(x)))

    with pytest.raises(
        ValueError, match=r"Called\.forward calls nn\.functional\.gelu\(\), and fun"
    ):
        ra.replace_activations_(Called())
