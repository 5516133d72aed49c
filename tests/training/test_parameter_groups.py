"""One classification of parameters, for `fit` and for any loop of torch."""

import pytest
import torch
from torch import nn

import rational_anova as ra
from rational_anova.training._parameter_groups import decays, roles

DOUBLE = torch.float64


def blocks():
    torch.manual_seed(0)
    return nn.Sequential(ra.GatedRationalBlock(3), nn.LayerNorm(3), nn.Linear(3, 1)).double()


def deep():
    torch.manual_seed(0)
    return ra.DeepRAN(3, 1, dtype=DOUBLE)


def data(rows=40):
    X = torch.randn(rows, 3, generator=torch.Generator().manual_seed(0), dtype=DOUBLE)
    return X, torch.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def test_roles():
    assert roles(blocks()) == {
        "0.gate": "gate",
        "0.linear.weight": "weight",
        "0.unit.numerator": "numerator",
        "0.unit.denominator": "denominator",
        "1.weight": "vector",
        "1.bias": "vector",
        "2.weight": "weight",
        "2.bias": "vector",
    }


def test_a_matrix_called_gate_is_a_weight():
    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Parameter(torch.zeros(4, 2))

    assert roles(Experts()) == {"gate": "weight"}


def test_gate_rate_reaches_the_gates_of_blocks():
    model = blocks()
    groups = ra.parameter_groups(model, 0.1, numerator_rate=1, denominator_rate=1, gate_rate=3.0)
    rates = {id(p): group["lr"] for group in groups for p in group["params"]}
    assert rates.pop(id(model[0].gate)) == pytest.approx(0.3)
    assert set(rates.values()) == {0.1}
    net = deep()
    held = next(g for g in ra.parameter_groups(net, 0.1, gate_rate=0.0) if g["role"] == "gate")
    assert {id(block.gate) for block in net.blocks} <= {id(p) for p in held["params"]}


def is_gate(name):
    return name.rpartition(".")[2] == "gate"


@pytest.mark.parametrize("make", [blocks, deep])
def test_gate_rate_of_fit_reaches_the_gates_of_blocks(make):
    model = make()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    ra.fit(model, data(), optimizer="adam", epochs=3, gate_rate=0.0)
    for name, parameter in model.named_parameters():
        if is_gate(name):
            assert torch.equal(parameter, before[name]), name
    moved = [n for n, p in model.named_parameters() if not torch.equal(p, before[n])]
    assert any(name.endswith("numerator") for name in moved)
    free = make()
    ra.fit(free, data(), optimizer="adam", epochs=3)
    assert all(not torch.equal(p, before[n]) for n, p in free.named_parameters() if is_gate(n))


def test_fit_trains_with_the_public_groups(monkeypatch):
    seen = []
    adam = torch.optim.Adam

    def watched(groups, **options):
        seen.extend(groups)
        return adam(groups, **options)

    monkeypatch.setattr(torch.optim, "Adam", watched)
    model = blocks()
    rates = {"weight_decay": 0.1, "denominator_rate": 0.5, "gate_rate": 2.0}
    ra.fit(model, data(), optimizer="adam", epochs=1, learning_rate=0.01, **rates,
           denominator_decay=0.3)  # fmt: skip
    decays = {"numerator_decay": 0.1, "denominator_decay": 0.3, "vector_decay": 0.1}
    expected = ra.parameter_groups(model, 0.01, numerator_rate=1.0, **rates, **decays)
    for one, other in zip(seen, expected, strict=True):
        assert [id(p) for p in one["params"]] == [id(p) for p in other["params"]]
        assert {k: one[k] for k in ("lr", "weight_decay", "role")} == {
            k: other[k] for k in ("lr", "weight_decay", "role")
        }


def test_decays_stand_in_the_order_of_the_model():
    model = blocks()
    model[0].linear.weight.requires_grad_(False)
    groups = ra.parameter_groups(model, 0.1, 0.2, numerator_decay=0.3, denominator_decay=0.4,
                                 vector_decay=0.5)  # fmt: skip
    expected = {"weight": 0.2, "numerator": 0.3, "denominator": 0.4, "vector": 0.5, "gate": 0.0}
    role = roles(model)
    names = [name for name, p in model.named_parameters() if p.requires_grad]
    assert decays(model, groups) == [expected[role[name]] for name in names]
