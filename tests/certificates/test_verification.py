"""ONNX and VNN-LIB: answers that hold, exported networks of ours, and hostile files."""

import warnings

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import rational_anova as ra
from rational_anova.certificates import PropertyError, Unsupported, verify
from rational_anova.cli import app

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

RNG = np.random.default_rng(0)
W1, B1 = RNG.normal(size=(5, 2)).astype(np.float32), RNG.normal(size=5).astype(np.float32)
W2, B2 = RNG.normal(size=(2, 5)).astype(np.float32), RNG.normal(size=2).astype(np.float32)


def tensor(name, value):
    return numpy_helper.from_array(value, name)


def write(path, nodes, weights, shape=(1, 2), out=(1, 2)):
    graph = helper.make_graph(
        nodes, "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, list(out))],
        [tensor(name, value) for name, value in weights.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    path.write_bytes(model.SerializeToString())
    return path


def mlp(path, activation="Relu"):
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["a"], transB=1),
        helper.make_node(activation, ["a"], ["h"]),
        helper.make_node("MatMul", ["h", "w2"], ["m"]),
        helper.make_node("Add", ["m", "b2"], ["y"]),
    ]
    return write(path, nodes, {"w1": W1, "b1": B1, "w2": W2.T.copy(), "b2": B2})


def output(x, activation=lambda a: np.maximum(a, 0)):
    return activation(x @ W1.T.astype(float) + B1) @ W2.T.astype(float) + B2


def prop(path, demand, inputs=2, outputs=2, low=-1.0, high=1.0):
    lines = ["; what must not happen"]
    lines += [f"(declare-const X_{n} Real)" for n in range(inputs)]
    lines += [f"(declare-const Y_{n} Real)" for n in range(outputs)]
    lines += [f"(assert (>= X_{n} {low}))\n(assert (<= X_{n} {high}))" for n in range(inputs)]
    path.write_text("\n".join([*lines, demand]))
    return path


GRID = np.stack(np.meshgrid(*[np.linspace(-1, 1, 101)] * 2), -1).reshape(-1, 2)


@pytest.mark.parametrize("distance", [-0.3, -0.02, 0.02, 0.3])
def test_the_answer_is_that_of_a_fine_grid(tmp_path, distance):
    most = output(GRID)[:, 0].max()
    net = mlp(tmp_path / "net.onnx")
    found = verify(net, prop(tmp_path / "p.vnnlib", f"(assert (>= Y_0 {most + distance}))"))
    assert found.answer == ("sat" if distance < 0 else "unsat")
    if found.inputs:
        y = output(np.array(found.inputs))
        assert y[0] >= most + distance
        for value, (low, high) in zip(y, found.outputs, strict=True):
            assert low - 1e-9 <= value <= high + 1e-9
        assert found.text().startswith("sat\n((X_0 ")


@pytest.mark.parametrize(
    ("kind", "function"),
    [("Tanh", np.tanh), ("Sigmoid", lambda a: 1 / (1 + np.exp(-a))), ("Exp", np.exp),
     ("Softplus", lambda a: np.log1p(np.exp(a))), ("Abs", np.abs)],
)  # fmt: skip
def test_other_activations(tmp_path, kind, function):
    values = output(GRID, function)
    gap = (values[:, 1] - values[:, 0]).max()
    net = mlp(tmp_path / "net.onnx", kind)
    for distance, answer in ((-0.05, "sat"), (0.05, "unsat")):
        text = f"(assert (or (<= (+ Y_0 {gap + distance}) Y_1) (and (<= Y_0 -1e6) (>= Y_1 0.0))))"
        assert verify(net, prop(tmp_path / "p.vnnlib", text)).answer == answer


def test_unknown_where_the_limits_are_too_small(tmp_path):
    most = output(GRID)[:, 0].max() + 1e-6
    path = prop(tmp_path / "p.vnnlib", f"(assert (>= Y_0 {most}))")
    assert verify(mlp(tmp_path / "net.onnx"), path, pieces=1).answer == "unknown"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [
    lambda: ra.RAN(3, 2, noise=0.2), lambda: ra.DeepRAN(3, 2, width=4, noise=0.2),
    lambda: ra.RANFFN(3, 4, 2, noise=0.2, denominator="squareplus"), lambda: ra.MLP(3, 2, (4,)),
    lambda: torch.nn.Sequential(ra.GatedRationalBlock(3, gate=0.5), torch.nn.Linear(3, 2)),
])  # fmt: skip
def test_our_own_exported_networks(tmp_path, make):
    pytest.importorskip("onnxscript")
    torch.manual_seed(0)
    net = make().eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, (torch.randn(2, 3),), str(tmp_path / "net.onnx"), dynamo=True,
                          dynamic_shapes=({0: torch.export.Dim("rows")},), external_data=False,
                          verbose=False)  # fmt: skip
    x = 0.5 * (2 * torch.rand(4000, 3, dtype=torch.float64) - 1)
    most = net.double()(x)[:, 0].max().item()
    for distance, answer in ((-0.1, "sat"), (0.5, "unsat")):
        path = prop(tmp_path / "p.vnnlib", f"(assert (>= Y_0 {most + distance}))", 3, 2, -0.5, 0.5)
        assert verify(tmp_path / "net.onnx", path).answer == answer


def node(kind, inputs=("x",), outputs=("y",), **options):
    return helper.make_node(kind, list(inputs), list(outputs), **options)


BAD_NETWORKS = {
    "Conv": ([node("Conv", ("x", "w"))], {"w": np.zeros((1, 1, 1, 1), np.float32)}, "Conv"),
    "NaN": ([node("Add", ("x", "w"))], {"w": np.full(2, np.nan, np.float32)}, "not finite"),
    "product": ([node("MatMul", ("x", "x"))], {}, "constant matrix"),
    "constant": ([node("Identity", ("w",))], {"w": np.zeros((1, 2), np.float32)}, "depend"),
    "huge": (
        [node("Reshape", ("x", "s"))], {"s": np.array([-1, 7], np.int64)}, "Reshape cannot be read"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BAD_NETWORKS))
def test_networks_that_cannot_be_read(tmp_path, name):
    nodes, weights, words = BAD_NETWORKS[name]
    net = write(tmp_path / "net.onnx", nodes, weights)
    with pytest.raises(Unsupported, match=words):
        verify(net, prop(tmp_path / "p.vnnlib", "(assert (<= Y_0 0))"))


def test_damaged_files(tmp_path):
    good, path = mlp(tmp_path / "net.onnx"), prop(tmp_path / "p.vnnlib", "(assert (<= Y_0 0))")
    content = good.read_bytes()
    for part in (b"", content[:100], b"\0" * 50, b"not a network", content[50:]):
        (tmp_path / "bad.onnx").write_bytes(part)
        with pytest.raises(Unsupported):
            verify(tmp_path / "bad.onnx", path)
    with pytest.raises(FileNotFoundError, match="no file"):
        verify(tmp_path / "none.onnx", path)


def test_weights_in_other_files_are_not_followed(tmp_path):
    model = onnx.load(str(mlp(tmp_path / "net.onnx")))
    weight = model.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="../../etc/passwd")
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(Unsupported):
        verify(tmp_path / "net.onnx", prop(tmp_path / "p.vnnlib", "(assert (<= Y_0 0))"))


@pytest.mark.parametrize(
    ("demand", "words"),
    [
        ("(assert (<= Y_0 0)", "not closed"),
        ("(assert (<= Y_0 0)))", "too many"),
        ("(" * 100, "deep"),
        ("(assert (< Y_0 0))", "'<' is not known"),
        ("(assert (<= (* Y_0 Y_1) 0))", "linear"),
        ("(assert (<= (* X_0 2 3) 0))", "multiples"),
        ("(assert (<= Y_7 0))", "not declared"),
        ("(assert (<= Z 0))", "variables are X_0"),
        ("(assert (<= Y_0 nan))", "finite"),
        ("(assert (<= (+ X_0 Y_0) 0))", "one input, or on outputs"),
        ("(define-fun f () Real 1.0)", "define-fun"),
        ("", "no demand"),
        ("(assert (and " + "(or (<= Y_0 0) (<= Y_1 0))" * 20 + "))", "cases"),
        ("hello", "a command"),
    ],
)
def test_properties_that_cannot_be_read(tmp_path, demand, words):
    with pytest.raises(PropertyError, match=words):
        verify(mlp(tmp_path / "net.onnx"), prop(tmp_path / "p.vnnlib", demand))


def test_a_property_of_another_network(tmp_path):
    with pytest.raises(PropertyError, match="the network 2 and 2"):
        verify(mlp(tmp_path / "net.onnx"), prop(tmp_path / "p.vnnlib", "(assert (<= Y_0 0))", 3))


def test_from_the_command_line(tmp_path):
    net, out = mlp(tmp_path / "net.onnx"), tmp_path / "answer.txt"
    never = prop(tmp_path / "never.vnnlib", "(assert (>= Y_0 1e6))")
    found = CliRunner().invoke(app, ["certify", str(net), str(never), "--out", str(out)])
    assert (found.exit_code, out.read_text()) == (0, "unsat\n")
    always = prop(tmp_path / "always.vnnlib", "(assert (>= Y_0 -1e6))")
    found = CliRunner().invoke(app, ["certify", str(net), str(always)])
    assert found.exit_code == 3
    found = CliRunner().invoke(app, ["certify", str(net)])
    assert found.exit_code == 2
