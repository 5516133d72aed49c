"""Several processes fit one model as one would; what they share, and what they refuse."""

import os
import signal
from pathlib import Path

import pytest
import torch
from torch import distributed, multiprocessing, nn

import rational_anova as ra
from rational_anova.training.data import Processes, Rows, core, digest, divided, reduces

D = torch.float64
ROWS = 53


def data(rows=ROWS):
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(rows, 3, generator=generator, dtype=D)
    return X, torch.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def network(**options):
    torch.manual_seed(0)
    return ra.RAN(3, dtype=D, **{"topology": "all", "noise": 0.1, **options})


def shards(count, rows=ROWS):
    """The rows of each of some processes, as they see them."""
    X, y = data(rows)
    found = []
    for rank in range(count):
        first, last = rows * rank // count, rows * (rank + 1) // count
        places = torch.full((rows,), -1)
        places[first:last] = torch.arange(last - first)
        found.append(Rows(X[first:last], y[first:last], None, Processes(rank, count), places))
    return found


@pytest.mark.parametrize("way", ["split", "shards"])
@pytest.mark.parametrize("count", [2, 3])
def test_parts_of_batches_make_the_batches_of_one_process(way, count):
    X, y = data()
    whole = Rows(X, y)
    parts = shards(count) if way == "shards" else [
        Rows(X, y, None, Processes(rank, count)) for rank in range(count)
    ]  # fmt: skip
    order = torch.randperm(ROWS, generator=torch.Generator().manual_seed(3))[:31]
    for one, many in ((whole, parts), (whole.part(order), [p.part(order) for p in parts])):
        assert all(len(each) == len(one) for each in many)
        assert torch.cat([p.numbers() for p in many]).sort()[0].tolist() == list(range(len(one)))
        marks = [digest(p.take(p.own()), p.numbers()) for p in many]
        assert sum(marks) % 2**63 == digest(one.batch)
        for size in (10, 100):
            batches = zip(
                one.batches(size, 0, 1), *(p.batches(size, 0, 1) for p in many), strict=True
            )
            for batch, *own in batches:
                joined = torch.cat([part.x for part in own])
                assert torch.equal(joined.sort(0)[0], batch.x.sort(0)[0])


def test_a_digest_knows_every_row_and_its_place():
    X, y = data()
    base = digest(Rows(X, y).batch)
    swapped = torch.cat([X[1:2], X[:1], X[2:]])
    changed = X.clone()
    changed[7, 1] += 1e-15
    assert len({base, digest(Rows(swapped, y).batch), digest(Rows(changed, y).batch)}) == 3
    assert digest(Rows(X.clone(), y.clone()).batch) == base


def test_a_batch_in_parts_takes_the_same_step():
    whole, parts = network(), network()
    options = {"optimizer": "adam", "batch_size": 20, "epochs": 3}
    one = ra.fit(whole, data(), **options)
    two = ra.fit(parts, data(), accumulate=3, **options)
    for a, b in zip(one.records, two.records, strict=True):
        assert a.loss == pytest.approx(b.loss, rel=1e-12)
    with pytest.raises(ValueError, match="accumulate=2; leave it out"):
        ra.fit(network(), data(), optimizer="lm", accumulate=2)


def test_without_torch_distributed_several_processes_are_refused(monkeypatch):
    with pytest.raises(RuntimeError, match="needs torch.distributed to be initialised"):
        ra.fit(network(), data(), epochs=1, processes="shards")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    with pytest.raises(RuntimeError, match="torchrun has started 2 processes"):
        ra.fit(network(), data(), epochs=1)
    assert ra.fit(network(), data(), epochs=1, processes="alone").records


def test_models_that_spread_themselves_are_refused():
    with pytest.raises(TypeError, match=r"fit takes no nn\.DataParallel"):
        ra.fit(nn.DataParallel(network()), data(), epochs=1)
    compiled = torch.compile(network(), backend="eager")
    assert type(core(compiled)) is ra.RAN
    assert not reduces(compiled)
    assert divided(Rows(*data()), Processes(0, 1), "auto").places is None


# -- two processes, started once

SETTINGS = {"optimizer": "adam", "batch_size": 10, "epochs": 3, "validation": 0.3}


class Items(torch.utils.data.Dataset):
    def __len__(self):
        return ROWS

    def __getitem__(self, at):
        X, y = data()
        return X[at], y[at]


def fits(rank, folder):
    """What all processes do alike, and one process alone."""
    X, y = data()
    several = distributed.is_initialized()
    own = shards(2)[rank].batch[:2] if several else (X, y)
    weight = torch.arange(ROWS, dtype=D)

    def wrapped(net):
        return nn.parallel.DistributedDataParallel(net) if several else net

    torch.manual_seed(0)
    deep = ra.DeepRAN(3, 1, noise=0.1, dtype=D)
    seen = []
    cases = {
        "rows": (network(), (X, y), SETTINGS),
        "shards": (network(), own, SETTINGS),
        "weights": (network(), (X, y, weight), {**SETTINGS, "callbacks": [seen.append]}),
        "ddp": (wrapped(deep), (X, y), {**SETTINGS, "accumulate": 2}),
        "dataset": (network(), Items(), {**SETTINGS, "batch_size": 26, "epochs": 1}),
        "patience": (network(), (X, y), {**SETTINGS, "epochs": 30, "patience": 1}),
        "lm": (network(denominator="polynomial"), own, {"optimizer": "lm", "epochs": 4}),
        "lbfgs": (network(), (X, y), {"optimizer": "lbfgs", "epochs": 2}),
        "pairs": (network(topology="none"), (X, y), {**SETTINGS, "topology": "residual"}),
    }
    for parameter in deep.parameters():  # the first process's numbers are everybody's
        parameter.data += 0.0 if rank == 0 else 1.0
    found = {}
    for name, (model, rows, settings) in cases.items():
        history = ra.fit(model, rows, **settings)
        found[name] = {
            "losses": [(r.loss, r.validation) for r in history.records],
            "weights": [p.detach().clone() for p in core(model).parameters()],
            "stopped": history.stopped,
        }
    found["called"] = len(seen)
    path = Path(folder) / "run.pt"
    if several:  # the first epochs by two processes, the others by one
        ra.fit(network(), (X, y), **{**SETTINGS, "epochs": 2}, checkpoint=path)
    wrong = network(), (X if rank == 0 else X[:9], y if rank == 0 else y[:9])
    for key, call in {
        "split": lambda: ra.fit(*wrong, processes="split", epochs=1),
        "settings": lambda: ra.fit(network(), (X, y), epochs=1 + rank),
        "rows": lambda: ra.fit(network(), (X * (float("nan") if rank else 1.0), y), epochs=1),
    }.items():
        try:
            call() if several else None
        except ValueError as error:
            found[f"error {key}"] = str(error)
    return found


def entrance(rank, port, folder, do):
    torch.set_num_threads(1)
    where = f"tcp://127.0.0.1:{port}"
    distributed.init_process_group("gloo", init_method=where, rank=rank, world_size=2)
    torch.save(do(rank, folder), Path(folder) / f"{rank}")
    distributed.destroy_process_group()


def dying(rank, folder):
    """Two processes fit, the second is killed in the middle."""
    model = network()
    if rank:
        steps = iter(range(12))

        def die(*_):
            if next(steps, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        model.register_forward_pre_hook(die)
    path = Path(folder) / "run.pt"
    with pytest.raises(RuntimeError, match="another process of this fit has ended"):
        ra.fit(model, data(), checkpoint=path, checkpoint_every=0, **SETTINGS)
    return ra.load(path).position["step"]


def started(folder, do):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.training.test_processes"])
    store = distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    port = store.port
    del store
    workers = [context.Process(target=entrance, args=(n, port, folder, do)) for n in range(2)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    return workers


@pytest.mark.slow
def test_two_processes_fit_as_one_does(tmp_path):
    assert [worker.exitcode for worker in started(tmp_path, fits)] == [0, 0]
    one = fits(0, tmp_path)
    several = [torch.load(tmp_path / f"{rank}") for rank in range(2)]
    for name in [name for name in one if name != "called"]:
        assert several[0][name]["stopped"] == one[name]["stopped"]
        losses = [torch.tensor([v or 0.0 for r in run[name]["losses"] for v in r], dtype=D)
                  for run in (one, *several)]  # fmt: skip
        assert torch.allclose(losses[1], losses[0], rtol=1e-6, atol=1e-12), name
        assert torch.equal(losses[2], losses[1]), name
        for a, b, c in zip(*(run[name]["weights"] for run in (one, *several)), strict=True):
            assert torch.allclose(b, a, rtol=1e-5, atol=1e-7), name
            assert torch.equal(b, c), name
    assert [run["called"] for run in (one, *several)] == [3, 3, 0]
    for run in several:
        assert "processes='split' needs the same rows" in run["error split"]
        assert "what fit was asked for on process 1" in run["error settings"]
    assert several[1]["error rows"].startswith("X has 159 values that are not finite")
    assert "on process 1: X has 159 values" in several[0]["error rows"]
    # What two have begun, one goes on with, to the same end.
    resumed = network()
    ra.fit(resumed, data(), **SETTINGS, checkpoint=tmp_path / "run.pt")
    for a, b in zip(resumed.parameters(), one["rows"]["weights"], strict=True):
        assert torch.allclose(a, b, atol=1e-12)


@pytest.mark.slow
def test_a_killed_process_ends_the_others_clearly_and_the_fit_goes_on(tmp_path):
    workers = started(tmp_path, dying)
    assert workers[1].exitcode == -signal.SIGKILL
    assert workers[0].exitcode == 0
    assert torch.load(tmp_path / "0") > 0
    resumed, whole = network(), network()
    ra.fit(resumed, data(), checkpoint=tmp_path / "run.pt", **SETTINGS)
    ra.fit(whole, data(), **SETTINGS)
    for a, b in zip(resumed.parameters(), whole.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-12)
