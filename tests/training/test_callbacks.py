"""Callbacks of fits: what they are told, how they stop, and that they are let go."""

import io
import itertools
import math
import pickle

import numpy as np
import pytest
import torch
from rich.console import Console
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rational_anova as ra
from rational_anova.training import Progress, ProgressBar

DOUBLE = torch.float64


def data(rows=60):
    X = torch.randn(rows, 3, generator=torch.Generator().manual_seed(0), dtype=DOUBLE)
    return X, torch.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def network(**options):
    torch.manual_seed(0)
    return ra.RAN(3, dtype=DOUBLE, **{"topology": "all", "noise": 0.1, **options})


def state(model):
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


class Watcher:
    """Remembers what it is told, and asks to stop at a given call."""

    def __init__(self, stop=math.inf):
        self.seen, self.stop, self.inside = [], stop, []

    def __call__(self, progress):
        assert self.inside[-1:] == [True]
        self.seen.append(progress)
        return len(self.seen) >= self.stop

    def __enter__(self):
        self.inside.append(True)
        return self

    def __exit__(self, *error):
        self.inside.append(error[0])


# ---------------------------------------------------------------- networks


@pytest.mark.parametrize("optimizer", ["adam", "lbfgs", "lm"])
def test_a_callback_sees_every_record_and_changes_nothing(optimizer):
    plain, net, seen = network(), network(), []
    ra.fit(plain, data(), optimizer=optimizer, epochs=5, validation=0.2)
    history = ra.fit(
        net, data(), optimizer=optimizer, epochs=5, validation=0.2, callbacks=[seen.append]
    )
    assert torch.equal(state(net), state(plain))
    assert [(p.epoch, p.loss, p.validation, p.rate, p.terms) for p in seen] == [
        (r.epoch, r.loss, r.validation, r.rate, r.terms) for r in history.records
    ]
    assert all((p.stage, p.epochs) == (optimizer, 5) for p in seen)
    scores = [p.validation for p in seen]
    assert [p.best for p in seen] == [min(scores[: n + 1]) for n in range(len(scores))]
    assert all(a.seconds <= b.seconds for a, b in itertools.pairwise(seen))


def test_without_validation_rows_the_best_is_of_the_training_loss():
    seen = []
    ra.fit(network(), data(), optimizer="adam", epochs=5, callbacks=[seen.append])
    losses = [p.loss for p in seen]
    assert [p.best for p in seen] == [min(losses[: n + 1]) for n in range(len(losses))]


def test_true_stops_and_keeps_the_best():
    net = network()
    watcher = Watcher(stop=7)
    history = ra.fit(net, data(), optimizer="adam", epochs=50, validation=0.3, learning_rate=0.05,
                     callbacks=[lambda progress: 3, watcher])  # fmt: skip
    assert history.stopped == "callback"
    assert len(history.records) == len(watcher.seen) == 7
    assert history.validation_loss == pytest.approx(min(r.validation for r in history.records))
    assert watcher.inside == [True, None]
    stopped = ra.fit(network(), data(), optimizer="adam", epochs=50,
                     callbacks=[lambda progress: np.bool_(progress.epoch >= 2)])  # fmt: skip
    assert stopped.records[-1].epoch == 2


def test_a_stopped_run_goes_on_from_its_checkpoint(tmp_path):
    whole, net, again = network(), network(), network()
    ra.fit(whole, data(), optimizer="adam", epochs=12)
    options = {"optimizer": "adam", "epochs": 12, "checkpoint": tmp_path / "run.pt"}
    first = ra.fit(net, data(), **options, callbacks=[Watcher(stop=4)])
    assert first.stopped == "callback"
    watcher = Watcher()
    second = ra.fit(again, data(), **options, callbacks=[watcher])
    assert second.stopped == "finished"
    assert torch.equal(state(again), state(whole))
    assert watcher.seen[0].epoch == 5
    losses = [r.loss for r in second.records]
    assert watcher.seen[0].best == min(losses[:5])


def test_a_stop_ends_restarts_and_paths():
    watcher = Watcher(stop=5)
    history = ra.fit(network(), data(), optimizer="adam", epochs=3, restarts=4, callbacks=[watcher])
    assert list(history.runs) == [0, 1]
    assert {p.stage for p in watcher.seen} == {"adam, start 1 of 4", "adam, start 2 of 4"}
    watcher = Watcher(stop=6)
    path = ra.fit_path(network(base="zero"), data(), validation=0.2, penalties=[0.01, 0.1],
                       optimizer="adam", epochs=4, callbacks=[watcher])  # fmt: skip
    assert [step.penalty for step in path.steps] == [0.0, 0.01]
    assert [p.stage for p in watcher.seen] == ["adam"] * 4 + ["adam, penalty 0.01"] * 2


def test_a_stop_ends_one_trial_of_a_sweep():
    seen = []

    def look(progress):
        seen.append(progress.stage)
        return progress.epoch == 2

    result = ra.sweep(network(), data(), {"seed": [0, 1]}, optimizer="adam", epochs=5,
                      callbacks=[look])  # fmt: skip
    assert [trial.history.stopped for trial in result.trials] == ["callback"] * 2
    assert seen == ["adam, trial 1 of 2"] * 2 + ["adam, trial 2 of 2"] * 2


def test_choosing_pairs_tells_its_stages(monkeypatch):
    monkeypatch.setattr("rational_anova.training._select._STEPS", 3)
    watcher = Watcher()
    ra.select_topology(network(), data(), "top-k", 1, callbacks=[watcher])
    assert list(dict.fromkeys(p.stage for p in watcher.seen)) == [
        "adam, main effects",
        "adam, many pairs",
    ]
    watcher = Watcher()
    ra.fit(network(topology="none"), data(), topology="top-k", size=1, optimizer="lm", epochs=2,
           callbacks=[watcher])  # fmt: skip
    assert [p.stage for p in watcher.seen][-2:] == ["lm", "lm"]
    assert watcher.seen[0].stage == "adam, main effects"


def test_ctrl_c_and_errors_in_a_callback():
    def interrupt(progress):
        if progress.epoch == 4:
            raise KeyboardInterrupt

    watcher = Watcher()
    history = ra.fit(network(), data(), optimizer="adam", epochs=9, validation=0.3,
                     callbacks=[watcher, interrupt])  # fmt: skip
    assert history.stopped == "interrupted"
    assert history.validation_loss == pytest.approx(min(r.validation for r in history.records))

    def fail(progress):
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        ra.fit(network(), data(), optimizer="adam", epochs=9, callbacks=[watcher, fail])
    assert watcher.inside == [True, None, True, OSError]


@pytest.mark.parametrize(
    ("callbacks", "error", "message"),
    [
        (print, TypeError, "callbacks must be a list of functions, got <built-in"),
        ([3], TypeError, "a callback must be a function of a Progress, got 3"),
    ],
)
def test_bad_callbacks(callbacks, error, message):
    with pytest.raises(error, match=message):
        ra.fit(network(), data(), callbacks=callbacks)
    with pytest.raises(error, match=message):
        ra.RANRegressor().fit(*data(), callbacks=callbacks)


def test_callbacks_do_not_go_to_other_processes():
    with pytest.raises(ValueError, match="n_jobs=2 fits in others; use n_jobs=1"):
        ra.fit(network(), data(), restarts=2, n_jobs=2, callbacks=[Watcher()])
    with pytest.raises(ValueError, match="n_jobs=2 fits in others"):
        ra.sweep(network(), data(), {"seed": [0]}, n_jobs=2, callbacks=[Watcher()])


def test_the_progress_bar_is_a_callback():
    consoles = [Console(file=io.StringIO(), force_terminal=True, width=120) for _ in range(2)]
    ra.fit(network(), data(), optimizer="adam", epochs=2, callbacks=[ProgressBar(consoles[0])])
    ra.fit(network(), data(), optimizer="adam", epochs=2, progress=consoles[1])
    for console in consoles:
        text = console.file.getvalue()
        for word in ("adam", "2/2", "loss", "rate", "terms"):
            assert word in text
    with pytest.raises(RuntimeError, match="outside of a fit"):
        ProgressBar()(Progress("adam", 0.0))


# ---------------------------------------------------------------- estimators


def table(rows=150):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (rows, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.05 * rng.normal(size=rows)


@pytest.mark.parametrize("kind", [ra.RANRegressor, ra.RANClassifier])
def test_estimators_tell_their_stages(kind):
    X, y = table()
    y = y if kind is ra.RANRegressor else y > 0
    watcher = Watcher()
    options = {"pairs": 1, "refinements": 0}
    model = kind(**options).fit(X, y, callbacks=[watcher])
    told = [p.stage for p in watcher.seen]
    assert told[0] == "main effects"
    assert "pairs" in told
    assert all(p.seconds >= 0 and p.epoch is None and p.loss is None for p in watcher.seen)
    assert watcher.inside == [True, None]
    plain = kind(**options).fit(X, y)
    assert np.array_equal(model.predict(X), plain.predict(X))
    # Nothing of them stays behind.
    assert "callbacks" not in model.get_params()
    assert clone(model).get_params() == model.get_params()
    assert pickle.loads(pickle.dumps(model)).predict(X).shape == y.shape


def test_a_stop_leaves_an_estimator_with_what_it_has():
    X, y = table()
    watcher = Watcher(stop=1)
    model = ra.RANRegressor(link="identity").fit(X, y, callbacks=[watcher])
    assert len(watcher.seen) == 1
    assert all(len(effect.inputs) == 1 for effect in model.effects_.values())
    whole = ra.RANRegressor(link="identity").fit(X, y)
    assert model.score(X, y) < whole.score(X, y)
    deep = ra.RANRegressor(link="identity", depth="deep", refinements=0)
    deep.fit(X, y, callbacks=[lambda progress: progress.stage.startswith("network")])
    assert deep.variance_explained_ == 1


def test_a_pipeline_hands_callbacks_on():
    X, y = table(80)
    seen = []
    make_pipeline(StandardScaler(), ra.RANRegressor(pairs=0)).fit(
        X, y, ranregressor__callbacks=[seen.append]
    )
    assert seen


def test_verbose_shows_the_stages(capsys):
    X, y = table(80)
    ra.RANRegressor(pairs=0).fit(X, y)
    assert capsys.readouterr().out == ""
    ra.RANRegressor(pairs=0, verbose=True).fit(X, y)
    assert "main effects" in capsys.readouterr().out
