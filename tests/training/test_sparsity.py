"""Group lasso: exact zeros, the same optimum by every optimiser, pruning, paths."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import rational_anova as ra
from rational_anova.training import active_terms
from rational_anova.training._terms import alive, banks, named, open_gates, shrink
from rational_anova.training.optimizers._group_lasso import GroupProblem, Penalty
from rational_anova.training.optimizers._jacobian import Vector

DOUBLE = torch.float64


def data(rows=200, features=4, noise=0.1, seed=0):
    """y = x0 + x1 x2: of four main effects and six pairs two terms are true."""
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(rows, features, generator=generator, dtype=DOUBLE)
    e = torch.randn(rows, generator=generator, dtype=DOUBLE)
    return X, X[:, 0] + X[:, 1] * X[:, 2] + noise * e


def network(outputs=1, seed=0, **options):
    torch.manual_seed(seed)
    options = {"base": "zero", "noise": 0.05, **options}
    return ra.RAN(4, outputs, "all", dtype=DOUBLE, **options)


@given(st.integers(0, 10**6), st.floats(-6, 3))
def test_shrinking_solves_its_problem(seed, exponent):
    generator = torch.Generator().manual_seed(seed)
    groups = torch.randn(20, 3, generator=generator, dtype=DOUBLE)
    metric = torch.rand(20, 3, generator=generator, dtype=DOUBLE) ** 3 * 10 + 1e-4
    bound = 10**exponent
    z = shrink(groups, metric, bound)
    zero = (z == 0).all(1)
    assert torch.equal(zero, (metric * groups).norm(dim=1) <= bound)
    length = z.norm(dim=1, keepdim=True)
    left = metric * (z - groups) + bound * z / length.clamp(min=1e-300)
    assert left[~zero].abs().max() < 1e-8 * (1 + bound) if (~zero).any() else True


def test_the_quadratic_problem_of_lm_is_solved():
    """The conditions of the optimum: of the smooth part, and of the groups."""
    net = network()
    vector = Vector(net)
    penalty = Penalty(net, 0.3)
    generator = torch.Generator().manual_seed(0)
    root = torch.randn(vector.size, vector.size, generator=generator, dtype=DOUBLE)
    matrix = root @ root.T / vector.size + 0.1 * torch.eye(vector.size, dtype=DOUBLE)
    target = torch.randn(vector.size, generator=generator, dtype=DOUBLE)
    v = GroupProblem(penalty, vector).solve(matrix, target)
    slope = vector.views(matrix @ (v - target))
    free = {name for name in vector.spans} - {p.name for b in banks(net) for p in b.parts}
    for name in free:
        assert slope[name].abs().max() < 1e-5
    dropped = 0
    for bank in banks(net):
        groups, pull = bank.read(vector.views(v)), bank.read(slope, plain=True)
        bound = penalty.weight(groups.shape[1])
        for z, g in zip(groups, pull, strict=True):
            if (z == 0).all():
                dropped += 1
                assert g.norm() <= bound * (1 + 1e-6)
            else:
                torch.testing.assert_close(g, -bound * z / z.norm(), atol=1e-5, rtol=1e-5)
    assert 0 < dropped < 10


def objective(net, X, y, strength):
    with torch.no_grad():
        loss = torch.nn.functional.mse_loss(net(X)[:, 0], y).item()
    return loss + Penalty(net, strength).value()


@pytest.mark.parametrize("optimizer", ["adam", "lm"])
@pytest.mark.parametrize("base", ["zero", "identity"])
def test_the_true_pair_survives_and_what_is_dropped_is_exactly_zero(optimizer, base):
    X, y = data()
    net = network(base=base)
    history = ra.fit(net, (X, y), optimizer=optimizer, penalty=0.05, epochs=600, learning_rate=1e-2)
    kept = torch.cat([alive(net)["main"], alive(net)["pair"]])
    assert alive(net)["pair"][net.topology.pairs.index((1, 2))]
    assert history.records[-1].terms == active_terms(net) == int(kept.sum()) <= 5
    features = net.features(X)
    assert (features[:, ~kept] == 0).all()
    assert (features[:, kept] != 0).any(0).all()


def test_adam_and_lm_rest_at_the_same_objective():
    """From the same point, both end at conditions of the same penalised loss."""
    X, y = data()
    start = network()
    ra.fit(start, (X, y), optimizer="lm", penalty=0.05)
    low = objective(start, X, y, 0.05)
    again = network()
    again.load_state_dict(start.state_dict())
    ra.fit(again, (X, y), optimizer="adam", penalty=0.05, epochs=1000, learning_rate=1e-3,
           schedule="cosine")  # fmt: skip
    assert objective(again, X, y, 0.05) == pytest.approx(low, rel=1e-3)
    assert active_terms(again) == active_terms(start)


def test_a_dropped_group_meets_its_condition():
    """|gradient| <= penalty sqrt(k) in every group that is zero: zero is optimal, not an accident."""
    X, y = data()
    net = network()
    ra.fit(net, (X, y), optimizer="lm", penalty=0.05)
    torch.nn.functional.mse_loss(net(X)[:, 0], y).backward()
    gradients = {name: p.grad for name, p in net.named_parameters()}
    for bank in banks(net):
        groups, pull = bank.read(named(net)), bank.read(gradients, plain=True)
        bound = 0.05 * groups.shape[1] ** 0.5
        for z, g in zip(groups, pull, strict=True):
            if (z == 0).all():
                assert g.norm() <= bound * 1.001
            else:
                torch.testing.assert_close(g, -bound * z / z.norm(), atol=1e-3, rtol=1e-2)


def test_gates_are_put_into_numerators_and_held():
    net = network(gate=0.5)
    X, _ = data(20)
    before = net(X)
    with open_gates(net):
        torch.testing.assert_close(net(X), before)
        assert (net.pair.gate == 1).all()
        assert not net.pair.gate.requires_grad
    assert net.pair.gate.requires_grad


@pytest.mark.parametrize("outputs", [1, 3])
def test_pruning_keeps_the_output(outputs, tmp_path):
    X, y = data()
    target = y if outputs == 1 else torch.bucketize(y, torch.tensor([-0.5, 0.5]))
    net = network(outputs)
    strength = 0.03 if outputs == 1 else 0.003  # slopes of a likelihood are smaller
    ra.fit(net, (X, target), optimizer="adam", penalty=strength, epochs=400, learning_rate=1e-2)
    small = ra.prune(net)
    count = active_terms(net)
    assert 0 < count < 10
    assert small.topology.num_mains + small.topology.num_pairs == count
    assert ra.count_parameters(small) < ra.count_parameters(net)
    torch.testing.assert_close(small(X), net(X), rtol=1e-13, atol=1e-13)
    assert torch.equal(net(X), net(X))
    ra.save(small, tmp_path / "small.safetensors")
    assert torch.equal(ra.load(tmp_path / "small.safetensors")(X), small(X))


def test_pruning_a_deep_network():
    X, y = data()
    torch.manual_seed(0)
    net = ra.DeepRAN(4, 1, blocks=2, topology="all", dtype=DOUBLE, noise=0.1)
    ra.fit(net, (X, y), optimizer="adam", penalty=0.01, epochs=200, learning_rate=1e-2)
    count = active_terms(net)
    assert 0 < count < 12
    small = ra.prune(net)
    assert sum(block.topology.num_pairs for block in small.blocks) == count
    torch.testing.assert_close(small(X), net(X), rtol=1e-12, atol=1e-12)
    with torch.no_grad():
        for block in net.blocks:
            block.weight.zero_()
    bare = ra.prune(net)
    assert sum(block.topology.num_pairs for block in bare.blocks) == 0
    torch.testing.assert_close(bare(X), net(X), rtol=1e-12, atol=1e-12)


def test_pruning_says_what_it_cannot_do():
    with pytest.raises(TypeError, match="needs a RAN or a DeepRAN, got MLP"):
        ra.prune(ra.MLP(2, 1))
    net = ra.RAN(2, base="zero", topology="all")
    with pytest.raises(ValueError, match="all terms are zero"):
        ra.prune(net)
    with pytest.raises(ValueError, match="needs a model with terms to drop"):
        ra.fit(ra.MLP(4, 1).double(), data(), penalty=0.1, optimizer="adam")


def test_rewiring_keeps_terms_that_stay():
    net = network(3)
    X, _ = data(20)
    before = {pair: net.features(X)[:, 4 + n] for n, pair in enumerate(net.topology.pairs)}
    weight = net.head.weight[:, 4 + net.topology.pairs.index((1, 3))].clone()
    net.rewire(ra.Topology(4, [(1, 3), (0, 1)], mains=[2]))
    after = net.features(X)
    torch.testing.assert_close(after[:, 1], before[1, 3])
    torch.testing.assert_close(after[:, 2], before[0, 1])
    assert torch.equal(net.head.weight[:, 1], weight)
    assert all(p.requires_grad for p in net.parameters())
    with pytest.raises(ValueError, match="on 3 features, the network has 4"):
        net.rewire(ra.Topology.none(3))


@pytest.mark.parametrize("optimizer", ["adam", "lm"])
def test_a_path_finds_the_true_terms(optimizer, tmp_path):
    X, y = data(300)
    net = network()
    path = ra.fit_path(net, (X, y), validation=0.3, optimizer=optimizer, penalties=6,
                       epochs=150 if optimizer == "adam" else 30, learning_rate=2e-2)  # fmt: skip
    terms = [step.terms for step in path.steps]
    assert terms[0] == 10
    assert path.chosen.terms < 10
    assert (1, 2) in path.model.topology.pairs
    assert path.history.validation_loss < 0.05  # the noise has variance 0.01
    assert len(path.table()) == len(path.steps)
    path.plot(tmp_path / "path.png")
    assert (tmp_path / "path.png").stat().st_size > 10_000


def test_paths_need_validation_and_sensible_penalties():
    with pytest.raises(ValueError, match="chooses its penalty on validation rows"):
        ra.fit_path(network(), data(), validation=None)
    with pytest.raises(ValueError, match="penalties must be numbers > 0"):
        ra.fit_path(network(), data(), validation=0.2, penalties=[0.0], epochs=2)
    with pytest.raises(ValueError, match="a setting of fit must be one of"):
        ra.fit_path(network(), data(), validation=0.2, learning=1)
