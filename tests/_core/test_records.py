"""One envelope for every kind of file: what it holds comes back, and what it is not is said."""

import dataclasses
import io
import json
import math
import os
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import sympy as sp
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import rational_anova as ra
from rational_anova._core import records
from rational_anova.cli._show import show
from rational_anova.discovery import Law
from rational_anova.discovery.law import Evidence, Grade, Parameter
from rational_anova.motion.record import Start
from rational_anova.symbols import Names
from rational_anova.training import Checkpoint, Record


def network():
    torch.manual_seed(0)
    return ra.RAN(2, 1, "all", noise=0.1)


def estimator():
    X = np.linspace(0, 1, 40)[:, None]
    return ra.RANRegressor().fit(X, np.sin(3 * X[:, 0]))


def law():
    T, c0 = sp.symbols("T c0")
    evidence = Evidence(rows=50, noise=math.nan, error=0.01, extrapolation=math.inf, stage="nan")
    names = Names(["T", "inf"])
    return Law(T * c0, (Parameter("c0", 8.3, math.nan),), names, "P", ((1, 2), (-math.inf, 3)),
               np.array([[math.inf]]), evidence)  # fmt: skip


def certificate():
    return ra.certify(network())  # without a box the constants are infinite


def dynamics():
    x, c0 = sp.symbols("x c0")
    numbers = (Parameter("c0", -0.5, math.nan),)
    own = Law(c0 * x, numbers, Names(["x"]), "dx/dt", ((0, math.inf),), np.array([[math.inf]]),
              Evidence(rows=50, noise=math.nan, error=0.01))  # fmt: skip
    start = Start("a", (0.0, 1.0), np.ones(1), np.ones(1), np.array([math.nan]))
    return ra.Dynamics({"x": own}, ("x",), (), "t", numbers, np.eye(2), (start,), {"x": 0.1},
                       {"x": math.nan}, 50, Grade.SEVERAL, ("inf",))  # fmt: skip


def history():
    lines = [Record(1, 0.5, math.nan), Record(2, 0.7, math.inf, validation=-math.inf, terms=3)]
    return ra.History("adam", "asked", "mse", lines, training_loss=math.nan, stopped="nan",
                      runs={0: math.inf, 7: 0.5}, events=["inf"])  # fmt: skip


def checkpoint():
    at = {"epoch": 3, "step": 9, "seconds": 1.5, "best_score": math.inf, "stopped": ""}
    model = {"w": torch.tensor([1.0, math.nan]), "b": torch.ones((), dtype=torch.bfloat16)}
    stepper = {"state": {0: {"step": torch.tensor(3.0)}}, "groups": [{"betas": (0.9, 0.99)}]}
    return Checkpoint("f" * 64, at, model, stepper, None, [dataclasses.asdict(Record(1, 0.5, 2.0))],
                      ["an event"], torch.arange(4, dtype=torch.uint8), None)  # fmt: skip


MAKE = {make.__name__: make for make in (network, estimator, law, dynamics, certificate, history,
                                         checkpoint)}  # fmt: skip
CLASSES = {"law": Law, "dynamics": ra.Dynamics, "certificate": ra.Certificate, "history": ra.History,
           "estimator": ra.RANRegressor}  # fmt: skip
kinds = pytest.mark.parametrize("kind", MAKE)


@pytest.fixture(scope="module")
def objects():
    return {kind: make() for kind, make in MAKE.items()}


@pytest.fixture
def files(objects, tmp_path):
    for kind, obj in objects.items():
        ra.save(obj, tmp_path / kind)
    return tmp_path


def rewritten(path, **changes):
    """Give a file another header."""
    data = path.read_bytes()
    if data.startswith(b"PK"):
        content = io.BytesIO()
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w") as new:
            for name in old.namelist():
                part = old.read(name)
                if name == "record.json":
                    part = json.dumps({**json.loads(part), **changes})
                new.writestr(name, part)
        path.write_bytes(content.getvalue())
    elif data.startswith(b"{"):
        path.write_text(json.dumps({**json.loads(data), **changes}))
    else:
        with safe_open(path, "pt") as file:
            header = file.metadata()
        texts = {key: str(value) for key, value in changes.items()}
        save_file(load_file(path), path, metadata={**header, **texts})


def test_every_kind_is_tried():
    assert set(MAKE) | {"surgery"} == set(records.KINDS)


@kinds
def test_a_file_comes_back_and_is_written_alike(kind, objects, files):
    again = ra.load(files / kind)
    assert type(again) is type(objects[kind])
    ra.save(again, files / "again")
    assert (files / "again").read_bytes() == (files / kind).read_bytes()


@kinds
def test_the_header(kind, files):
    found = records.open_file(files / kind)
    assert found.header == {
        "format": "rational-anova", "kind": kind, "version": 1, "library": ra.__version__,
    }  # fmt: skip
    assert not set(found.header) & set(found.content)


def test_odd_numbers_come_back(objects, files):
    again = ra.load(files / "history")
    assert repr(again) == repr(objects["history"])
    again = ra.load(files / "law")
    assert repr(again.evidence) == repr(objects["law"].evidence)
    assert (again.box, again.names.columns) == (((1, 2), (-math.inf, 3)), ("T", "inf"))
    assert repr(again.parameters) == repr(objects["law"].parameters)
    assert ra.load(files / "certificate") == objects["certificate"]
    again = ra.load(files / "checkpoint")
    assert (again.position, again.stepper) == (
        objects["checkpoint"].position, objects["checkpoint"].stepper
    )  # fmt: skip
    torch.testing.assert_close(
        again.model, objects["checkpoint"].model, rtol=0, atol=0, equal_nan=True
    )
    for name in ("history", "law", "certificate"):
        json.loads((files / name).read_text(), parse_constant=pytest.fail)  # NaN, Infinity


@kinds
def test_a_newer_file(kind, files):
    rewritten(files / kind, version=2, library="9.0")
    message = (
        r"written by rational-anova 9\.0, has format version 2, this library reads up to 1: "
        "upgrade it with pip install --upgrade rational-anova"
    )
    with pytest.raises(ValueError, match=message):
        ra.load(files / kind)


@kinds
@pytest.mark.parametrize("version", [0, "x", None])
def test_a_version_that_is_none(kind, version, files):
    rewritten(files / kind, version=version)
    with pytest.raises(ValueError, match=f"is damaged: it has format version {version}"):
        ra.load(files / kind)


@kinds
def test_a_kind_that_is_not_known_yet(kind, files):
    rewritten(files / kind, kind="oracle")
    with pytest.raises(ValueError, match="holds 'oracle', which this library does not know: upgr"):
        ra.load(files / kind)


@kinds
def test_a_file_of_someone_else(kind, files):
    rewritten(files / kind, format="other")
    with pytest.raises(ValueError, match=f"{kind} was not written by rational_anova"):
        ra.load(files / kind)


@kinds
def test_a_file_that_is_cut_off(kind, files):
    data = (files / kind).read_bytes()
    for size in (0, 1, 5, 20, 150, len(data) // 2, len(data) - 2):
        (files / kind).write_bytes(data[:size])
        with pytest.raises(ValueError, match="damaged"):
            ra.load(files / kind)


@pytest.mark.parametrize("kind", CLASSES)
def test_a_class_wants_its_kind(kind, files):
    for other in MAKE:
        if other != kind:
            with pytest.raises(ValueError, match=f"holds an? {other} and no {kind}; ra.load opens"):
                CLASSES[kind].load(files / other)
    assert type(CLASSES[kind].load(files / kind)) is CLASSES[kind]


@kinds
def test_only_networks_are_loaded_into_something(kind, files):
    if kind == "network":
        into = network()
        assert ra.load(files / kind, into=into) is into
    else:
        with pytest.raises(ValueError, match=f"holds an? {kind}; only networks"):
            ra.load(files / kind, into=network())


@kinds
def test_an_interrupted_write_leaves_the_old_file(kind, objects, files, monkeypatch):
    before = {path.name: path.read_bytes() for path in files.iterdir()}

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        ra.save(objects[kind], files / kind)
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before


@kinds
def test_show(kind, files, capsys):
    show(files / kind)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == f"{kind}, version 1, written by rational-anova {ra.__version__}"
    words = {
        "network": ("RAN(", "24 parameters", "Topology(features=2, mains=2, pairs=1): 0 x 1", "y0 ="),
        "estimator": ("RANRegressor()", "predicts a number", "inputs: x0 (number)", "100.0%  x0"),
        "law": ("P = 8.3*T", "error "),
        "dynamics": ("dx/dt = -0.5*x", "One of several"),
        "certificate": ("denominators: at least 1 everywhere",),
        "history": ("adam (asked), loss mse", "last record: epoch 2, loss inf"),
        "checkpoint": ("epoch 3, step 9", "a model of 3 numbers", "last record: epoch 1, loss 2"),
    }  # fmt: skip
    assert all(any(word in line for line in lines) for word in words[kind]), lines


def foreign(folder):
    """Files of others, and what is said of each."""
    (folder / "table.csv").write_text("age,income\n1,2\n")
    yield "table.csv", "it looks like a table, with 'age,income' on top"
    (folder / "words.txt").write_text("a few words")
    yield "words.txt", "it is text that begins with 'a few words'"
    (folder / "model.pkl").write_bytes(pickle.dumps({"a": 1}))
    yield "model.pkl", "it looks like a pickle"
    torch.save({"a": torch.ones(2)}, folder / "model.pt")
    yield "model.pt", "it is of torch.save, which pickles"
    np.savez(folder / "arrays.npz", a=np.ones(2))
    yield "arrays.npz", "it is an archive of NumPy"
    save_file({"w": torch.ones(2)}, folder / "model.safetensors")
    yield "model.safetensors", "it is a safetensors file of something else"
    (folder / "list.json").write_text("[1, 2]")
    yield "list.json", "it is JSON of something else"
    (folder / "data.json").write_text('{"version": 1}')
    yield "data.json", "it is JSON of something else"
    (folder / "noise").write_bytes(bytes(range(256)))
    yield "noise", "it is 256 bytes of binary data"
    (folder / "deep.json").write_text("[" * 100_000)
    yield "deep.json", "it is not JSON either"


def test_files_of_others_are_named(tmp_path):
    for name, guess in foreign(tmp_path):
        with pytest.raises(ValueError, match="was not written by rational_anova") as caught:
            ra.load(tmp_path / name)
        assert guess in str(caught.value)
        assert "ra.load opens networks, estimators, laws" in str(caught.value)
    with pytest.raises(IsADirectoryError, match="is a folder; give the file in it"):
        ra.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="no file at"):
        ra.load(tmp_path / "none")


def test_what_a_surgery_leaves_says_who_opens_it(tmp_path, capsys):
    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.GELU(), torch.nn.Linear(4, 1))
    plan = ra.replace_activations_(model).plan
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(ValueError, match="plan of a surgery, which needs the model: ra.reapply_"):
        ra.load(tmp_path / "plan.json")
    show(tmp_path / "plan.json")
    assert "1: Rational1d" in capsys.readouterr().out
    (tmp_path / "config.json").write_text(json.dumps({"rational_anova": plan}))
    for path in (tmp_path, tmp_path / "config.json"):
        with pytest.raises((ValueError, IsADirectoryError), match="ra.load_converted"):
            ra.load(path)


def test_only_what_a_file_can_hold_is_saved(tmp_path):
    with pytest.raises(TypeError, match="a dict cannot be saved by rational_anova"):
        ra.save({"a": 1}, tmp_path / "file")
    assert not list(tmp_path.iterdir())


def test_a_fresh_process_finds_the_class(files):
    code = (
        "import sys; from rational_anova import load\n"
        f"print([type(load({str(files)!r} + '/' + kind)).__name__ for kind in sys.argv[1:]])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *MAKE], capture_output=True, text=True, check=True
    )
    names = ["RAN", "RANRegressor", "Law", "Dynamics", "Certificate", "History", "Checkpoint"]
    assert done.stdout.strip() == str(names)


def test_halves_of_characters_come_back(tmp_path):
    x = np.linspace(1, 2, 9)
    law = ra.fit_law("a*x", {"x": x}, 2 * x, target="\ud800")
    law.save(tmp_path / "law.json")
    assert ra.load(tmp_path / "law.json").target == "\ud800"
