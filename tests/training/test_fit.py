"""`fit`: data in every form, validation, divergence, checkpoints, interrupts, bad input."""

import io
import json
import math
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from rich.console import Console
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

import rational_anova as ra
from rational_anova.training import Diverged, History

DOUBLE = torch.float64


def data(rows=80, features=3, seed=0, dtype=DOUBLE):
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(rows, features, generator=generator, dtype=dtype)
    return X, torch.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def network(outputs=1, seed=0, dtype=DOUBLE, **options):
    torch.manual_seed(seed)
    return ra.RAN(3, outputs, "all", noise=0.1, dtype=dtype, **options)


def state(model):
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


class Table(Dataset):
    def __init__(self, X, y):
        self.X, self.y = X, y

    def __len__(self):
        return len(self.X)

    def __getitem__(self, n):
        return self.X[n], self.y[n]


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "lbfgs", "lm"])
def test_every_optimiser_learns(optimizer):
    X, y = data()
    net = network()
    before = torch.nn.functional.mse_loss(net(X)[:, 0], y).item()
    rate = 2e-2 if optimizer.startswith("adam") else None
    history = ra.fit(net, (X, y), optimizer=optimizer, epochs=60, learning_rate=rate)
    assert history.optimizer == optimizer
    assert history.training_loss < 0.5 * before
    assert torch.nn.functional.mse_loss(net(X)[:, 0], y).item() == pytest.approx(
        history.training_loss
    )


@pytest.mark.parametrize("optimizer", ["adam", "lm"])
def test_every_form_of_data_means_the_same(optimizer):
    X, y = data()
    forms = {
        "tensors": (X, y),
        "numpy": (X.numpy(), y.numpy()),
        "lists": [X.tolist(), y.tolist()],
        "pandas": (pd.DataFrame(X.numpy(), columns=list("abc")), pd.Series(y.numpy())),
        "column": (X, y[:, None]),
        "dictionary": {"train_input": X, "train_label": y},
        "TensorDataset": TensorDataset(X, y),
        "weights": (X, y, torch.ones(80)),
    }
    if optimizer == "lm":  # the order of a loader's batches is its own
        forms |= {"Dataset": Table(X, y), "DataLoader": DataLoader(Table(X, y), 7)}
    results = {}
    for name, form in forms.items():
        net = network()
        ra.fit(net, form, optimizer=optimizer, epochs=5)
        results[name] = state(net)
    for name, result in results.items():
        torch.testing.assert_close(result, results["tensors"], msg=lambda m, n=name: f"{n}: {m}")


def test_loaders_feed_adam():
    X, y = data()
    for form in (Table(X, y), DataLoader(Table(X, y), 16, shuffle=True)):
        net = network()
        history = ra.fit(net, form, optimizer="adam", epochs=40, batch_size=16, learning_rate=1e-2)
        assert history.training_loss < 0.5 * history.records[0].loss
        held = ra.fit(network(), form, optimizer="adam", epochs=3, validation=0.25)
        assert held.validation_loss is not None


def test_a_test_set_is_recorded_and_decides_nothing():
    X, y = data()
    form = {"train_input": X, "train_label": y, "test_input": X[:9], "test_label": -y[:9]}
    one, two = network(), network()
    history = ra.fit(one, form, optimizer="adam", epochs=5)
    ra.fit(two, (X, y), optimizer="adam", epochs=5)
    assert torch.equal(state(one), state(two))
    assert history.validation_loss is None
    assert all(record.test is not None for record in history.records)


def test_validation_keeps_the_best_epoch():
    X, y = data(40)
    y = y + torch.randn(40, generator=torch.Generator().manual_seed(9), dtype=DOUBLE)
    net = network(denominator="square", heads=2)
    history = ra.fit(net, (X, y), validation=0.4, optimizer="adam", epochs=300, learning_rate=0.05)
    scores = {record.epoch: record.validation for record in history.records}
    assert history.best == min(scores, key=scores.get)
    assert history.best < history.records[-1].epoch
    assert history.validation_loss == pytest.approx(min(scores.values()))


def test_patience_ends_the_fit():
    X, _ = data(40)
    noise = torch.randn(40, generator=torch.Generator().manual_seed(9), dtype=DOUBLE)
    history = ra.fit(network(), (X, noise), validation=0.5, optimizer="adam", epochs=5000,
                     learning_rate=0.05, patience=20)  # fmt: skip
    assert history.stopped.startswith("patience: 20 epochs")
    assert history.records[-1].epoch == history.best + 20


def test_auto_says_what_it_took_and_why():
    X, y = data()
    small = ra.fit(network(), (X, y), epochs=2)
    assert small.optimizer == "lm"
    assert "parameters, 80 rows" in small.reason
    torch.manual_seed(0)
    large = ra.fit(ra.MLP(3, 1, (64, 64)).double(), (X, y), epochs=2)
    assert large.optimizer == "adam"
    assert "too many for lm" in large.reason
    assert ra.fit(network(), (X, y), epochs=2, batch_size=8).optimizer == "adam"
    assert "lm" in str(small)


def test_rates_and_decays_of_denominators_and_gates():
    X, y = data()
    frozen = network(seed=1)
    before = {name: p.detach().clone() for name, p in frozen.named_parameters()}
    ra.fit(frozen, (X, y), optimizer="adam", epochs=5, denominator_rate=0.0, gate_rate=0.0)
    for name, parameter in frozen.named_parameters():
        moved = not torch.equal(parameter, before[name])
        assert moved == name.endswith("numerator"), name
    decayed = network(seed=1)
    ra.fit(decayed, (X, y), optimizer="lm", denominator_decay=100.0)
    assert decayed.main.denominator.abs().max() < 0.05
    assert decayed.main.numerator.abs().max() > 0.1


def test_schedule_warms_up_and_falls_to_zero():
    X, y = data()
    history = ra.fit(network(), (X, y), optimizer="adam", epochs=50, learning_rate=1e-2,
                     schedule="cosine", warmup=0.2)  # fmt: skip
    rates = [record.rate for record in history.records]
    assert rates[0] == pytest.approx(1e-3)
    assert max(rates) == pytest.approx(1e-2)
    assert rates[-1] < 1e-4


def test_clipping_bounds_the_step():
    X, y = data()
    net = network()
    seen = []
    net.register_forward_hook(lambda *_: seen.append(1))
    ra.fit(net, (X, 1e6 * y), optimizer="adam", epochs=3, clip=1.0)
    norm = torch.cat([p.grad.reshape(-1) for p in net.parameters()]).norm()
    assert norm <= 1.0 + 1e-6


def test_half_precision_by_autocast():
    X, y = data(dtype=torch.float32)
    net = network(dtype=torch.float32)
    history = ra.fit(net, (X, y), optimizer="adam", epochs=60, learning_rate=1e-2, precision="bf16")
    assert net.main.numerator.dtype == torch.float32
    assert history.training_loss < history.records[0].loss
    with pytest.raises(ValueError, match="fp16' needs a GPU"):
        ra.fit(network(), (X, y), optimizer="adam", precision="fp16")


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("optimizer", ["adam", "lbfgs", "lm"])
def test_classification(outputs, optimizer):
    X, y = data(200)
    labels = y > 0 if outputs == 1 else torch.bucketize(y, torch.tensor([-0.5, 0.5]))
    net = network(outputs)
    rate = 2e-2 if optimizer == "adam" else None
    history = ra.fit(net, (X, labels), optimizer=optimizer, epochs=60, learning_rate=rate)
    found = net(X)[:, 0] > 0 if outputs == 1 else net(X).argmax(1)
    assert history.loss == ("binary" if outputs == 1 else "multiclass")
    assert history.training_loss < history.records[0].loss
    assert (found == labels).double().mean() > 0.8


@pytest.mark.parametrize("optimizer", ["adam", "lbfgs", "lm"])
def test_weights_are_repetitions(optimizer):
    X, y = data(30)
    weight = torch.tensor([0.0, 1.0, 2.0] * 10)
    index = torch.tensor([n for n in range(30) for _ in range(int(weight[n]))])
    one, two = network(), network()
    ra.fit(one, (X, y, weight), optimizer=optimizer, epochs=5)
    ra.fit(two, (X[index], y[index]), optimizer=optimizer, epochs=5)
    torch.testing.assert_close(state(one), state(two), rtol=1e-5, atol=1e-7)


def test_the_random_state_of_the_caller_is_left_alone():
    X, y = data()
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    ra.fit(_plain(), (X, y), epochs=2)
    assert torch.equal(torch.rand(3), expected)


def _plain():
    with torch.random.fork_rng(devices=[]):
        return network()


def test_seeds_decide_the_order():
    X, y = data(200)
    nets = [network(), network(), network()]
    for net, seed in zip(nets, (1, 1, 2), strict=True):
        ra.fit(net, (X, y), optimizer="adam", epochs=2, batch_size=16, seed=seed)
    assert torch.equal(state(nets[0]), state(nets[1]))
    assert not torch.equal(state(nets[0]), state(nets[2]))


def test_mode_and_dtype_of_the_model_stay():
    X, y = data()
    net = network().eval()
    ra.fit(net, (X.float(), y.float()), epochs=3)
    assert not net.training
    assert net.main.numerator.dtype == DOUBLE


# ---------------------------------------------------------------- divergence


def test_a_diverging_run_goes_back_and_lowers_its_rate():
    X, y = data()
    net = network(denominator="softplus")
    history = ra.fit(net, (X, y), optimizer="adam", epochs=200, learning_rate=1e3)
    assert any("went back, rate times" in event for event in history.events)
    assert math.isfinite(history.training_loss)
    assert torch.isfinite(state(net)).all()


class Poisoned(torch.nn.Module):
    """Fine until its weight has moved: then NaN, whatever the step."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1, 1))

    def forward(self, x):
        bad = torch.where(self.weight.abs() > 0, torch.nan, 1.0)
        return x[:, :1] * self.weight * bad.detach()


def test_giving_up_leaves_the_last_good_state():
    X, y = data(dtype=torch.float32)
    net = Poisoned()
    with pytest.raises(Diverged, match="Scale inputs and targets to order one"):
        ra.fit(net, (X, y), optimizer="adam", epochs=20)
    assert torch.isfinite(net.weight).all()


def test_lm_refuses_a_start_that_is_not_finite():
    X, y = data()
    net = network()
    with torch.no_grad():
        net.main.numerator.fill_(torch.nan)
    with pytest.raises(Diverged, match="scale the inputs"):
        ra.fit(net, (X, y), optimizer="lm")


# ---------------------------------------------------------------- checkpoints


class Stop(Exception):
    """Raised in the middle of a fit, in place of a kill."""


def interrupted_after(net, count, error):
    """Let the model fail at its count-th run in training mode."""
    seen = []

    def hook(module, inputs):
        if module.training:
            seen.append(1)
        if len(seen) == count:
            seen.append(1)
            raise error

    return net.register_forward_pre_hook(hook)


CASES = [("adam", {"batch_size": 16, "epochs": 12}), ("adamw", {"epochs": 60, "schedule": "cosine"}),
         ("lbfgs", {"epochs": 6}), ("adam", {"batch_size": 16, "epochs": 12, "penalty": 1e-2})]  # fmt: skip


@pytest.mark.parametrize(("optimizer", "options"), CASES, ids=str)
@pytest.mark.parametrize("moment", [5, 23, 41])
def test_a_killed_run_goes_on_to_the_same_bits(tmp_path, optimizer, options, moment):
    X, y = data()
    common = dict(optimizer=optimizer, validation=0.2, checkpoint_every=0.0, seed=3, **options)
    whole = network()
    expected = ra.fit(whole, (X, y), **common)
    path = tmp_path / "run.pt"
    net = network()
    handle = interrupted_after(net, moment, Stop())
    with pytest.raises(Stop):
        ra.fit(net, (X, y), checkpoint=path, **common)
    handle.remove()
    # Whatever it starts from, the file decides; L-BFGS is some 25 runs from its first.
    again = network(seed=7 if path.exists() else 0)
    history = ra.fit(again, (X, y), checkpoint=path, **common)
    assert torch.equal(state(again), state(whole))
    assert history.best == expected.best
    assert [r.loss for r in history.records] == [r.loss for r in expected.records]
    assert [r.validation for r in history.records] == [r.validation for r in expected.records]


def test_lm_goes_on_to_the_same_bits(tmp_path):
    X, y = data()
    whole = network()
    ra.fit(whole, (X, y), optimizer="lm", epochs=12)
    path = tmp_path / "run.pt"
    part = network()
    ra.fit(part, (X, y), optimizer="lm", epochs=5, checkpoint=path)
    again = network(seed=7)
    history = ra.fit(again, (X, y), optimizer="lm", epochs=12, checkpoint=path)
    assert torch.equal(state(again), state(whole))
    assert len(history.records) == 12


def test_a_finished_run_is_only_read(tmp_path):
    X, y = data()
    net = network()
    first = ra.fit(net, (X, y), optimizer="adam", epochs=5, checkpoint=tmp_path / "run.pt")
    again = network(seed=7)
    second = ra.fit(again, (X, y), optimizer="adam", epochs=5, checkpoint=tmp_path / "run.pt")
    assert torch.equal(state(again), state(net))
    assert second.training_loss == first.training_loss


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    X, y = data()
    path = tmp_path / "run.pt"
    ra.fit(network(), (X, y), optimizer="adam", epochs=2, checkpoint=path)
    for change in ({"learning_rate": 0.5}, {"seed": 1}):
        with pytest.raises(ValueError, match="belongs to another run"):
            ra.fit(network(), (X, y), optimizer="adam", epochs=2, checkpoint=path, **change)
    with pytest.raises(ValueError, match="belongs to another run"):
        ra.fit(network(), (X, y + 1), optimizer="adam", epochs=2, checkpoint=path)
    ra.fit(network(), (X, y + 1), optimizer="adam", epochs=2, checkpoint=path, resume=False)
    path.write_bytes(b"broken")
    with pytest.raises(ValueError, match="cannot be read as a checkpoint"):
        ra.fit(network(), (X, y), optimizer="adam", epochs=2, checkpoint=path)


def test_ctrl_c_ends_cleanly_with_the_best_so_far(tmp_path):
    X, y = data()
    net = network()
    handle = interrupted_after(net, 40, KeyboardInterrupt())
    history = ra.fit(net, (X, y), optimizer="adam", epochs=1000, validation=0.2,
                     checkpoint=tmp_path / "run.pt")  # fmt: skip
    handle.remove()
    assert history.stopped == "interrupted"
    assert torch.isfinite(state(net)).all()
    assert history.validation_loss is not None
    again = ra.fit(net, (X, y), optimizer="adam", epochs=1000, validation=0.2, time_limit=0.2,
                   checkpoint=tmp_path / "run.pt")  # fmt: skip
    assert again.records[-1].epoch > 0


KILLED = """
import sys, torch
sys.path.insert(0, {root!r})
torch.set_num_threads(1)
from tests.training.test_fit import data, network, state
import rational_anova as ra
X, y = data()
net = network()
print("ready", flush=True)
history = ra.fit(net, (X, y), optimizer="adam", epochs=50, batch_size=8, checkpoint={path!r},
                 checkpoint_every=0.1)
torch.save(state(net), {out!r})
"""


@pytest.mark.slow
def test_a_process_that_is_killed_loses_nothing_but_the_interval(tmp_path):
    path, out = tmp_path / "run.pt", tmp_path / "state.pt"
    script = textwrap.dedent(KILLED).format(
        root=str(Path(__file__).parents[2]), path=str(path), out=str(out)
    )

    def start():
        return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)

    for _ in range(2):
        process = start()
        process.stdout.readline()
        for _ in range(600):
            if path.exists():
                break
            time.sleep(0.1)
        time.sleep(0.3)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert ra.load(path).position["step"] > 0
    process = start()
    process.communicate()
    X, y = data()
    whole = network()
    ra.fit(whole, (X, y), optimizer="adam", epochs=50, batch_size=8)
    assert torch.equal(torch.load(out, weights_only=True), state(whole))


def test_time_limit(tmp_path):
    X, y = data()
    history = ra.fit(network(), (X, y), optimizer="adam", epochs=10**6, time_limit=0.2,
                     checkpoint=tmp_path / "run.pt")  # fmt: skip
    assert history.stopped == "time"
    later = ra.fit(network(), (X, y), optimizer="adam", epochs=10**6, time_limit=0.2,
                   checkpoint=tmp_path / "run.pt")  # fmt: skip
    assert later.records[-1].epoch > history.records[-1].epoch


# ---------------------------------------------------------------- the record


def test_history_as_table_plot_and_json(tmp_path):
    X, y = data()
    history = ra.fit(network(), (X, y), validation=0.2, optimizer="adam", epochs=5)
    table = history.table()
    assert list(table["epoch"]) == [1, 2, 3, 4, 5]
    assert {"loss", "validation", "rate", "terms", "seconds"} <= set(table.columns)
    history.plot(tmp_path / "new" / "fit.png")
    assert (tmp_path / "new" / "fit.png").stat().st_size > 10_000
    history.save(tmp_path / "fit.json")
    again = History.load(tmp_path / "fit.json")
    assert again == history
    assert json.loads((tmp_path / "fit.json").read_text())["best"] == history.best
    newer = history.to_json().replace('"version": 1', '"version": 99')
    for text in ("[]", "{}", '{"format": "rational-anova history", "version": 99}'):
        with pytest.raises(ValueError, match="holds no history"):
            History.from_json(text)
    with pytest.raises(ValueError, match="upgrade"):
        History.from_json(newer)


def test_progress_is_silent_unless_asked(capsys):
    X, y = data()
    ra.fit(network(), (X, y), optimizer="adam", epochs=2)
    out = capsys.readouterr()
    assert out.out == out.err == ""
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    ra.fit(network(), (X, y), optimizer="adam", epochs=2, validation=0.2, progress=console)
    text = console.file.getvalue()
    for word in ("adam", "2/2", "loss", "validation", "rate", "terms"):
        assert word in text


# ---------------------------------------------------------------- bad input


def bad(**changes):
    X, y = data(20)
    parts = {"X": X, "y": y, **changes}
    return parts["X"], parts["y"]


def with_value(values, place, value):
    values = values.clone()
    values[place] = value
    return values


NAN = with_value(data(20)[0], (3, 1), torch.nan)
INF = with_value(data(20)[1], 7, torch.inf)


@pytest.mark.parametrize(
    ("form", "options", "error", "message"),
    [
        (bad(X=NAN), {}, ValueError, "X has 1 values that are not finite, the first is nan at row 3, column 1"),
        (bad(y=INF), {}, ValueError, "y has 1 values that are not finite, the first is inf at row 7"),
        (bad(y=torch.ones(20)), {}, ValueError, "the target is 1 in all 20 rows"),
        ((data(1)[0], data(1)[1]), {}, ValueError, "data has 1 rows; two or more"),
        (bad(y=data(19)[1]), {}, ValueError, r"X has 20 rows, y has shape \(19,\)"),
        (bad(X=torch.randn(20, 5)), {}, ValueError, r"does not take X of shape \(20, 5\)"),
        (bad(), {"validation": 0.01}, ValueError, "validation=0.01 of 20 rows leaves 0"),
        (bad(), {"validation": 1.5}, ValueError, "validation=1.5 must be a share"),
        (bad(), {"validation": (torch.zeros(0, 3), torch.zeros(0))}, ValueError, "validation data have no rows"),
        (bad(), {"validation": (NAN, INF)}, ValueError, "validation X has 1 values"),
        (bad(y=torch.arange(20)), {"loss": "multiclass"}, ValueError, "has the class 19, the model has 1 outputs"),
        ((*bad(), torch.zeros(20)), {}, ValueError, "weight must be above 0 in some rows"),
        ((*bad(), -torch.ones(20)), {}, ValueError, "least weight of -1"),
        (bad()[0], {}, TypeError, r"data must be \(X, y\)"),
        ({"train_input": bad()[0]}, {}, ValueError, "needs 'train_input' and 'train_label'"),
        ({"train_input": bad()[0], "train_label": bad()[1], "x": 1}, {}, ValueError, "got the keys"),
        (bad(), {"optimizer": "sgd"}, ValueError, "optimizer must be one of"),
        (bad(), {"optimizer": "lbfgs", "penalty": 0.1}, ValueError, "penalty=0.1 needs proximal steps"),
        (bad(), {"optimizer": "lm", "batch_size": 4}, ValueError, "lm works on all rows at once"),
        (bad(), {"learning_rate": -1.0}, ValueError, "learning_rate must be > 0, got -1"),
        (bad(), {"epochs": 0}, ValueError, "epochs must be >= 1, got 0"),
        (bad(), {"patience": 3}, ValueError, "patience=3 needs validation rows"),
        (bad(), {"warmup": 2.0}, ValueError, "warmup is a share"),
        (bad(), {"schedule": "linear"}, ValueError, "schedule must be one of"),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, str) else None,
)  # fmt: skip
def test_bad_input(form, options, error, message):
    with pytest.raises(error, match=message):
        ra.fit(network(), form, **options)


def test_bad_pandas_columns_are_named():
    frame = pd.DataFrame({"a": [1.0, 2, 3], "city": ["x", "y", "z"], "c": [1, 2, 3]})
    with pytest.raises(TypeError, match="column 'city' of X must be numbers: .* such as 'x'"):
        ra.fit(network(), (frame, [1.0, 2, 3]))
    with pytest.raises(TypeError, match="y must be numbers: it is text"):
        ra.fit(network(), (np.zeros((3, 3)), np.array(["a", "b", "c"])))


def test_constant_classes_and_streams():
    X, _ = data(20)
    with pytest.raises(ValueError, match="nothing to learn"):
        ra.fit(network(3), (X, torch.ones(20, dtype=torch.long)))

    class Endless(IterableDataset):
        def __iter__(self):
            yield X[0], X[0, 0]

    with pytest.raises(TypeError, match="without a length"):
        ra.fit(network(), Endless())
    with pytest.raises(ValueError, match="X has 1 values that are not finite"):
        ra.fit(
            network(), DataLoader(Table(NAN, NAN[:, 0].nan_to_num()), 5), optimizer="adam", epochs=1
        )


def test_nothing_to_train():
    net = network().requires_grad_(False)
    with pytest.raises(ValueError, match="no parameter of the model requires a gradient"):
        ra.fit(net, data())


def test_adam_warns_of_poles_among_the_data():
    x = torch.linspace(-1, 1, 40, dtype=DOUBLE)[:, None]
    net = ra.RAN(1, 1, "none", (2, 2), denominator="polynomial", base="zero", dtype=DOUBLE)
    with torch.no_grad():
        net.main.denominator.copy_(torch.tensor([[0.0], [-30.0]]))
    with pytest.warns(RuntimeWarning, match="has a pole among them"):
        ra.fit(net, (x, x), optimizer="adam", epochs=2)
