"""Checkpoints know their run, and a fit that is stopped keeps its best."""

import numpy as np
import pytest
import torch

import rational_anova as ra

D = torch.float64


def data(rows=80):
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(rows, 3, generator=generator, dtype=D)
    return X, torch.sin(X[:, 0]) + X[:, 1] * X[:, 2]


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


def test_more_patience_goes_on(tmp_path):
    X, _ = data()
    noise = torch.randn(80, generator=torch.Generator().manual_seed(9), dtype=D)
    options = {"validation": 0.5, "optimizer": "adam", "learning_rate": 0.05, "epochs": 400}
    path = tmp_path / "run.pt"
    first = ra.fit(network(), (X, noise), patience=2, checkpoint=path, **options)
    second = ra.fit(network(), (X, noise), patience=30, checkpoint=path, **options)
    assert second.records[-1].epoch >= first.records[-1].epoch + 20


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
