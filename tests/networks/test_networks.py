"""The networks: what they compute, how many parameters they have, what they refuse."""

import copy
import pickle

import pytest
import sympy
import torch
from torch import nn

import rational_anova as ra

NETWORKS = {
    "RAN": (lambda **o: ra.RAN(6, 1, **o), (6,), (1,)),
    "RAN-linear": (lambda **o: ra.RAN(6, 4, heads=2, **o), (6,), (4,)),
    "RAN-mains": (lambda **o: ra.RAN(6, 1, ra.Topology.none(6).with_mains([1, 4]), **o), (6,), (1,)),
    "RAN-pairs": (
        lambda **o: ra.RAN(6, 1, ra.Topology.of([(0, 5)], features=6, mains=[]), **o), (6,), (1,),
    ),
    "DeepRAN": (lambda **o: ra.DeepRAN(6, 3, **o), (6,), (3,)),
    "DeepRAN-wide": (lambda **o: ra.DeepRAN(6, 3, width=10, blocks=3, **o), (6,), (3,)),
    "DeepRAN-alone": (lambda **o: ra.DeepRAN(6, 3, topology="none", **o), (6,), (3,)),
    "DeepRAN-each": (
        lambda **o: ra.DeepRAN(6, 3, topology=[ra.Topology.all(6), ra.Topology.random(6, 2)], **o),
        (6,), (3,),
    ),
    "GatedRationalBlock": (lambda **o: ra.GatedRationalBlock(6, **o), (6,), (6,)),
    "RANFFN": (lambda **o: ra.RANFFN(6, 12, groups=4, **o), (6,), (6,)),
    "RANFFNPlus": (lambda **o: ra.RANFFNPlus(6, 12, 5, **o), (6,), (5,)),
    "RANConvNet": (lambda **o: ra.RANConvNet(2, 3, widths=(4, 6), **o), (2, 9, 9), (3,)),
}  # fmt: skip
every_network = pytest.mark.parametrize("name", NETWORKS)


def learned(name, dtype=torch.float64):
    """A network away from its start, in evaluation mode."""
    torch.manual_seed(0)
    net = NETWORKS[name][0](noise=0.1, dtype=dtype)
    return net.eval()


@every_network
def test_shapes_dtypes_and_gradients(name):
    make, inputs, outputs = NETWORKS[name]
    for dtype in (torch.float32, torch.float64):
        net = make(noise=0.1, dtype=dtype)
        y = net(torch.randn(7, *inputs, dtype=dtype))
        assert y.shape == (7, *outputs)
        assert y.dtype == dtype
        (y * torch.randn_like(y)).sum().backward()
        for parameter_name, parameter in net.named_parameters():
            assert parameter.grad is not None, parameter_name
            assert parameter.grad.isfinite().all(), parameter_name


@every_network
def test_autocast_and_compile(name):
    make, inputs, outputs = NETWORKS[name]
    net = make(noise=0.1).eval()
    x = torch.randn(3, *inputs)
    with torch.autocast("cpu", torch.bfloat16):
        half = net(x)
    half.float().sum().backward()
    assert half.shape == (3, *outputs)
    assert torch.allclose(half.float(), net(x), rtol=0.1, atol=0.1)
    exported = torch.export.export(net, (x,)).module()
    assert torch.allclose(exported(x), net(x), atol=1e-5)


@every_network
def test_learns_from_its_start(name):
    make, inputs, outputs = NETWORKS[name]
    torch.manual_seed(0)
    net = make()
    x = torch.randn(64, *inputs)
    y = torch.randn(64, *outputs)
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    losses = []
    for _ in range(60):
        loss = (net(x) - y).square().mean()
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[-1] < losses[0]
    # Every parameter has moved: nothing was born dead.
    for parameter_name, parameter in net.named_parameters():
        assert parameter.grad.any(), parameter_name


@every_network
def test_round_trips(name, tmp_path):
    net = learned(name)
    x = torch.randn(3, *NETWORKS[name][1], dtype=torch.float64)
    expected = net(x)
    ra.save(net, tmp_path / "net.safetensors")
    for other in (
        ra.load(tmp_path / "net.safetensors").eval(),
        ra.load(tmp_path / "net.safetensors", into=NETWORKS[name][0](dtype=torch.float64)).eval(),
        pickle.loads(pickle.dumps(net)),
        copy.deepcopy(net),
    ):
        assert torch.equal(other(x), expected)
        assert repr(other) == repr(net)


@every_network
def test_state_dict_has_no_surprises(name):
    net = learned(name)
    fresh = NETWORKS[name][0](dtype=torch.float64).eval()
    fresh.load_state_dict(net.state_dict(), strict=True)
    x = torch.randn(3, *NETWORKS[name][1], dtype=torch.float64)
    assert torch.equal(fresh(x), net(x))


@pytest.mark.parametrize("name", ["RAN", "RAN-linear", "RAN-mains", "RAN-pairs"])
def test_formula_of_a_shallow_network(name):
    net = learned(name)
    names = sympy.symbols("a b c d e f")
    x = torch.randn(5, 6, dtype=torch.float64)
    y = net(x).tolist()
    formulas = net.to_sympy(names)
    assert len(formulas) == net.out_features
    for n, formula in enumerate(formulas):
        value = sympy.lambdify(names, formula, "mpmath")
        for row, outputs in zip(x.tolist(), y, strict=True):
            assert abs(value(*row) - outputs[n]) <= 1e-12 * max(1, abs(outputs[n]))


def test_formula_with_awkward_names():
    net = learned("RAN")
    names = ["lambda", "E", "1/x", "T / K", "α", "x y"]
    (formula,) = net.to_sympy(names)
    assert {str(s) for s in formula.free_symbols} <= set(names)
    symbols = [sympy.Symbol(n) for n in names]
    x = torch.randn(1, 6, dtype=torch.float64)
    value = sympy.lambdify(symbols, formula, "mpmath")(*x[0].tolist())
    assert abs(value - net(x).item()) < 1e-12


@pytest.mark.parametrize("degrees", [(2, 2), (3, 2), (5, 4)])
@pytest.mark.parametrize("pairs", [0, 1, 9])
def test_ran_has_the_papers_number_of_parameters(degrees, pairs):
    d, (m, n), T, S = 8, degrees, 6, 5
    net = ra.RAN(d, 1, ra.Topology.random(d, pairs), degrees)
    assert ra.count_parameters(net) == d * (m + n + 2) + pairs * (T + S + 1)


@pytest.mark.parametrize(("N", "K", "C"), [(20, 30, 4), (784, 779, 10), (5, 0, 2)])
def test_two_block_model_has_the_papers_number_of_parameters(N, K, C):
    net = ra.DeepRAN(N, C, topology=ra.Topology.random(N, K))
    expected = (18 + C) * N + (26 + C) * K + C + 2
    # Without pairs nothing is counted for them.
    assert ra.count_parameters(net) == expected


def test_sum_is_the_sum_of_the_features():
    net = learned("RAN")
    x = torch.randn(4, 6, dtype=torch.float64)
    phi = net.features(x)
    assert phi.shape == (4, 6 + net.topology.num_pairs)
    assert torch.equal(net(x), phi.sum(-1, keepdim=True))


def test_an_additive_network_has_no_interactions():
    net = ra.RAN(4, 1, "none", noise=0.3, dtype=torch.float64)
    hessian = torch.func.hessian(lambda x: net(x).squeeze())(torch.randn(4, dtype=torch.float64))
    assert (hessian - hessian.diag().diag()).abs().max() == 0


def deep():
    torch.manual_seed(0)
    return ra.DeepRAN(6, 2, topology=8, noise=0.2)


class Doubled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


def replace_head(net):
    net.head = Doubled(net.head.in_features, 2)


def drop_head(net):
    net.head = nn.Identity()


def wrap_head(net):
    net.head = nn.Sequential(nn.Dropout(0.0), net.head)


def patch_block(net):
    inner = net.blocks[0].forward
    net.blocks[0].forward = lambda h: (2 * inner(h)[0], inner(h)[1])


def patch_pair(net):
    inner = net.blocks[1].pair.forward
    net.blocks[1].pair.forward = lambda z: 2 * inner(z)


def wrap_block(net):
    net.blocks[0] = nn.Sequential(net.blocks[0])


def hook_block(net):
    net.blocks[0].register_forward_hook(lambda m, a, out: (2 * out[0], out[1]))


@pytest.mark.parametrize(
    "change",
    [replace_head, drop_head, wrap_head, patch_block, patch_pair, wrap_block, hook_block],
)
def test_a_changed_network_is_what_it_was_changed_to(change):
    net, x = deep(), torch.randn(5, 6)
    before = net(x)
    change(net)
    h, messages = x, x[..., :0]
    for block in net.blocks:
        h, messages = block(h)
    expected = net.head(torch.cat([h, messages], -1))
    torch.testing.assert_close(net(x), expected, rtol=1e-5, atol=1e-6)
    if change not in (wrap_head, wrap_block):
        assert before.shape != expected.shape or not torch.allclose(before, expected)


def test_a_network_without_memory():
    net = ra.DeepRAN(6, 2, topology=8, device="meta")
    assert net(torch.randn(5, 6, device="meta")).shape == (5, 2)


def test_ffn_starts_as_a_gelu_layer():
    h = torch.randn(3, 5, 8)
    for layer in (ra.RANFFN(8), ra.RANFFN(8, groups=None)):
        expected = layer.fc2(nn.functional.gelu(layer.fc1(h)))
        assert torch.allclose(layer(h), expected, atol=1e-4)
    for layer in (ra.RANFFN(8, gate="auto"), ra.RANFFN(8, gate="auto", groups=4)):
        expected = layer.fc2(nn.functional.gelu(layer.fc1(h)))
        assert torch.allclose(layer(h), expected, atol=1e-6)
        with ra.kernels.using("torch"):  # and to the bit where both call torch's gelu
            assert torch.equal(layer(h), expected)
    plus = ra.RANFFNPlus(8)
    weight = plus.fc2.weight[:, :32]
    expected = nn.functional.linear(nn.functional.gelu(plus.fc1(h)), weight, plus.fc2.bias)
    assert torch.allclose(plus(h), expected, atol=1e-4)


def test_units_on_the_channels_of_images():
    unit = ra.Rational1d(6, groups=3, dim=1, noise=0.3)
    x = torch.randn(2, 6, 4, 5)
    last = ra.Rational1d(6, groups=3)
    last.load_state_dict(unit.state_dict())
    assert torch.allclose(unit(x), last(x.movedim(1, -1)).movedim(-1, 1), atol=1e-6)


@every_network
def test_meta_device(name):
    make, inputs, _ = NETWORKS[name]
    with torch.device("meta"):
        by_default = make()
    for net in (make(device="meta"), by_default):
        net = net.to_empty(device="cpu")
        for module in net.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()
        assert net.eval()(torch.randn(2, *inputs)).isfinite().all()


def test_a_gated_block_comes_back_from_the_meta_device():
    block = ra.GatedRationalBlock(4, device="meta").to_empty(device="cpu")
    for module in block.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()
    weight = block.linear.weight
    assert torch.allclose(weight @ weight.T, torch.eye(4), atol=1e-5)
    assert block.gate.item() == pytest.approx(0.01)


@pytest.mark.parametrize("name", ["RAN", "DeepRAN", "RANFFNPlus", "GatedRationalBlock"])
def test_second_derivatives_in_every_mode(name):
    net = learned(name)
    x = torch.randn(*NETWORKS[name][1], dtype=torch.float64, generator=torch.manual_seed(9))

    def call(x):
        return torch.sin(net(x)).sum()

    modes = (torch.func.jacrev, torch.func.jacfwd)
    results = [outer(inner(call))(x) for outer in modes for inner in modes]
    assert results[0].any()
    for other in results[1:]:
        torch.testing.assert_close(other, results[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_block(dtype):
    block = ra.GatedRationalBlock(4, dtype=dtype)
    assert block.linear.weight.dtype == dtype
    assert torch.allclose(
        (block.linear.weight.float() @ block.linear.weight.float().T), torch.eye(4), atol=0.02
    )


def test_other_units_can_be_plugged_in(tmp_path):
    net = ra.DeepRAN(4, 2, unit=lambda nodes: nn.ReLU())
    assert isinstance(net.blocks[0].unit, nn.ReLU)
    assert isinstance(pickle.loads(pickle.dumps(net)).blocks[0].unit, nn.ReLU)
    with pytest.raises(TypeError, match="cannot be written to a file"):
        ra.save(net, tmp_path / "net.safetensors")
    assert not list(tmp_path.iterdir())


def test_a_list_of_pairs_says_how_to_make_a_topology():
    with pytest.raises(TypeError, match=r"Topology.of\(pairs\)"):
        ra.RAN(4, topology=[(0, 1), (2, 3)])


@pytest.mark.parametrize("name", ra.PRESETS)
def test_presets_build(name):
    row = ra.preset(name)
    sizes = {"cifar10": (3, 10), "imagenet": (24, 24), "runge": (1, 1)}
    sizes |= dict.fromkeys(("lorentzian", "lorentzian-72"), (2, 1))
    net = row.build(*sizes.get(name, (20, 3)))
    shape = (2, 3, 16, 16) if name == "cifar10" else (2, sizes.get(name, (20, 3))[0])
    assert net(torch.randn(shape)).shape == (2, sizes.get(name, (20, 3))[1])
    square = row.build(*sizes.get(name, (20, 3)), denominator="square")
    assert {m.kind for m in square.modules() if isinstance(m, ra.Rational1d)} == {"square"}
    with pytest.raises(TypeError, match="does not support item assignment"):
        row.settings["degrees"] = (9, 9)


def test_presets_of_stated_size():
    """The paper's count of its vision model, and its 72 parameters on the Lorentzian."""
    N, C = 30, 10
    for name in ("two-block", "two-block-read"):
        for K in (7, 45):
            net = ra.preset(name).build(N, C, topology=K)
            assert ra.count_parameters(net) == (18 + C) * N + (26 + C) * K + C + 2
    net = ra.preset("lorentzian-72").build(2, 1)
    assert ra.count_parameters(net) == 72
    assert ra.count_parameters(net.main) == 32
    assert ra.certify(net, None).denominator_min == pytest.approx(1e-6)


def test_the_second_block_is_read_and_sent_nowhere(tmp_path):
    torch.manual_seed(0)
    net = ra.TwoBlockRAN(6, 3, topology=5, dtype=torch.float64)
    assert net.gate.tolist() == pytest.approx([0.6, 0.2])
    assert {net.pair1.base, net.pair2.base} == {"mean"}
    assert net.pair1.gate.eq(1).all()
    x = torch.randn(4, 6, dtype=torch.float64)
    net(x).square().sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in net.parameters())
    with torch.no_grad():  # node i hears with one weight, node j with another
        net.weight[1] = 0
        z = net.norm1(x)
        heard = z.index_add(-1, net.pair1.pairs[0], net.weight[0] * net.pair1(z))
        h = x + net.gate[0] * (net.unit1(heard) - x)
        z = net.norm2(h)
        read = torch.cat([h + net.gate[1] * (net.unit2(z) - h), net.pair2(z)], -1)
        torch.testing.assert_close(net(x), net.head(read))
    ra.save(net, tmp_path / "net.safetensors")
    assert torch.equal(ra.load(tmp_path / "net.safetensors")(x), net(x))
    with pytest.raises(ValueError, match="at least one pair"):
        ra.TwoBlockRAN(6, 3, topology="none")


def test_presets_are_the_papers_rows():
    rows = {
        name: (p.optimizer, p.batch_size, p.learning_rate, p.weight_decay, p.settings["degrees"])
        for name, p in ra.PRESETS.items()
        if name not in ("two-block", "two-block-read", "lorentzian-72")
    }
    assert rows == {
        "imagenet": ("adamw", 1024, 5e-4, 0.05, (3, 2)),
        "cifar10": ("adamw", 128, 1e-3, 1e-4, (3, 2)),
        "mnist": ("adam", 256, 1e-3, 0.0, (2, 2)),
        "tabular": ("adam", 512, 2e-3, 1e-5, (2, 2)),
        "higgs": ("adam", 1024, 1e-3, 1e-5, (2, 2)),
        "lorentzian": ("lbfgs", None, 1.0, 0.0, (2, 2)),
        "many-body": ("adam", 200, 5e-3, 0.0, (3, 2)),
        "runge": ("lbfgs", None, 0.1, 0.0, (4, 3)),
    }


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ra.RAN(0), ValueError, "in_features must be >= 1, got 0"),
        (lambda: ra.RAN(2.5), TypeError, "in_features must be an integer, got 2.5"),
        (lambda: ra.RAN(4, 3, readout="sum"), ValueError, "use readout='linear'"),
        (lambda: ra.RAN(4, readout="lineal"), ValueError, "did you mean 'linear'"),
        (lambda: ra.RAN(4, topology=ra.Topology.all(5)), ValueError, "on 5 features.*has 4"),
        (lambda: ra.RAN(4, topology="0.5x"), ValueError, "0.5x"),
        (
            lambda: ra.RAN(3, topology=ra.Topology.none(3).with_mains([])),
            ValueError,
            "neither main terms nor pairs",
        ),
        (lambda: ra.DeepRAN(4, 2, blocks=0), ValueError, "blocks must be >= 1, got 0"),
        (
            lambda: ra.DeepRAN(4, 2, blocks=3, topology=[ra.Topology.all(4)]),
            ValueError,
            "1 topologies were given for 3 blocks",
        ),
        (lambda: ra.RANConvNet(3, 10, widths=16), ValueError, "widths must list"),
        (lambda: ra.RANFFN(8, groups=5), ValueError, "groups must divide features"),
        (lambda: ra.preset("cifar"), ValueError, "did you mean 'cifar10'"),
        (lambda: ra.MLP(4, 2, hidden=8), TypeError, "hidden must list"),
        (lambda: ra.RAN(3)(torch.randn(2, 4)), ValueError, "must have 3 features.*got 4"),
        (lambda: ra.RAN(3)(torch.zeros(2, 3, dtype=torch.long)), TypeError, "int64"),
        (lambda: ra.DeepRAN(3, 1)(torch.randn(2, 4)), ValueError, "must have 3 features.*got 4"),
        (lambda: ra.GatedRationalBlock(3)(torch.randn(2, 4)), ValueError, "h must have 3"),
        (lambda: ra.RANFFN(4)(torch.randn(2, 5)), ValueError, "h must have 4 features"),
        (lambda: ra.MLP(4, 2)(torch.zeros(2, 4).int()), TypeError, "int32"),
        (lambda: ra.KAN(4, 2)(torch.randn(2, 5)), ValueError, "must have 4 features"),
        (lambda: ra.RANConvNet(3, 2)(torch.randn(1, 1, 8, 8)), ValueError, "must have 3 features"),
    ],
)  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
