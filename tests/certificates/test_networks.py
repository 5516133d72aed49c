"""Certificates of networks: no sampled Jacobian, value or gradient ratio beats a bound."""

import copy
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

import rational_anova as ra
from rational_anova.certificates import Layer, gradient_ratio, isometry, register_layer


def stack(depth, features=6, **options):
    return nn.Sequential(*(ra.GatedRationalBlock(features, **options) for _ in range(depth)))


def slope_at(model, x):
    twin = copy.deepcopy(model).double().eval()
    return torch.autograd.functional.jacobian(twin, torch.tensor(x, dtype=torch.float64))


MODELS = {
    "ran": lambda: ra.RAN(5, noise=0.3),
    "ran, several outputs": lambda: ra.RAN(5, 3, denominator="sos", noise=0.3, heads=2),
    "ran, some mains": lambda: ra.RAN(5, topology=ra.Topology.of([(0, 3)], features=5), noise=0.3),
    "ran, abs": lambda: ra.RAN(5, denominator="abs", base="tanh", noise=0.3),
    "ran, square": lambda: ra.RAN(5, denominator="square", base="relu", noise=0.3),
    "ran, polynomial": lambda: ra.RAN(5, denominator="polynomial", noise=0.02),
    "deep": lambda: ra.DeepRAN(5, 2, width=4, noise=0.1),
    "deep, one block": lambda: ra.DeepRAN(5, 2, blocks=1, noise=0.1, denominator="squareplus"),
    "deep, no pairs": lambda: ra.DeepRAN(5, 2, topology="none", noise=0.1),
    "deep, relu": lambda: ra.DeepRAN(5, 2, unit=lambda nodes: nn.ReLU(), noise=0.1),
    "ffn": lambda: ra.RANFFN(5, 8, noise=0.1),
    "ffn with pairs": lambda: ra.RANFFNPlus(5, 8, noise=0.1),
    "block": lambda: ra.GatedRationalBlock(5, noise=0.2, gate=0.3),
    "block without gate": lambda: ra.GatedRationalBlock(5, noise=0.05, gate=None),
    "stack": lambda: stack(6, 5, noise=0.1, gate=0.1),
    "mixed": lambda: nn.Sequential(
        nn.Linear(5, 4), nn.LayerNorm(4), nn.GELU(), ra.Rational1d(4, noise=0.3),
        nn.Dropout(0.5), nn.SiLU(), nn.Tanh(), nn.Linear(4, 2)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", list(MODELS))
def test_no_sample_beats_a_bound(name, dtype):
    torch.manual_seed(len(name))
    model = MODELS[name]().to(dtype)
    rng = np.random.default_rng(len(name))
    low = rng.uniform(-1.5, 0, 5)
    box = np.stack([low, low + rng.uniform(0.2, 2, 5)], 1)
    certificate = ra.certify(model, box, pieces=2 if dtype == torch.float64 else 1)
    ends = torch.tensor(box)
    share = torch.rand(4000, 5, dtype=torch.float64)
    share[:500] = share[:500].round()
    x = (ends[:, 0] + (ends[:, 1] - ends[:, 0]) * share).requires_grad_()
    y = copy.deepcopy(model).double().eval()(x)
    rows = [torch.autograd.grad(y[:, k].sum(), x, retain_graph=True)[0] for k in range(y.shape[1])]
    jacobian = torch.stack(rows, 1)
    largest = torch.linalg.matrix_norm(jacobian, 2).max().item()
    assert largest <= certificate.lipschitz * (1 + 1e-12)
    assert certificate.sampled <= certificate.lipschitz
    assert certificate.lipschitz <= certificate.lipschitz_product
    assert certificate.lipschitz_product <= certificate.lipschitz_theorem * (1 + 1e-9)
    for (least, most), column in zip(certificate.range, y.T, strict=True):
        assert least - 1e-12 <= column.min()
        assert column.max() <= most + 1e-12
    for verdict in certificate.monotone:
        slopes = jacobian[:, verdict.output, verdict.input]
        assert verdict.slopes[0] - 1e-12 <= slopes.min()
        assert slopes.max() <= verdict.slopes[1] + 1e-12
        assert verdict.increasing != "proved" or slopes.min() >= -1e-12
        assert verdict.increasing != "refuted" or verdict.falls_at is not None
        assert verdict.decreasing != "refuted" or verdict.rises_at is not None
        for at, sign in ((verdict.falls_at, -1), (verdict.rises_at, 1)):
            if at is not None:
                assert (np.array(at) >= box[:, 0]).all()
                assert (np.array(at) <= box[:, 1]).all()
                assert sign * slope_at(model, at)[verdict.output, verdict.input] > -1e-12


def test_a_sum_is_certified_term_by_term():
    torch.manual_seed(0)
    net = ra.RAN(4, topology="none", degrees=(3, 2), noise=0.2, dtype=torch.float64)
    certificate = ra.certify(net, [(-1, 1)] * 4, samples=2000)
    total = np.sqrt(sum(unit.attained**2 for unit in certificate.units))
    assert certificate.lipschitz <= 1.01 * total  # each main has its own input
    low = sum(unit.range[0] for unit in certificate.units)
    assert certificate.range[0][0] >= low - 1e-12


def test_a_pole_inside_a_network_is_reported():
    net = ra.RAN(2, denominator="polynomial", topology="none")
    with torch.no_grad():
        net.main.denominator[0, 1] = -4.0
    with pytest.raises(ValueError, match=r"main\[1\] is not positive at x = 0.25"):
        ra.certify(net, [(-1, 1)] * 2)


@pytest.mark.parametrize("gate", [0.01, 0.1])
@pytest.mark.parametrize("denominator", ["softplus", "sos", "abs"])
def test_stacks_are_near_isometries_at_the_start(gate, denominator):
    torch.manual_seed(0)
    blocks = stack(20, gate=gate, denominator=denominator, dtype=torch.float64)
    bounds = isometry(blocks, [(-1, 1)] * 6)
    x = 2 * torch.rand(64, 6, dtype=torch.float64) - 1
    measured = gradient_ratio(blocks, x)
    assert (np.array(bounds.lowers) <= measured).all()
    assert (measured <= np.array(bounds.uppers)).all()
    assert bounds.upper <= bounds.paper_upper * (1 + 1e-6)
    assert bounds.lower >= bounds.paper_lower * (1 - 1e-6)
    assert (bounds.lower, bounds.upper) == (bounds.lowers[-1], bounds.uppers[-1])
    # phi is the identity and W orthogonal there: every factor lies between 1 - 2 gate and 1.
    assert (1 - 2 * gate) ** 20 * 0.99 <= bounds.lower <= bounds.upper <= 1 + 1e-3


def test_isometry_wants_blocks():
    with pytest.raises(TypeError, match="GatedRationalBlock only, got Linear"):
        isometry(nn.Sequential(nn.Linear(2, 2)), [(-1, 1)] * 2)
    with pytest.raises(TypeError, match="got Linear"):
        isometry(nn.Linear(2, 2), [(-1, 1)] * 2)
    with pytest.raises(ValueError, match="box has 1 intervals for 6 inputs"):
        isometry(stack(2), [(-1, 1)])


def test_layers_can_be_taught():
    class Double(nn.Module):
        def forward(self, x):
            return 2 * x

    model = nn.Sequential(ra.Rational1d(2, dtype=torch.float64), Double())
    with pytest.raises(TypeError, match=r"cannot certify Double \(at '1'\)"):
        ra.certify(model, [(-1, 1)] * 2)

    factors = [None]

    @register_layer(Double)
    def step(module, state, name):
        parts = {"box": state.box.times(2.0), "jacobian": state.jacobian.times(2.0)}
        return state.grown(factors[0], **parts)

    with pytest.raises(ValueError, match="step of Double changed the Jacobian without a factor"):
        ra.certify(model, [(-1, 1)] * 2)
    factors[0] = Layer("double", 2.0, 2.0)
    assert 2 <= ra.certify(model, [(-1, 1)] * 2).lipschitz <= 2.03


def difference():
    """x + x^2 + 1.5 x - x^2, whose intervals do not know that the squares cancel."""
    model = nn.Sequential(
        nn.Linear(1, 2), ra.Rational1d(2, (2, 1), gate=None), nn.Linear(2, 1)
    ).double()
    with torch.no_grad():
        model[0].weight.fill_(1)
        model[0].bias.zero_()
        model[1].denominator.zero_()
        model[1].numerator.copy_(torch.tensor([[0, 0], [1, 1.5], [1, -1]]))
        model[1].numerator.mul_(1 + np.log(2) + 1e-6)  # d at q = 0
        model[2].weight.fill_(1)
    return model


def test_a_box_is_cut_until_a_slope_has_its_sign():
    (closer,) = ra.certify(difference(), [(-1, 1)], pieces=1).monotone
    assert closer.increasing == "proved"  # planes know that the squares cancel
    (once,) = ra.certify(difference(), [(-1, 1)], pieces=1, planes=False).monotone
    assert (once.increasing, once.decreasing) == ("undecided", "refuted")
    found = ra.certify(difference(), [(-1, 1)], planes=False)
    (cut,) = found.monotone
    assert (cut.increasing, cut.decreasing) == ("proved", "refuted")
    assert 0 < cut.slopes[0] <= 2.5 <= cut.slopes[1] < once.slopes[1]
    assert 1 < found.pieces <= 8
    whole = ra.certify(difference(), [(-1, 1)], pieces=1, planes=False)
    assert 2.5 <= found.lipschitz < whole.lipschitz


def test_what_overflows_has_no_bound():
    model = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2), ra.Rational1d(2, noise=0.5))
    with torch.no_grad():
        model[0].weight.fill_(1e30)
    huge = [(-1e290, 1e290)] * 2
    found = ra.certify(model, huge, planes=False)
    assert found.lipschitz == found.lipschitz_product == np.inf
    # Planes know that a layer norm is no steeper than 1/sqrt(eps) times what goes in.
    assert found.sampled <= ra.certify(model, huge).lipschitz < 1e34
    torch.manual_seed(0)
    blocks = stack(12, 3, gate=None, noise=1.0)
    bounds = ra.certify(blocks, [(-3, 3)] * 3, pieces=1, planes=False)
    assert bounds.range[0] == (-np.inf, np.inf)
    poles = nn.Sequential(blocks, ra.Rational1d(3, denominator="polynomial"))
    with pytest.raises(ValueError, match=r"the inputs of 1 have no finite bounds.*smaller box"):
        ra.certify(poles, [(-3, 3)] * 3, planes=False)


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


class Harmless(nn.Linear):
    def reset_parameters(self):
        nn.init.eye_(self.weight)
        nn.init.zeros_(self.bias)


def test_a_module_must_be_what_it_looks_like():
    with pytest.raises(TypeError, match="Residual is a Sequential with another forward"):
        ra.certify(Residual(nn.Linear(2, 2)), [(-1, 1)] * 2)
    assert ra.certify(Harmless(2, 2), [(-1, 1)] * 2).lipschitz == pytest.approx(1)
    net = ra.RAN(2)
    handle = net.main.register_forward_hook(lambda module, x, y: 3 * y)
    with pytest.raises(ValueError, match="Rational1d at 'main' has hooks.*remove them"):
        ra.certify(net, [(-1, 1)] * 2)
    handle.remove()
    net.main.forward = lambda x: x
    with pytest.raises(ValueError, match="a forward of its own"):
        ra.certify(net, [(-1, 1)] * 2)
    with pytest.raises(TypeError, match="with another forward"):
        isometry(nn.Sequential(type("Odd", (ra.GatedRationalBlock,), {"forward": abs})(2)),
                 [(-1, 1)] * 2)  # fmt: skip


def test_images_are_not_covered():
    net = ra.RANConvNet(1, 2, widths=(2,))
    with pytest.raises(TypeError, match="RANConvNet cannot be certified on a box.*its head"):
        ra.certify(net, [(-1, 1)])
    assert ra.certify(net).denominator_min >= 1
    assert ra.certify(net.head, [(-1, 1)] * 2).lipschitz > 0


def test_inputs_are_counted_behind_a_dropout():
    with pytest.raises(ValueError, match="box has 1 intervals for 2 inputs"):
        ra.certify(nn.Sequential(nn.Dropout(), nn.Linear(2, 2)), [(-1, 1)])


def test_networks_are_known_without_the_rest_of_the_package():
    """The steps of networks come with `certify` itself, whatever else is imported."""
    script = (
        "from rational_anova.certificates import certify\n"
        "import sys\n"
        "assert 'rational_anova.certificates._layers' in sys.modules\n"
        "from rational_anova.networks import RAN\n"
        "print(certify(RAN(2), [(-1, 1)] * 2, samples=1).lipschitz > 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "True", done.stderr
