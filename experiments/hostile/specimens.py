"""One file of each kind, how it is opened, how it is mutated, and when two objects are equal."""

from __future__ import annotations

import gzip
import io
import pickle
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sympy as sp
import torch

import rational_anova as ra
from experiments.hostile import mutations as change
from rational_anova import images
from rational_anova.discovery import Evidence, Grade, Law, Parameter, read_table
from rational_anova.discovery.catalogue import read_forms
from rational_anova.motion.record import Start
from rational_anova.symbols import Names


@dataclass(frozen=True)
class Specimen:
    """A kind of file.

    Args:
        content: of a file of this kind.
        read: opens a file.
        use: does with the object what a user would do first.
        mutate: changes a file in its structure, so that no checksum speaks against it.
        same: what two objects that are equal have in common.
        ending: of the name of the file.
    """

    content: bytes
    read: Callable[[Path], Any]
    use: Callable[[Any], Any]
    mutate: change.Mutation
    same: Callable[[Any], Any]
    ending: str = ""

    @property
    def sealed(self) -> bool:
        """Whether files of this kind have a checksum."""
        return self.read is ra.load

    def edited(self, path: Path) -> Any:
        """Open a file that does not have its checksum any more."""
        return ra.load(path, edited=True) if self.sealed else self.read(path)


def _saved(obj: Any, folder: Path) -> bytes:
    path = folder / "specimen"
    ra.save(obj, path)
    return path.read_bytes()


def _again(obj: Any) -> bytes:
    """Return an object as the file that it would be saved in."""
    return _saved(obj, _FOLDER[0])


_FOLDER: list[Path] = []


def _table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": rng.uniform(18, 80, 60).round(2), "city": rng.choice(list("abc"), 60)}
    )
    frame["since"] = pd.date_range("2020-01-01", periods=60, freq="31h").strftime("%Y-%m-%d")
    return frame.assign(income=frame["age"] * 0.05 + (frame["city"] == "a"))


def _estimator() -> ra.RANRegressor:
    frame = _table().head(20)  # few terms: most of the time would go into packing arrays
    frame = frame.assign(since=pd.to_datetime(frame["since"]))
    return ra.RANRegressor(pairs=0, refinements=0).fit(
        frame.drop(columns="income"), frame["income"]
    )


def _law() -> Any:
    x = np.linspace(0.1, 5, 30)
    noise = np.random.default_rng(0).normal(0, 0.01, 30)
    return ra.fit_law("vmax*S/(km + S)", {"S": x}, 2.5 * x / (0.8 + x) + noise, target="v")


def _dynamics() -> ra.Dynamics:
    x, c0 = sp.symbols("x c0")
    numbers = (Parameter("c0", -0.5, 0.01),)
    own = Law(c0 * x, numbers, Names(["x"]), "dx/dt", ((0.1, 2.0),), np.array([[1e-4]]),
              Evidence(31, 0.01, 0.01))  # fmt: skip
    start = Start("0", (0.0, 3.0), np.array([2.0]), np.array([2.0]), np.array([0.01]))
    return ra.Dynamics({"x": own}, ("x",), (), "t", numbers, 1e-4 * np.eye(2), (start,),
                       {"x": 0.01}, {"x": 1.0}, 31, Grade.ESTABLISHED)  # fmt: skip


def _network() -> Any:
    torch.manual_seed(0)
    return ra.RAN(3, 2, "all", noise=0.1)


def _history(folder: Path) -> tuple[Any, Any]:
    torch.manual_seed(0)
    net, x = ra.RAN(2, 1, "all"), torch.randn(64, 2)
    path = folder / "run.ckpt"
    history = ra.fit(net, (x, x[:, 0] * x[:, 1]), optimizer="adam", epochs=3, checkpoint=path)
    return history, ra.load(path)


def _predicted(model: Any) -> Any:
    model.summary()
    found = model.predict(
        pd.DataFrame({"age": [30.0], "city": ["a"], "since": pd.to_datetime(["2020-02-02"])})
    )
    assert found.dtype == float, f"predictions of the type {found.dtype}"
    return found


def _law_used(law: Any) -> Any:
    law.summary()
    return law.predict(np.linspace(1, 2, 4 * len(law.names)).reshape(4, -1))


def _dynamics_used(system: Any) -> Any:
    system.summary()
    return system.simulate(np.ones(len(system.states)), np.linspace(0, 1, 4))


def _network_used(net: Any) -> Any:
    return net(torch.zeros(2, 3)) if isinstance(net, ra.RAN) else repr(net)


def _plan_of(path: Path) -> Any:
    import json

    net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.GELU(), torch.nn.Linear(4, 1))
    return ra.reapply_(net, json.loads(path.read_bytes()))


def _plan() -> bytes:
    net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.GELU(), torch.nn.Linear(4, 1))
    return change.dumped(ra.replace_activations_(net).plan)


def _batch() -> bytes:
    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, (4, 3072), dtype=np.uint8)
    return pickle.dumps({b"data": data, b"labels": [0, 1, 2, 3]}, protocol=3)


def _cifar(path: Path) -> Any:
    """Read a batch by way of the archive that it comes in."""
    content, packed = path.read_bytes(), io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        info = tarfile.TarInfo("cifar-10-batches-py/test_batch")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    folder = path.parent / "cifar10"
    folder.mkdir(exist_ok=True)
    (folder / "cifar-10-python.tar.gz").write_bytes(gzip.compress(packed.getvalue(), 1))
    try:
        return images.load("cifar10", split="test", root=path.parent, verify=False)
    finally:
        (folder / "cifar-10-python.tar.gz").unlink()
        folder.rmdir()


def _pickled(data: bytes, rng: Any) -> bytes:
    """Change the opcodes of a pickle, and leave most of the picture alone."""
    end = data.index(b"labels") - 20
    head = data[:150]
    tail = data[end:]
    if rng.random() < 0.5:
        return change.of_bytes(head, rng) + data[150:end] + tail
    return head + data[150:end] + change.of_bytes(tail, rng)


_FORMS = b"""[[form]]
name = "mine"
formula = "a*x/(b + x)"
holds = "here"
field = "test"
parameters = {a = "height", b = "half"}
positive = ["b"]
"""


def _forms(path: Path) -> Any:
    return read_forms(path)


def _csv(frame: pd.DataFrame, **options: Any) -> bytes:
    return frame.to_csv(index=False, **options).encode()


def specimens(folder: Path) -> dict[str, Specimen]:
    """Return a file of each kind; what is written goes into a folder."""
    _FOLDER[:] = [folder]
    history, checkpoint = _history(folder)
    (folder / "run.ckpt").unlink()
    record, frame = change.of_json_file, _table()
    parquet = io.BytesIO()
    frame.to_parquet(parquet)
    shown = lambda obj: obj.summary()  # noqa: E731
    table = Specimen(
        _csv(frame),
        read_table,
        len,
        change.mixed(change.of_text, change.of_bytes),
        lambda f: f.to_csv(),
        ".csv",
    )
    found = {
        "network": Specimen(
            _saved(_network(), folder), ra.load, _network_used, change.of_tensors, _again
        ),
        "estimator": Specimen(
            _saved(_estimator(), folder), ra.load, _predicted, change.of_archive, _again
        ),
        "law": Specimen(_saved(_law(), folder), ra.load, _law_used, record, _again),
        "dynamics": Specimen(_saved(_dynamics(), folder), ra.load, _dynamics_used, record, _again),
        "certificate": Specimen(
            _saved(ra.certify(_network(), [(-1, 1)] * 3), folder), ra.load, shown, record, _again
        ),
        "history": Specimen(_saved(history, folder), ra.load, shown, record, _again),
        "checkpoint": Specimen(
            _saved(checkpoint, folder), ra.load, shown, change.of_archive, _again
        ),
        "surgery plan": Specimen(_plan(), _plan_of, str, record, lambda report: report.plan),
        "table, commas": table,
        "table, tabs": Specimen(
            _csv(frame, sep="\t"), read_table, len, change.of_text, lambda f: f.to_csv(), ".tsv"
        ),
        "table, gzip": Specimen(
            gzip.compress(table.content, mtime=0),
            read_table,
            len,
            change.mixed(change.of_bytes, change.of_packed),
            lambda f: f.to_csv(),
            ".csv.gz",
        ),
        "table, Parquet": Specimen(
            parquet.getvalue(), read_table, len, change.of_bytes, lambda f: f.to_csv(), ".parquet"
        ),
        "CIFAR batch": Specimen(_batch(), _cifar, len, _pickled, lambda s: s.images.tobytes()),
        "named forms": Specimen(_FORMS, _forms, str, change.of_text, str, ".toml"),
    }
    (folder / "specimen").unlink()
    return found
