"""The C kernels under function transforms, as messages and as Jacobians."""

import functools

import pytest
import torch
from torch.autograd import forward_ad

from rational_anova import RAN, DeepRAN, Rational1d, Rational2d, Topology, kernels
from rational_anova.functional import (
    jacobian_buffer,
    write_jacobian,
)
from rational_anova.kernels import _c
from tests.conftest import FEATURES, KINDS, PAIRS, needs_compiler, scramble
from tests.kernels.cases import DOUBLE, SINGLE, SIX, TOLERANCES, both_dtypes, draw

pytestmark = needs_compiler

# ---- function transforms -------------------------------------------------------------------------


def scramble_all(network):
    for n, unit in enumerate(network.modules()):
        if isinstance(unit, Rational1d | Rational2d):
            scramble(unit, n, 0.3)
    return network


def models():
    options = {"dtype": DOUBLE}
    torch.manual_seed(0)
    deep = DeepRAN(4, 2, blocks=2, topology="all", base="gelu", **options)
    return {
        "1d": scramble(Rational1d(4, (3, 2), "softplus", "gelu", heads=2, **options)),
        "2d": scramble(Rational2d([(0, 1), (2, 3), (0, 3)], 2, "sos", "tanh", **options)),
        "deep": scramble_all(deep),
    }


def loss(model, parameters, x):
    y = torch.func.functional_call(model, parameters, x)
    return (y * y).sum() + y.sum()


def double_backward(model, parameters, x):
    leaves = [x.requires_grad_(), *parameters.values()]
    first = torch.autograd.grad(loss(model, parameters, x), leaves, create_graph=True)
    return torch.autograd.grad(sum((g * g).sum() for g in first), leaves)


def mapped(model, parameters, x):
    return torch.vmap(lambda row: torch.func.functional_call(model, parameters, row))(x)


def forward_mode(model, parameters, x):
    tangent = {name: torch.ones_like(p) for name, p in parameters.items()}
    call = functools.partial(loss, model)
    return torch.func.jvp(call, (parameters, x), (tangent, torch.ones_like(x)))


def mixed_mode(model, parameters, x):
    call = functools.partial(loss, model, parameters)
    outer = torch.func.jacrev(torch.func.jacfwd(call))(x[:2])
    return outer, torch.func.jacfwd(torch.func.jacrev(call))(x[:2])


def per_sample(model, parameters, x):
    single = functools.partial(loss, model)
    return torch.vmap(torch.func.grad(single), (None, 0))(parameters, x)


def batched_gradients(model, parameters, x):
    leaves = [x.requires_grad_(), *parameters.values()]
    y = torch.func.functional_call(model, parameters, x)
    rows = torch.eye(y.numel(), dtype=DOUBLE).reshape(-1, *y.shape)[:5]
    return torch.autograd.grad(y, leaves, rows, is_grads_batched=True)


def dual_gradient(model, parameters, x):
    """A tangent that comes in with the gradient, when the forward pass has long been done."""
    leaves = [x.requires_grad_(), *parameters.values()]
    y = torch.func.functional_call(model, parameters, x)
    with forward_ad.dual_level():
        top = forward_ad.make_dual(torch.ones_like(y), torch.full_like(y, 2.0))
        found = torch.autograd.grad(y, leaves, top)
        tangents = [forward_ad.unpack_dual(g).tangent for g in found]
        assert all(t is not None for t in tangents), "the tangent is lost"
        return [t.clone() for t in tangents]


def ensembles(model, parameters, x):
    stacked = {name: torch.stack([p, 0.5 * p]) for name, p in parameters.items()}
    call = functools.partial(torch.func.functional_call, model)
    return torch.vmap(call, (0, None))(stacked, x)


TRANSFORMS = (
    double_backward, mapped, forward_mode, mixed_mode, per_sample, batched_gradients,
    dual_gradient, ensembles,
)  # fmt: skip


@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", ["1d", "2d", "deep"])
def test_transforms_agree_with_plain_operations(name, transform):
    x = torch.randn(6, 4, dtype=DOUBLE, generator=torch.manual_seed(2))
    results = []
    for path in ("off", "c"):
        model = models()[name]
        parameters = {n: p.detach().clone().requires_grad_() for n, p in model.named_parameters()}
        with kernels.using(path):
            found = transform(model, parameters, x.clone())
        results.append(torch.utils._pytree.tree_leaves(found))
    for plain, ours in zip(*results, strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-10, atol=1e-10)
        assert ours.any()


# ---- messages ------------------------------------------------------------------------------------


def sent_plainly(pair, x, weight, readout):
    """`forward`, two `index_add` and a product, differentiated by torch."""
    with kernels.using("off"):
        messages = pair(x) if weight is None else pair(x) * weight
    sent = x.index_add(-1, pair.pairs[0], messages).index_add(-1, pair.pairs[1], messages)
    return [sent, messages, *(() if readout is None else (messages @ readout.T,))]


@both_dtypes
@pytest.mark.parametrize("base", ["zero", "gelu"])
@pytest.mark.parametrize("gate", [None, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [0, 1, 3])
def test_send_is_forward_and_index_add(base, gate, weighted, outputs, dtype):
    pair = scramble(Rational2d(SIX.T.tolist(), 2, "sos", base, gate=gate, heads=2, dtype=dtype))
    weight = torch.linspace(-1, 1, 5, dtype=dtype).requires_grad_() if weighted else None
    readout = None
    if outputs:
        readout = torch.linspace(-1, 2, 5 * outputs, dtype=dtype).reshape(outputs, 5)
        readout.requires_grad_()
    leaves = [*pair.parameters(), *(p for p in (weight, readout) if p is not None)]
    rtol = {SINGLE: 2e-5, DOUBLE: 1e-12}[dtype]
    for shape in ((6,), (0, 6), (1, 6), (67, 6), (2, 33, 7)):
        x = torch.randn(shape, dtype=dtype, generator=torch.manual_seed(4)).requires_grad_()
        want = sent_plainly(pair, x, weight, readout)
        tops = [torch.randn(part.shape, dtype=dtype) for part in want]
        for keep in (True, False):
            with kernels.using("c"):
                got = pair.send(x, weight, readout, keep)
            assert (got.messages is None) == (not keep)
            assert (got.read is None) == (not outputs)
            there = [n for n, part in enumerate(got) if part is not None]
            for n in there:
                torch.testing.assert_close(got[n], want[n], rtol=rtol, atol=rtol)
            for used in [*([n] for n in there), there]:
                ours, theirs = (
                    torch.autograd.grad(
                        [parts[n] for n in used],
                        [x, *leaves],
                        [tops[n] for n in used],
                        retain_graph=True,
                        materialize_grads=True,
                    )
                    for parts in (got, want)
                )
                for one, other in zip(ours, theirs, strict=True):
                    scale = rtol * (1 + other.abs().sum().item())
                    torch.testing.assert_close(one, other, rtol=rtol, atol=scale)


@pytest.mark.parametrize(("base", "gate"), [("zero", None), ("zero", 0.4), ("silu", 0.4)])
def test_send_by_finite_differences(base, gate):
    pair = scramble(Rational2d(PAIRS, 2, "softplus", base, gate=gate, dtype=DOUBLE))
    random = torch.manual_seed(3)
    x, weight, readout = (
        torch.randn(shape, dtype=DOUBLE, generator=random).requires_grad_()
        for shape in ((3, FEATURES), (2,), (2, 2))
    )
    names = [f"pair.{name}" for name, _ in pair.named_parameters()]
    parameters = [p.detach().requires_grad_() for p in pair.parameters()]

    class Sender(torch.nn.Module):
        def __init__(self, **options):
            super().__init__()
            self.pair, self.options = pair, options

        def forward(self, x, *others):
            found = self.pair.send(x, *others, **self.options)
            return tuple(part for part in found if part is not None)

    def sender(others, **options):
        def call(x, *rest):
            held = dict(zip(names, rest[others:], strict=True))
            return torch.func.functional_call(Sender(**options), held, (x, *rest[:others]))

        return call

    for others, options in (((), {}), ((), {"keep": False}), ((weight, readout), {"keep": False})):
        call, arguments = sender(len(others), **options), (x, *others, *parameters)
        with kernels.using("c"):
            torch.autograd.gradcheck(
                call, arguments, check_batched_grad=True, check_forward_ad=True
            )
            torch.autograd.gradgradcheck(call, arguments)


def test_a_deep_network_sends_by_the_kernel(monkeypatch):
    called = []
    inner = _c.send
    monkeypatch.setattr(_c, "send", lambda *a: called.append(1) or inner(*a))
    network = scramble_all(DeepRAN(4, 2, blocks=2, topology="all"))
    with kernels.using("c"):
        network(torch.randn(5, 4)).sum().backward()
    assert len(called) == 2


# ---- Jacobians -----------------------------------------------------------------------------------


def by_transform(network, x):
    parameters = {name: p.detach() for name, p in network.named_parameters()}

    def single(parameters, row):
        return torch.func.functional_call(network, parameters, (row[None],))[0]

    with kernels.using("off"):
        parts = torch.vmap(torch.func.jacrev(single), (None, 0))(parameters, x)
    return torch.cat([part.flatten(2) for part in parts.values()], -1)


def jacobians_agree(network, x):
    results = []
    for path in ("torch", "c"):
        with kernels.using(path):
            results.append(network.jacobian_matrix(x))
    (value, matrix), (ours, own) = results
    rtol = 1e-11 if own.dtype == DOUBLE else 2e-5
    torch.testing.assert_close(ours, value, rtol=rtol, atol=rtol)
    torch.testing.assert_close(own, matrix, rtol=rtol, atol=rtol)
    if len(x):
        torch.testing.assert_close(own, by_transform(network, x), rtol=rtol, atol=rtol)


@both_dtypes
@pytest.mark.parametrize("rows", [0, 1, 15, 64, 65, 200])
def test_jacobian_matrices_agree(rows, dtype):
    mains = Topology.of([(0, 3), (1, 2)], 5, mains=[0, 3])
    networks = [
        RAN(4, topology="all", dtype=dtype),
        RAN(4, 3, topology="all", heads=2, denominator="sos", base="gelu", dtype=dtype),
        RAN(5, 2, topology=mains, gate=None, denominator="square", dtype=dtype),
        RAN(1, 2, topology=0, dtype=dtype),
    ]
    for network in networks:
        x = torch.randn(rows, network.in_features, dtype=dtype, generator=torch.manual_seed(rows))
        jacobians_agree(scramble_all(network), x)


@both_dtypes
def test_write_jacobian_for_every_kind(dtype):
    for kind in KINDS:
        for variables, degrees, heads in ((1, (3, 2), 1), (1, (8, 8), 2), (2, (4, 4), 2)):
            case = draw(variables, degrees, kind, "tanh", (70, 6), dtype, heads)
            top, bottom = (
                c if c.dim() == 3 else c[None] for c in (case.numerator, case.denominator)
            )
            sizes = [top.numel(), bottom.numel(), case.gate.numel()]
            columns = [0, sizes[0], sizes[0] + sizes[1]]
            weights = torch.linspace(-1, 2, 3 * case.gate.numel(), dtype=dtype).reshape(3, -1)
            results = []
            for path in ("torch", "c"):
                buffer = jacobian_buffer(70, 3, sum(sizes), case.x)
                arguments = (case.x, top, bottom, case.gate, case.pairs, buffer, columns, weights)
                with kernels.using(path):
                    value = write_jacobian(case.form, *arguments)
                results.append((value, buffer[..., :70]))
            size = results[0][1].abs().amax(-1, keepdim=True)
            assert ((results[1][1] - results[0][1]).abs() <= TOLERANCES[dtype] * 20 * size).all()
            torch.testing.assert_close(results[1][0], results[0][0])
