"""Learning dynamics: kernels and their parts, and what a step really changes."""

import subprocess
import sys
from pathlib import Path

import pandas
import pytest
import torch
from torch import nn

import rational_anova as ra
from rational_anova import dynamics

ROOT = Path(__file__).parents[2]
ROWS = torch.linspace(-1.5, 1.4, 24, dtype=torch.float64).sin().reshape(8, 3)


def moved(model, seed=0, scale=0.2):
    """Give every weight some noise, so that no part of a formula hides at zero."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            if p.requires_grad:
                p.add_(scale * torch.randn(p.shape, generator=generator, dtype=torch.float64))
    return model.double()


def make(kind, outputs=1):
    torch.manual_seed(0)
    if kind == "RAN":
        return moved(ra.RAN(3, outputs, "all", heads=2))
    if kind == "DeepRAN":
        return moved(ra.DeepRAN(3, outputs, width=6, topology=7))
    if kind == "MLP":
        return moved(ra.MLP(3, outputs, hidden=(8, 8)))
    return moved(ra.KAN(3, outputs, hidden=(4,)))


MODELS = ("RAN", "DeepRAN", "MLP", "KAN")


def jacobian(model, x):
    """The whole Jacobian, row by row and output by output, by plain autograd."""
    weights = [p for p in model.parameters() if p.requires_grad]
    outputs = model(x)
    rows = [
        torch.cat([g.flatten() for g in torch.autograd.grad(value, weights, retain_graph=True)])
        for value in outputs.flatten()
    ]
    return torch.stack(rows).reshape(*outputs.shape, -1)


def close(one, other, tolerance=1e-10):
    return float((one - other).norm()) <= tolerance * float(other.norm())


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("kind", MODELS)
def test_the_kernel_is_the_product_of_jacobians(kind, outputs):
    model = make(kind, outputs)
    # more rows on one side, then on the other: gradients are taken on the side with fewer
    for x_o, x_u in ((ROWS, ROWS[:2]), (ROWS[:2], ROWS)):
        expected = torch.einsum("ocp,uep->ouce", jacobian(model, x_o), jacobian(model, x_u))
        assert close(dynamics.ntk(model, x_o, x_u, method="func").total, expected)
        assert close(dynamics.ntk(model, x_o, x_u).total, expected)
        assert close(dynamics.ntk(model, x_o, x_u, split=False).total, expected)


RANS = {
    "sum": lambda: ra.RAN(3, 1, "all", heads=2),
    "linear": lambda: ra.RAN(3, 4, "all"),
    "no gate": lambda: ra.RAN(3, 2, "all", denominator="sos", gate=None),
    "some mains": lambda: ra.RAN(3, 2, ra.Topology.of([(0, 2)], features=3, mains=[2])),
    "pairs only": lambda: ra.RAN(3, 1, ra.Topology.of([(0, 2), (1, 2)], features=3, mains=[])),
    "additive": lambda: ra.RAN(3, 2, "none", (4, 3)),
}


@pytest.mark.parametrize("name", RANS)
def test_parts_add_up_and_the_formula_is_that_of_torch(name):
    torch.manual_seed(1)
    model = moved(RANS[name]())
    formula = dynamics.ntk(model, ROWS, ROWS[:3], method="formula")
    func = dynamics.ntk(model, ROWS, ROWS[:3], method="func")
    for kernel in (formula, func):
        whole = kernel.head + kernel.main.sum() + kernel.pair.sum()
        one_by_one = kernel.head + sum(kernel.main.values()) + sum(kernel.pair.values())
        assert close(whole, kernel.total)
        assert close(one_by_one, func.total)
    assert close(formula.head, func.head) or not func.head.any()
    assert list(formula.main) == list(func.main) == list(model.topology.mains)
    assert list(formula.pair) == list(func.pair) == list(model.topology.pairs)
    for parts, others in ((formula.main, func.main), (formula.pair, func.pair)):
        for term in parts:
            assert close(parts[term], others[term])
    for name, share in formula.shares().items():
        assert share == pytest.approx(func.shares()[name], rel=1e-9, abs=1e-12)


def test_an_additive_model_has_no_pair_parts():
    model = moved(ra.RAN(3, 2, "none"))
    for method in ("formula", "func"):
        kernel = dynamics.ntk(model, ROWS, ROWS, method=method)
        assert len(kernel.pair) == 0
        assert torch.equal(kernel.pair.sum(), torch.zeros_like(kernel.total))
        assert close(kernel.head + kernel.main.sum(), kernel.total)
    paired = moved(ra.RAN(3, 2, "all"))
    with torch.no_grad():
        paired.head.weight[:, 3:] = 0  # pairs that do not reach the outputs
    assert not dynamics.ntk(paired, ROWS, ROWS).pair.sum().any()


def test_a_main_part_depends_on_its_input_alone():
    model = moved(ra.RAN(3, 1, "all"))
    shifted = ROWS.clone()
    shifted[:, 1:] += 0.3
    one, other = (dynamics.ntk(model, x, ROWS[:1]) for x in (ROWS, shifted))
    assert torch.equal(one.main[0], other.main[0])
    assert not torch.equal(one.main[1], other.main[1])
    assert not torch.equal(one.pair[0, 1], other.pair[0, 1])


def test_frozen_weights_do_not_count():
    model = moved(ra.RAN(3, 2, "all"))
    model.main.denominator.requires_grad_(False)
    model.head.bias.requires_grad_(False)
    formula, func = (dynamics.ntk(model, ROWS, ROWS[:2], method=m) for m in ("formula", "func"))
    weights = jacobian(model, ROWS)
    assert close(formula.total, torch.einsum("ocp,uep->ouce", weights, weights[:2]))
    assert close(formula.total, func.total)


def test_a_changed_ran_is_split_all_the_same():
    model = moved(ra.RAN(3, 1, "all"))
    model.main.register_forward_hook(lambda module, inputs, output: 2 * output)
    kernel = dynamics.ntk(model, ROWS, ROWS[:2])
    assert close(kernel.head + kernel.main.sum() + kernel.pair.sum(), kernel.total)
    weights = jacobian(model, ROWS)
    assert close(kernel.total, torch.einsum("ocp,uep->ouce", weights, weights[:2]))
    with pytest.raises(ValueError, match="use method='func'"):
        dynamics.ntk(model, ROWS, ROWS, method="formula")


def test_large_blocks_and_small_ones_agree(monkeypatch):
    models = [moved(ra.RAN(3, 2, "all")), make("MLP", 2)]
    whole = [dynamics.ntk(model, ROWS, ROWS).total for model in models]
    monkeypatch.setattr("rational_anova.dynamics._ntk._NUMBERS", 200)
    monkeypatch.setattr("rational_anova.dynamics._ntk._ROWS", (3, 3))
    for model, expected in zip(models, whole, strict=True):
        assert close(dynamics.ntk(model, ROWS, ROWS).total, expected, 1e-12)


def test_other_modules_and_single_outputs():
    class Flat(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 1)

        def forward(self, x):
            return self.layer(x).squeeze(-1).tanh()

    model = Flat().double()
    assert dynamics.ntk(model, ROWS, ROWS[:2]).total.shape == (8, 2, 1, 1)
    images = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 2))
    kernel = dynamics.ntk(images.eval(), torch.randn(3, 1, 4, 4), torch.randn(2, 1, 4, 4))
    assert kernel.total.shape == (3, 2, 2, 2)
    assert not kernel.split


def test_tables_and_arrays_come_in_too():
    model = make("RAN")
    expected = dynamics.ntk(model, ROWS, ROWS[:2]).total
    table = pandas.DataFrame(ROWS.numpy(), columns=list("abc"))
    assert torch.equal(dynamics.ntk(model, table, ROWS[:2].numpy()).total, expected)
    step = dynamics.influence(model, table[:2], table["a"][:2], table.values.tolist(), 0.01)
    assert torch.equal(step.true, dynamics.influence(model, ROWS[:2], ROWS[:2, 0], ROWS, 0.01).true)


def test_the_kernel_of_a_point_with_itself_is_symmetric_and_positive():
    total = dynamics.ntk(make("DeepRAN", 2), ROWS, ROWS).total
    matrix = total.permute(0, 2, 1, 3).reshape(16, 16)
    assert close(matrix, matrix.T)
    assert torch.linalg.eigvalsh(matrix).min() > -1e-9 * matrix.diagonal().max()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["MLP", "DeepRAN"])
def test_a_million_weights_stay_far_below_the_whole_jacobian(kind):
    code = """
import resource, torch, rational_anova as ra
torch.set_num_threads(1)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def build(big):
    if "{kind}" == "MLP":
        return ra.MLP(64, 10, hidden=(960, 960) if big else (8,))
    return ra.DeepRAN(64, 10, width=784 if big else 10, topology=27500 if big else 5)

x = torch.randn(32, 64)
ra.dynamics.ntk(build(False), x, x[:2])  # what torch loads at first use
model = build(True)
before = peak()
total = ra.dynamics.ntk(model, x, x[:2]).total
size = sum(p.numel() for p in model.parameters())
print(size, peak() - before, (32 + 2) * 10 * size * 4 / 2**20, bool(torch.isfinite(total).all()))
"""
    code = code.replace("{kind}", kind)
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    size, extra, whole, finite = run.stdout.split()
    assert int(size) > 980_000
    assert finite == "True"
    assert float(extra) < 0.25 * float(whole), f"{extra} MB against {whole} MB"
