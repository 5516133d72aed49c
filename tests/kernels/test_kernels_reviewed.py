"""What a review of the kernels found, held in place."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx

import rational_anova as ra
from rational_anova import functional as F
from rational_anova import kernels
from rational_anova.functional import DENOMINATORS
from rational_anova.training.optimizers._jacobian import Vector, jacobian_rows
from tests.conftest import needs_compiler


def deep():
    torch.manual_seed(0)
    return ra.DeepRAN(6, 2, topology=8, noise=0.2)


def by_formula(call, *arguments):
    with kernels.using("off"):
        return call(*arguments)


def test_no_inputs_no_gradient():
    """Where there is nothing to add up, sums are zero and not what the memory held."""
    big = [torch.randn(n, 50, requires_grad=True) for n in (3, 2)]
    F.rational_1d(torch.randn(64, 50), *big).sum().backward()
    small = [torch.randn(n, 3, requires_grad=True) for n in (3, 2)]
    F.rational_1d(torch.zeros(2, 3, 0), *small, dim=1).sum().backward()
    assert all(not part.grad.any() for part in small)


class Doubled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


def replace_head(net):
    net.head = Doubled(net.head.in_features, 2)


def drop_head(net):
    net.head = nn.Identity()


def wrap_head(net):
    net.head = nn.Sequential(nn.Dropout(0.0), net.head)


def patch_block(net):
    inner = net.blocks[0].forward
    net.blocks[0].forward = lambda h: (2 * inner(h)[0], inner(h)[1])


def patch_pair(net):
    inner = net.blocks[1].pair.forward
    net.blocks[1].pair.forward = lambda z: 2 * inner(z)


def wrap_block(net):
    net.blocks[0] = nn.Sequential(net.blocks[0])


def hook_block(net):
    net.blocks[0].register_forward_hook(lambda m, a, out: (2 * out[0], out[1]))


@pytest.mark.parametrize(
    "change",
    [replace_head, drop_head, wrap_head, patch_block, patch_pair, wrap_block, hook_block],
)
def test_a_changed_network_is_what_it_was_changed_to(change):
    net, x = deep(), torch.randn(5, 6)
    before = net(x)
    change(net)
    h, messages = x, x[..., :0]
    for block in net.blocks:
        h, messages = block(h)
    expected = net.head(torch.cat([h, messages], -1))
    torch.testing.assert_close(net(x), expected, rtol=1e-5, atol=1e-6)
    if change not in (wrap_head, wrap_block):
        assert before.shape != expected.shape or not torch.allclose(before, expected)


def test_a_network_without_memory():
    net = ra.DeepRAN(6, 2, topology=8, device="meta")
    assert net(torch.randn(5, 6, device="meta")).shape == (5, 2)


def test_tracing_with_real_numbers():
    unit, x = ra.Rational1d(4, init="gelu"), torch.randn(3, 4)
    traced = make_fx(lambda x: unit(x))(x)
    other = torch.randn(3, 4)
    torch.testing.assert_close(traced(other), unit(other))


def test_messages_need_weights_of_their_shape():
    pair, x = ra.Rational2d([(0, 1), (1, 2)], gate=None), torch.randn(5, 3)
    with pytest.raises(ValueError, match=r"weight must be \(2,\), got \(\)"):
        pair.send(x, torch.tensor(0.5))
    with pytest.raises(ValueError, match=r"readout must be \(outputs, 2\), got \(2, 1\)"):
        pair.send(x, None, torch.ones(2, 1))


@needs_compiler
def test_pairs_out_of_bounds_are_refused():
    pair = ra.Rational2d([(0, 1), (1, 2)])
    pair.pairs.fill_(1000)
    x = torch.randn(5, 3, requires_grad=True)
    with pytest.raises(ValueError, match="pairs must name features 0 to 2 of x, got 1000"):
        pair(x)


def test_tensors_without_memory():
    top, bottom = torch.randn(3, 4), torch.randn(2, 4)
    zeros = torch._efficientzerotensor((2, 4))
    found = F.rational_1d(zeros, top, bottom)
    torch.testing.assert_close(found, F.rational_1d(torch.zeros(2, 4), top, bottom))


def test_jacobians_check_where_they_write():
    unit = ra.Rational1d(3, noise=0.3, dtype=torch.float64)
    x = torch.randn(70, 3, dtype=torch.float64)
    columns = {"numerator": 0, "denominator": 12, "gate": 18}
    with pytest.raises(ValueError, match="the buffer must be one of jacobian_buffer"):
        unit.write_jacobian(x, torch.empty(1, 21, 70, dtype=torch.float64), columns)
    results = []
    for dtype in (torch.float32, torch.float64):  # weights of another dtype
        buffer = F.jacobian_buffer(70, 2, 21, x)
        unit.write_jacobian(x, buffer, columns, torch.ones(2, 3, dtype=dtype))
        results.append(buffer[..., :70])
    assert torch.equal(*results)
    with pytest.raises(ValueError, match="jacobian needs x of shape"):
        ra.Rational1d(3, dim=0).jacobian(torch.randn(3, 1))


def scale(module, arguments):
    return (arguments[0] * 10,)


def test_levenberg_marquardt_differentiates_the_model_that_is_there():
    net = ra.RAN(2, topology="none", dtype=torch.float64, noise=0.3)
    net.register_forward_pre_hook(scale)
    x = torch.randn(6, 2, dtype=torch.float64)
    value, _ = jacobian_rows(net, Vector(net))(x)
    torch.testing.assert_close(value, net(x))


@pytest.mark.parametrize("path", ["torch", "auto"])
def test_operators_tell_the_compiler_the_strides_they_have(path):
    top, bottom = torch.randn(4, 6), torch.randn(2, 6)
    numbers = (1, 3, 2, "softplus", "identity", 1e-6, -1)
    x = torch.randn(6, 5).t()
    grad = torch.randn(6, 5).t()
    with kernels.using(path):
        arguments = (top, bottom, None, None, *numbers)
        torch.library.opcheck(torch.ops.rational_anova.value, (x, *arguments))
        torch.library.opcheck(torch.ops.rational_anova.slopes, (grad, x, *arguments, True))


@pytest.mark.parametrize("kind", DENOMINATORS)
def test_plain_differentiation_is_that_by_hand(kind):
    """At round numbers, too, where formulas that clamp have their seams."""
    unit = ra.Rational1d(1, (1, 1), kind, gate=None, dtype=torch.float64)
    with torch.no_grad():
        unit.numerator.copy_(torch.tensor([[0.5], [2.0]]))
        unit.denominator.fill_(0.5 if kind == "polynomial" else 1.0)
    results = []
    for path in ("off", "torch", "auto"):
        x = torch.tensor([[-1.0], [0.0], [1.0], [2.0]], dtype=torch.float64, requires_grad=True)
        with kernels.using(path):
            results.append(torch.autograd.grad(unit(x).sum(), [x, *unit.parameters()]))
    for other in results[1:]:
        torch.testing.assert_close(other, results[0], rtol=1e-13, atol=1e-13)


def test_a_form_that_was_used_can_be_copied():
    unit = ra.Rational1d(3)
    unit(torch.randn(2, 3))
    spec = unit.form.spec
    assert pickle.loads(pickle.dumps(spec)) == copy.deepcopy(spec) == spec


def test_triton_that_fails_is_left_for_torch(monkeypatch):
    """Once, with a warning that says how; then units run as if it were not there."""
    monkeypatch.setattr(kernels._choice, "_broken", [])

    class Broken:
        @staticmethod
        def forward(*arguments):
            raise RuntimeError("no such card")

    with pytest.warns(RuntimeWarning, match="Triton failed .RuntimeError: no such card."):
        assert kernels.attempt(Broken, "forward") is None
    spec = ra.Rational1d(3).form.spec
    with kernels.using("triton"):
        assert kernels.pick(spec, torch.randn(2, 3)) is None
        assert kernels.info()["cpu"] == "torch"


USE = """
import warnings, torch, rational_anova as ra
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    ra.Rational1d(3)(torch.randn(2, 3))
print(len(caught), ra.kernels._choice._missing[torch.float32])
"""


def run(cache, **environment):
    given = {**os.environ, "RAN_CACHE": str(cache), "RAN_KERNELS": "auto", **environment}
    done = subprocess.run(
        [sys.executable, "-c", USE], env=given, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@needs_compiler
def test_a_filled_cache_needs_no_compiler_and_heals(tmp_path):
    cache = tmp_path / "cache"
    assert run(cache) == "0"
    (library,) = cache.glob("*.so")
    assert run(cache, PATH=str(tmp_path)) == "0"
    whole = library.read_bytes()
    library.write_bytes(whole[:1000])
    assert run(cache) == "0"
    assert [path.name for path in Path(cache).iterdir()] == [library.name]
    for command, reason in (("no-such-cc", "is not there"), ('gcc "', "is not there")):
        assert reason in run(tmp_path / "empty", CC=command)
