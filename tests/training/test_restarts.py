"""Restarts, sweeps and the choice of pairs."""

import joblib
import pytest
import torch

import rational_anova as ra
from rational_anova.training import Loss

DOUBLE = torch.float64
METHODS = ["residual", "gradient", "learned", "top-k"]


def runge(rows=60):
    x = torch.linspace(-1, 1, rows, dtype=DOUBLE)[:, None]
    return x, 1 / (1 + 25 * x**2)


def unit():
    torch.manual_seed(0)
    return ra.RAN(1, 1, "none", (2, 2), denominator="sos", base="zero", gate=None, dtype=DOUBLE)


def test_the_best_restart_is_kept():
    net = unit()
    history = ra.fit(net, runge(), optimizer="lm", restarts=6, restart_noise=1.0)
    assert sorted(history.runs) == list(range(6))
    assert history.training_loss == min(history.runs.values()) < 1e-25
    assert history.seed == min(history.runs, key=history.runs.get)
    assert torch.nn.functional.mse_loss(net(runge()[0]), runge()[1]).item() < 1e-25


def test_the_first_restart_is_the_model_as_it_is():
    one, two = unit(), unit()
    single = ra.fit(one, runge(), optimizer="adam", epochs=20)
    many = ra.fit(two, runge(), optimizer="adam", epochs=20, restarts=2)
    assert many.runs[0] == single.training_loss


def test_restarts_share_their_validation_rows_and_choose_by_them():
    net = unit()
    history = ra.fit(net, runge(), optimizer="lm", restarts=3, validation=0.3)
    assert history.validation_loss == min(history.runs.values())


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_restarts_run_through_joblib(backend):
    plain, parallel = unit(), unit()
    expected = ra.fit(plain, runge(), optimizer="lm", restarts=3)
    with joblib.parallel_config(backend, inner_max_num_threads=1 if backend == "loky" else None):
        found = ra.fit(parallel, runge(), optimizer="lm", restarts=3, n_jobs=2)
    assert found.runs == pytest.approx(expected.runs, rel=1e-6, abs=1e-25)


def build(degree=2):
    return ra.RAN(1, 1, "none", (degree, 2), denominator="sos", base="zero", dtype=DOUBLE)


def test_sweeps_over_settings_and_models():
    result = ra.sweep(build, runge(), {"degree": [0, 2], "weight_decay": [0.0, 1.0]},
                      validation=0.2, optimizer="lm", epochs=20)  # fmt: skip
    table = result.table()
    assert len(table) == 4
    assert list(table.columns[:2]) == ["degree", "weight_decay"]
    assert table["validation_loss"].is_monotonic_increasing
    assert result.best.settings["weight_decay"] == 0.0
    assert result.best.history.validation_loss == table["validation_loss"][0]


def test_sweeps_say_what_is_wrong():
    with pytest.raises(ValueError, match="must be a list of values to try, got 0.1"):
        ra.sweep(unit(), runge(), {"learning_rate": 0.1})
    with pytest.raises(ValueError, match="a key of the grid must be one of"):
        ra.sweep(unit(), runge(), {"degree": [1, 2]})
    with pytest.raises(ValueError, match="a setting of fit must be one of"):
        ra.sweep(unit(), runge(), {"learning_rate": [0.1]}, lr=3)


@pytest.mark.slow
def test_sweeps_run_on_a_dask_cluster():
    distributed = pytest.importorskip("distributed", reason="needs the extra 'distributed'")
    grid = {"learning_rate": [1e-2, 3e-3], "seed": [0, 1]}
    options = {"optimizer": "adam", "epochs": 20}
    expected = ra.sweep(unit(), runge(), grid, **options)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", processes=True
        ) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config("dask"),
    ):
        assert len(client.scheduler_info(n_workers=-1)["workers"]) == 2
        found = ra.sweep(unit(), runge(), grid, n_jobs=-1, **options)
        again = ra.fit(unit(), runge(), optimizer="lm", restarts=3, n_jobs=-1)
    for one, two in zip(expected.trials, found.trials, strict=True):
        assert one.settings == two.settings
        assert two.history.training_loss == pytest.approx(one.history.training_loss, rel=1e-9)
    assert len(again.runs) == 3


def needle(rows=600, features=8, seed=0):
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(rows, features, generator=generator, dtype=DOUBLE)
    y = torch.sin(X).sum(1) + X[:, 2] * X[:, 5]
    return X, y + 0.1 * y.std() * torch.randn(rows, generator=generator, dtype=DOUBLE)


@pytest.mark.parametrize("method", METHODS)
def test_every_way_to_choose_finds_the_needle(method):
    X, y = needle()
    net = ra.RAN(8, topology="none", dtype=DOUBLE)
    chosen = ra.select_topology(net, (X, y), method, size=1)
    assert chosen.pairs == ((2, 5),)
    assert net.topology.num_pairs == 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("outputs", [1, 3])
def test_every_way_to_choose_knows_classes(method, outputs):
    X, _ = needle(1500)
    score = 3 * X[:, 2] * X[:, 5]
    y = score > 0 if outputs == 1 else torch.bucketize(score, torch.tensor([-1.0, 1.0]))
    net = ra.RAN(8, outputs, topology="none", dtype=DOUBLE)
    assert ra.select_topology(net, (X, y), method, size=1).pairs == ((2, 5),)


@pytest.mark.parametrize("method", ["residual", "random"])
def test_fit_chooses_by_name(method):
    X, y = needle()
    net = ra.RAN(8, topology="none", dtype=DOUBLE)
    history = ra.fit(net, (X, y), topology=method, size=2, validation=0.2, epochs=15)
    assert net.topology.num_pairs == 2
    assert history.optimizer == "lm"
    if method == "residual":
        assert (2, 5) in net.topology.pairs
        assert history.validation_loss < 0.3


def test_pairs_are_chosen_on_training_rows_alone():
    X, y = needle(200)
    net = ra.RAN(8, topology="none", dtype=DOUBLE)
    order = torch.randperm(200, generator=torch.Generator().manual_seed(0))
    poisoned = y.clone()
    poisoned[order[:40]] = 100 * X[order[:40], 0] * X[order[:40], 1]  # the rows that are held out
    one = ra.select_topology(net, (X, y), size=2, validation=0.2)
    two = ra.select_topology(net, (X, poisoned), size=2, validation=0.2)
    assert one == two


def test_choosing_says_what_it_needs():
    X, y = needle(50)
    with pytest.raises(TypeError, match="needs a RAN, got MLP"):
        ra.fit(ra.MLP(8, 1).double(), (X, y), topology="residual")
    with pytest.raises(ValueError, match="did you mean 'residual'"):
        ra.fit(ra.RAN(8, dtype=DOUBLE), (X, y), topology="residuals")
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, y))
    with pytest.raises(TypeError, match="needs data in memory"):
        ra.fit(ra.RAN(8, dtype=DOUBLE), data, topology="residual")


def test_rows_of_weight_zero_do_not_choose_the_pairs():
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(400, 5, generator=generator, dtype=DOUBLE)
    y = X[:, 1] * X[:, 3]
    y[200:] = 1000 * X[200:, 2] * X[200:, 4]
    weight = torch.cat([torch.ones(200), torch.zeros(200)])
    net = ra.RAN(5, topology="none", dtype=DOUBLE)
    for method in ("correlation", "residual", "gradient", "learned", "top-k"):
        assert ra.select_topology(net, (X, y, weight), method, 1).pairs == ((1, 3),)


def test_patience_needs_validation_in_a_sweep_too():
    with pytest.raises(ValueError, match="patience=3 needs validation rows"):
        ra.sweep(unit(), runge(), {"seed": [0]}, patience=3, optimizer="adam")


def hundredfold(f, y):
    return 100 * (f - y).abs().mean(-1)


def test_a_loss_of_ones_own_goes_to_other_processes():
    own = Loss("mse", hundredfold, hundredfold, hundredfold)
    grid = {"seed": [0, 1]}
    options = {"loss": own, "optimizer": "adam", "epochs": 2}
    here = ra.sweep(unit(), runge(), grid, **options)
    there = ra.sweep(unit(), runge(), grid, n_jobs=2, **options)
    assert there.best.history.training_loss == pytest.approx(here.best.history.training_loss)
