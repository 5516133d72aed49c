"""What fresh eyes found in training, each held by a test."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

import rational_anova as ra
from rational_anova.training import Loss
from rational_anova.training.optimizers._jacobian import Vector, jacobian_rows

D = torch.float64


def data(rows=80):
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(rows, 3, generator=generator, dtype=D)
    return X, torch.sin(X[:, 0]) + X[:, 1] * X[:, 2]


class Plain(torch.utils.data.Dataset):
    def __init__(self, X, y):
        self.X, self.y = X, y

    def __len__(self):
        return len(self.X)

    def __getitem__(self, n):
        return self.X[n], self.y[n]


def network(**options):
    torch.manual_seed(0)
    return ra.RAN(3, dtype=D, **{"topology": "all", "noise": 0.1, **options})


@pytest.mark.parametrize("change", [{"denominator": "square"}, {"base": "silu"}, "pairs"])
def test_a_checkpoint_knows_denominator_base_and_pairs(tmp_path, change):
    first = network(topology=ra.Topology.of([(0, 1)], features=3))
    ra.fit(first, data(), optimizer="adam", epochs=2, checkpoint=tmp_path / "run.pt")
    pairs = [(1, 2)] if change == "pairs" else [(0, 1)]
    options = {} if change == "pairs" else change
    other = network(topology=ra.Topology.of(pairs, features=3), **options)
    with pytest.raises(ValueError, match="belongs to another run"):
        ra.fit(other, data(), optimizer="adam", epochs=2, checkpoint=tmp_path / "run.pt")


def test_a_checkpoint_knows_the_validation_rows(tmp_path):
    X, y = data()
    options = {"optimizer": "adam", "epochs": 2, "checkpoint": tmp_path / "run.pt"}
    ra.fit(network(), (X, y), validation=(X[:9], y[:9]), learning_rate=0.01, **options)
    again = ra.fit(
        network(), (X, y), validation=(X[:9], y[:9]), learning_rate=np.float64(0.01), **options
    )
    assert len(again.records) == 2
    with pytest.raises(ValueError, match="belongs to another run"):
        ra.fit(network(), (X, y), validation=(X[:8], y[:8]), learning_rate=0.01, **options)


def test_trials_of_a_sweep_have_checkpoints_of_their_own(tmp_path):
    def build(denominator):
        return network(denominator=denominator)

    grid = {"denominator": ["softplus", "square"]}
    plain = ra.sweep(build, data(), grid, optimizer="lm", epochs=5)
    saved = ra.sweep(build, data(), grid, optimizer="lm", epochs=5, checkpoint=tmp_path / "s")
    for one, two in zip(plain.trials, saved.trials, strict=True):
        assert one.history.training_loss == two.history.training_loss


class Scaled(ra.RAN):
    def forward(self, x):
        return 10 * super().forward(x) + 3


def test_lm_does_not_use_the_formulas_of_another_model():
    torch.manual_seed(0)
    changed = Scaled(3, topology="all", noise=0.1, dtype=D)
    tied = network(topology=ra.Topology.of([(0, 1), (0, 2), (1, 2)], features=3))
    tied.pair.gate = tied.main.gate
    hooked = network()
    hooked.register_forward_hook(lambda module, inputs, output: 2 * output)
    X, _ = data(5)
    for net in (changed, tied, hooked):
        vector = Vector(net)
        _, rows = jacobian_rows(net, vector)(X)
        start = vector.get()
        step = torch.randn(vector.size, generator=torch.Generator().manual_seed(1), dtype=D)
        vector.set(start + 1e-6 * step)
        high = net(X).detach()
        vector.set(start - 1e-6 * step)
        torch.testing.assert_close(rows @ step, (high - net(X)) / 2e-6, atol=1e-6, rtol=1e-5)


def linear(outputs=1):
    torch.manual_seed(0)
    return nn.Linear(3, outputs).double()


def stderr(data, outputs=1, loss="auto"):
    history = ra.fit(linear(outputs), data, optimizer="lm", loss=loss)
    return history.covariance.stderr["weight"]


@pytest.mark.parametrize("loss", ["mse", "binary"])
def test_rows_of_weight_zero_tell_nothing(loss):
    X, y = data()
    noise = torch.rand(80, generator=torch.Generator().manual_seed(3), dtype=D)
    y = y + noise if loss == "mse" else (torch.sigmoid(X[:, 0]) > noise).double()
    weight = torch.cat([torch.ones(80), torch.zeros(80)])
    doubled = (torch.cat([X, X]), torch.cat([y, y]), weight)
    torch.testing.assert_close(stderr(doubled, loss=loss), stderr((X, y), loss=loss))


def test_standard_errors_of_several_binary_outputs_are_those_of_each():
    X, _ = data()
    noise = torch.rand(80, 3, generator=torch.Generator().manual_seed(3), dtype=D)
    y = (torch.sigmoid(X) > noise).double()
    together = stderr((X, y), 3, "binary")
    for n in range(3):
        alone = stderr((X, y[:, n]), 1, "binary")
        torch.testing.assert_close(together[n], alone[0], rtol=1e-3, atol=0)


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


def test_rows_of_weight_zero_do_not_choose_the_pairs():
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(400, 5, generator=generator, dtype=D)
    y = X[:, 1] * X[:, 3]
    y[200:] = 1000 * X[200:, 2] * X[200:, 4]
    weight = torch.cat([torch.ones(200), torch.zeros(200)])
    net = ra.RAN(5, topology="none", dtype=D)
    for method in ("correlation", "residual", "gradient", "learned", "top-k"):
        assert ra.select_topology(net, (X, y, weight), method, 1).pairs == ((1, 3),)


def test_patience_needs_validation_in_a_sweep_too():
    with pytest.raises(ValueError, match="patience=3 needs validation rows"):
        ra.sweep(network(), data(), {"seed": [0]}, patience=3, optimizer="adam")


def hundredfold(f, y):
    return 100 * (f - y).abs().mean(-1)


def test_a_loss_of_ones_own_goes_to_other_processes():
    own = Loss("mse", hundredfold, hundredfold, hundredfold)
    grid = {"seed": [0, 1]}
    options = {"loss": own, "optimizer": "adam", "epochs": 2}
    here = ra.sweep(network(), data(), grid, **options)
    there = ra.sweep(network(), data(), grid, n_jobs=2, **options)
    assert there.best.history.training_loss == pytest.approx(here.best.history.training_loss)


def interrupt(net, count):
    seen = []

    def hook(module, inputs):
        seen.append(module.training)
        if sum(seen) == count and module.training:
            raise KeyboardInterrupt

    return net.register_forward_pre_hook(hook)


def test_ctrl_c_keeps_the_best_epoch_that_was_seen():
    net = network()
    interrupt(net, 60)
    history = ra.fit(net, data(), validation=0.3, optimizer="adam", epochs=500, learning_rate=0.01)
    assert history.stopped == "interrupted"
    best = min(record.validation for record in history.records)
    assert len(history.records) == 59
    assert history.validation_loss == pytest.approx(best)


def test_ctrl_c_ends_restarts_and_paths():
    net = network()
    interrupt(net, 10)
    history = ra.fit(net, data(), optimizer="adam", epochs=30, restarts=4)
    assert history.stopped == "interrupted"
    assert list(history.runs) == [0]


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


def test_a_share_cannot_keep_a_sampler():
    X, y = data()

    loader = DataLoader(Plain(X, y), 8, sampler=WeightedRandomSampler([1.0] * 80, 80))
    with pytest.raises(ValueError, match="cannot keep the WeightedRandomSampler"):
        ra.fit(network(), loader, validation=0.2)
    short = DataLoader(Plain(X, y), 100, drop_last=True)
    with pytest.raises(ValueError, match="yields no batch"):
        ra.fit(network(), short)


def test_the_training_loss_is_that_of_the_float32_model():
    x = torch.linspace(-1, 1, 50)[:, None]
    net = ra.RAN(1, 1, "none", (2, 2), denominator="square", base="zero")
    history = ra.fit(net, (x, 1 / (1 + 4 * x**2)), optimizer="lm")
    with torch.no_grad():
        own = (net(x) - 1 / (1 + 4 * x**2)).double().square().mean().item()
    assert history.training_loss == pytest.approx(own, rel=1e-3)


def test_lm_says_when_it_ends_far_above_a_constant():
    X, y = data()
    with pytest.warns(RuntimeWarning, match="scale the inputs to order one"):
        ra.fit(network(), (X * 1e4, y), optimizer="lm", epochs=2)


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


def test_half_precision_models_train():
    X, y = data()
    history = ra.fit(nn.Linear(3, 1).bfloat16(), (X, y), optimizer="adam", epochs=3)
    assert history.training_loss > 0


def test_batches_of_weight_zero_are_passed_over():
    X, y = data()
    weight = torch.zeros(80)
    weight[:10] = 1.0
    for optimizer, options in (("adam", {"batch_size": 4}), ("lm", {}), ("lbfgs", {})):
        history = ra.fit(network(), (X, y, weight), optimizer=optimizer, epochs=3, **options)
        assert history.training_loss > 0


def test_a_path_from_a_loader_has_the_same_penalties():
    X, y = data()

    options = {"validation": (X[:20], y[:20]), "penalties": 2, "epochs": 1, "optimizer": "adam"}
    one = ra.fit_path(network(), (X, y), refit=False, **options)
    two = ra.fit_path(network(), DataLoader(Plain(X, y), 16), refit=False, **options)
    assert two.steps[1].penalty == pytest.approx(one.steps[1].penalty)
    with pytest.raises(ValueError, match="needs a model with terms"):
        ra.fit_path(linear(), (X, y), validation=0.2, penalties=[0.1])


@pytest.mark.parametrize(
    ("model", "form", "options", "error", "message"),
    [
        (ra.RAN, data(), {}, TypeError, "model must be an nn.Module.*build it first"),
        (network(), (3.0, data()[1]), {}, ValueError, "X must have rows"),
        (network(), (data()[0].to(torch.complex64), data()[1]), {}, TypeError, "real numbers"),
        (network(), data(), {"seed": 2**45}, ValueError, "seed must be below"),
        (network(), data(), {"validation": 30}, ValueError, "validation=30 must be a share"),
    ],
)
def test_plausible_mistakes(model, form, options, error, message):
    with pytest.raises(error, match=message):
        ra.fit(model, form, **options)


def test_a_refused_fit_does_not_rewire():
    net = network()
    with pytest.raises(ValueError, match="proximal steps"):
        ra.fit(net, data(), topology="random", size=1, optimizer="lbfgs", penalty=0.1)
    assert net.topology.num_pairs == 3


def test_missing_values_of_pandas_are_placed():
    frame = pd.DataFrame(data()[0].numpy(), columns=list("abc")).astype("Float64")
    frame.loc[4, "b"] = pd.NA
    with pytest.raises(ValueError, match="nan at row 4, column 1"):
        ra.fit(network(), (frame, data()[1]))


def test_more_patience_goes_on(tmp_path):
    X, _ = data()
    noise = torch.randn(80, generator=torch.Generator().manual_seed(9), dtype=D)
    options = {"validation": 0.5, "optimizer": "adam", "learning_rate": 0.05, "epochs": 400}
    path = tmp_path / "run.pt"
    first = ra.fit(network(), (X, noise), patience=2, checkpoint=path, **options)
    second = ra.fit(network(), (X, noise), patience=30, checkpoint=path, **options)
    assert second.records[-1].epoch >= first.records[-1].epoch + 20
