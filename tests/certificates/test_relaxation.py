"""Linear relaxation: no sample and no exact number beats a bound, and bounds are close."""

import copy
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import nn

import rational_anova as ra
from rational_anova.certificates.relaxation import relaxation
from rational_anova.proofs import Interval

MODELS = {
    "relu": lambda: ra.MLP(4, 2, (8, 8), "relu"),
    "gelu": lambda: ra.MLP(4, 2, (8, 8), "gelu"),
    "gelu by tanh": lambda: nn.Sequential(nn.Linear(4, 6), nn.GELU("tanh"), nn.Linear(6, 2)),
    "silu": lambda: ra.MLP(4, 2, (8,), "silu"),
    "tanh": lambda: ra.MLP(4, 2, (8, 8), "tanh"),
    "norm": lambda: nn.Sequential(
        nn.Linear(4, 6), nn.LayerNorm(6), nn.Tanh(), nn.LayerNorm(6, elementwise_affine=False)
    ),
    "ffn": lambda: ra.RANFFNPlus(4, 8, 2, noise=0.2),
    "deep": lambda: ra.DeepRAN(4, 2, width=5, noise=0.2),
    "deep, abs": lambda: ra.DeepRAN(4, 2, width=5, noise=0.2, denominator="abs", base="relu"),
    "reach": lambda: nn.Sequential(nn.Linear(4, 6), ra.Rational1d(6, base="gelu", reach=0.4, noise=0.2),
                                   nn.Linear(6, 2)),
    "blocks": lambda: nn.Sequential(*(ra.GatedRationalBlock(4, gate=0.5, noise=0.2) for _ in range(3))),
}  # fmt: skip


@pytest.mark.parametrize("width", [1e-9, 0.05, 2.0])
@pytest.mark.parametrize("name", list(MODELS))
def test_no_sample_beats_a_bound(name, width):
    torch.manual_seed(len(name))
    model = MODELS[name]().double().eval()
    rng = np.random.default_rng(len(name))
    low = rng.uniform(-1, 0, 4)
    planes = relaxation(model, 4)
    found = planes(Interval(low, low + width))
    share = rng.random((2000, 4))
    share[:200] = share[:200].round()
    x = torch.tensor(np.clip(low + width * share, low, low + width), requires_grad=True)
    y = model(x)
    spare = 1e-13 * (1 + y.abs().max().item())
    assert (found.range.low - spare <= y.detach().numpy()).all()
    assert (y.detach().numpy() <= found.range.high + spare).all()
    for k in range(y.shape[1]):
        (slope,) = torch.autograd.grad(y[:, k].sum(), x, retain_graph=True)
        spare = 1e-12 * (1 + slope.abs().max().item())
        assert (found.slopes.low[k] - spare <= slope.numpy()).all()
        assert (slope.numpy() <= found.slopes.high[k] + spare).all()


def exactly(model, x):
    """Return a ReLU network's outputs in fractions."""
    state = [Fraction(v) for v in x.tolist()]
    for layer in model.layers:
        if isinstance(layer, nn.ReLU):
            state = [max(v, Fraction(0)) for v in state]
            continue
        rows = layer.weight.detach().double().tolist()
        bias = layer.bias.detach().double().tolist()
        state = [
            sum((Fraction(w) * v for w, v in zip(row, state, strict=True)), Fraction(b))
            for row, b in zip(rows, bias, strict=True)
        ]
    return state


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_rounding_is_counted(dtype):
    torch.manual_seed(0)
    model = ra.MLP(6, 3, (20, 20), "relu").to(dtype)
    planes = relaxation(model, 6)
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.normal(size=6) * 10 ** rng.uniform(-3, 6)
        found = planes(Interval(x, x)).range
        for low, value, high in zip(found.low, exactly(model, x), found.high, strict=True):
            assert Fraction(low) <= value <= Fraction(high)
            assert high - low <= 1e-9 * (1 + abs(float(value)) + np.abs(x).max())


def test_a_linear_network_is_bounded_to_rounding():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.Linear(7, 2)).double()
    found = relaxation(model, 5)(Interval(-np.ones(5), np.ones(5)))
    weight = (model[1].weight @ model[0].weight).detach().numpy()
    offset = model(torch.zeros(5, dtype=torch.float64)).detach().numpy()
    assert np.allclose(found.slopes.low, weight)
    assert np.allclose(found.slopes.high, weight)
    assert np.allclose(found.range.high, offset + np.abs(weight).sum(1))


def test_planes_are_closer_than_intervals_and_norms():
    torch.manual_seed(0)
    stack = nn.Sequential(*(ra.GatedRationalBlock(6, gate=0.5, noise=0.2) for _ in range(4)))
    box = [(-0.5, 0.5)] * 6
    before = ra.certify(stack, box, planes=False, pieces=1)
    after = ra.certify(stack, box, pieces=1)
    assert after.sampled <= after.lipschitz < before.lipschitz
    widths = [np.ptp(np.array(one.range), axis=1) for one in (before, after)]
    assert (widths[1] <= widths[0]).all()
    assert widths[1].sum() < 0.9 * widths[0].sum()
    assert after.denominator_min >= before.denominator_min


def test_the_variance_of_a_layer_norm_is_bounded_away_from_zero():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(2, 8), nn.LayerNorm(8)).double()
    box = [(-1, 1)] * 2
    before, after = (ra.certify(model, box, planes=p, pieces=1) for p in (False, True))
    assert after.sampled <= after.lipschitz < 0.2 * before.lipschitz


def test_pieces_help_where_no_sign_is_open():
    torch.manual_seed(0)
    model = ra.RANFFN(3, 8, 1, noise=0.3)
    one, many = (ra.certify(model, [(-1, 1)] * 3, pieces=n) for n in (1, 16))
    assert many.sampled <= many.lipschitz < one.lipschitz
    assert many.pieces == 16


def test_what_has_no_planes_is_bounded_by_intervals():
    class Twice(nn.Module):
        in_features = 2

        def forward(self, x):
            return 2 * x

    assert relaxation(nn.Sequential(Twice()), 2) is None


def test_a_pole_leaves_nothing_known():
    model = nn.Sequential(ra.Rational1d(1, (1, 1), "polynomial", base="zero"), nn.Linear(1, 1))
    with torch.no_grad():
        model[0].denominator.fill_(1.0)
    found = relaxation(copy.deepcopy(model), 1)(Interval(np.array([-2.0]), np.array([0.0])))
    assert found.range.low == -np.inf
    with pytest.raises(ra.certificates.PoleError):
        ra.certify(model, [(-2, 0)])
