"""What a fit leaves as it was: modes, seeds, what is frozen, and the form of a rewired network."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import rational_anova as ra

D = torch.float64


def data(rows=80):
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(rows, 3, generator=generator, dtype=D)
    return X, torch.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def network(**options):
    torch.manual_seed(0)
    return ra.RAN(3, dtype=D, **{"topology": "all", "noise": 0.1, **options})


@pytest.mark.parametrize("optimizer", ["adam", "lm"])
def test_frozen_parameters_stay_under_a_penalty_and_in_restarts(optimizer):
    net = network(base="silu")
    net.main.requires_grad_(False)
    before = {name: p.detach().clone() for name, p in net.main.named_parameters()}
    ra.fit(net, data(), optimizer=optimizer, penalty=0.05, epochs=10)
    ra.fit(net, data(), optimizer=optimizer, restarts=3, epochs=3)
    for name, parameter in net.main.named_parameters():
        assert torch.equal(parameter, before[name])


def test_gates_with_rate_zero_stay_under_a_penalty():
    net = network(base="silu")
    before = net.main.gate.detach().clone()
    ra.fit(net, data(), optimizer="adam", penalty=0.05, epochs=10, gate_rate=0.0)
    assert torch.equal(net.main.gate, before)


def test_modules_keep_their_own_modes():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)).double()
    model[1].eval()
    mean = model[1].running_mean.clone()
    history = ra.fit(model, data(), epochs=3, validation=0.2)
    assert history.optimizer == "adam"
    assert "BatchNorm1d" in history.reason
    assert model.training
    assert not model[1].training
    assert torch.equal(model[1].running_mean, mean)
    with pytest.raises(ValueError, match="the model has a BatchNorm1d"):
        ra.fit(model, data(), optimizer="lm")


def test_the_seed_decides_all_and_the_caller_keeps_his():
    X, y = data()
    labels = torch.bucketize(y, torch.tensor([-0.5, 0.5]))
    losses = []
    for seed in (1, 2):
        torch.manual_seed(0)
        net, other = ra.RAN(3, 3, topology="none", dtype=D), network()
        torch.manual_seed(seed)
        expected = torch.rand(1)
        torch.manual_seed(seed)
        losses.append(ra.fit(net, (X, labels), topology="residual", size=1, epochs=3).training_loss)
        loader = DataLoader(TensorDataset(X, y), 8, shuffle=True)
        ra.fit(other, loader, epochs=1)
        assert torch.equal(torch.rand(1), expected)
    assert losses[0] == losses[1]


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("before", ["none", "all"])
def test_a_rewired_network_is_saved_like_a_built_one(tmp_path, outputs, before):
    after = ra.Topology.all(3) if before == "none" else ra.Topology.none(3)
    net = network(out_features=outputs, topology=before).eval()
    net.rewire(after)
    assert not any(module.training for module in net.modules())
    built = network(out_features=outputs, topology=after)
    assert list(net.state_dict()) == list(built.state_dict())
    ra.save(net, tmp_path / "net.safetensors")
    X, _ = data(5)
    assert torch.equal(ra.load(tmp_path / "net.safetensors")(X), net(X))
    bare = network(out_features=outputs).rewire(ra.Topology(3, [(0, 1)], mains=[]))
    ra.save(bare.rewire(ra.Topology.all(3)), tmp_path / "again.safetensors")


def test_rewiring_keeps_what_is_frozen():
    net = network()
    net.main.numerator.requires_grad_(False)
    net.rewire(ra.Topology.none(3))
    flags = {name: p.requires_grad for name, p in net.named_parameters()}
    assert flags == {"main.numerator": False, "main.denominator": True, "main.gate": True}


def test_a_refused_fit_does_not_rewire():
    net = network()
    with pytest.raises(ValueError, match="proximal steps"):
        ra.fit(net, data(), topology="random", size=1, optimizer="lbfgs", penalty=0.1)
    assert net.topology.num_pairs == 3
