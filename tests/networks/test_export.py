"""What other machinery makes of units and networks: compilers, exporters, transforms, copies."""

import collections
import copy
import io
import pickle

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.checkpoint import checkpoint

import rational_anova as ra
from rational_anova import functional as F
from rational_anova import kernels
from rational_anova.functional import BASES, DENOMINATORS
from rational_anova.units import RationalUnit
from tests.conftest import FEATURES, KINDS, kind_and_constant, make, scramble

pytestmark = [
    # Inductor and the tracer load parts of torch that torch itself calls old.
    pytest.mark.filterwarnings("ignore:`torch.jit.[a-z_]+` is deprecated:DeprecationWarning"),
    # torch, copying its own tree of arguments when it exports
    pytest.mark.filterwarnings("ignore:`isinstance.treespec, LeafSpec:FutureWarning"),
    # Dynamo looks at every attribute of a tensor that it meets.
    pytest.mark.filterwarnings(
        "ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning"
    ),
    # Dynamo reads through the cache of `Form.make`.
    pytest.mark.filterwarnings(
        "ignore:Dynamo detected a call to a `functools.lru_cache`:UserWarning"
    ),
]

PAIRS = [(0, 1), (2, 5), (1, 4)]
NETWORKS = {
    "Rational1d": (lambda **o: ra.Rational1d(6, heads=2, groups=3, **o), (6,)),
    "Rational2d": (lambda **o: ra.Rational2d(PAIRS, denominator="sos", **o), (6,)),
    "RAN": (lambda **o: ra.RAN(6, 2, **o), (6,)),
    "RAN-mains": (lambda **o: ra.RAN(6, 1, ra.Topology.of(PAIRS, features=6, mains=[1, 4]), **o), (6,)),
    "DeepRAN": (lambda **o: ra.DeepRAN(6, 3, **o), (6,)),
    "RANFFN": (lambda **o: ra.RANFFN(6, 12, **o), (6,)),
    "RANFFNPlus": (lambda **o: ra.RANFFNPlus(6, 12, 5, **o), (6,)),
    "RANConvNet": (lambda **o: ra.RANConvNet(2, 3, widths=(4, 6), **o), (2, 8, 8)),
    "GatedRationalBlock": (lambda **o: ra.GatedRationalBlock(6, **o), (6,)),
}  # fmt: skip
every_network = pytest.mark.parametrize("name", NETWORKS)
UNITS = ("Rational1d", "Rational2d")
COMPILED = (*UNITS, "RAN", "DeepRAN", "RANFFN", "RANConvNet")


@pytest.fixture(autouse=True)
def nothing_compiled():
    torch._dynamo.reset()


@pytest.fixture
def inductor():
    from torch._inductor import cpp_builder, exc

    try:
        cpp_builder.get_cpp_compiler()
    except exc.InvalidCxxCompiler:
        pytest.skip("Inductor needs a C++ compiler, and there is none")


def build(name, dtype=torch.float32):
    """Return a network away from its start, in evaluation mode: no term of it hides at zero."""
    torch.manual_seed(0)
    net = NETWORKS[name][0](noise=0.1, dtype=dtype)
    with torch.no_grad():
        for key, parameter in net.named_parameters():
            if key.endswith("gate"):
                parameter.uniform_(0.2, 0.8)
    return net.eval()


def batch(name, rows=5, dtype=torch.float32):
    generator = torch.Generator().manual_seed(rows)
    return torch.randn(rows, *NETWORKS[name][1], generator=generator, dtype=dtype)


def count_units(net):
    return sum(isinstance(module, RationalUnit) for module in net.modules())


def derivatives(call, net, x):
    """Return the value, and the derivatives of a weighted sum of it along x and the parameters."""
    x = x.detach().clone().requires_grad_()
    y = call(x)
    weight = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).reshape(y.shape)
    return [y.detach(), *torch.autograd.grad((y * weight).sum(), [x, *net.parameters()])]


def assert_same(found, expected, rtol=1e-4, atol=1e-5):
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=rtol, atol=atol)


# The operators


OPERANDS = {
    "1d": (1, (5, 3), 3, {}),
    "1d-dim1": (1, (2, 3, 4), 3, {"dim": 1}),
    "1d-shared": (1, (5, 6), 3, {}),
    "1d-heads": (1, (5, 3), 3, {"heads": 2}),
    "1d-no-gate": (1, (5, 3), 3, {"gate": False}),
    "2d": (2, (2, 4, 5), 3, {}),
    "2d-heads": (2, (4, 5), 3, {"heads": 2}),
    "2d-no-gate": (2, (4, 5), 3, {"gate": False}),
}


def operands(case, kind, dtype):
    """Return tensors and numbers as the operator `value` takes them."""
    variables, shape, units, options = OPERANDS[case]
    degrees = (3, 2) if variables == 1 else (2, 2)
    kind, constant = kind_and_constant(kind)
    form = F.Form.make(variables, degrees, kind, "gelu", None, constant)
    generator = torch.Generator().manual_seed(0)

    def draw(*size):
        return torch.randn(*size, generator=generator, dtype=dtype, requires_grad=True)

    lead = (options["heads"],) if "heads" in options else ()
    rows = len(form.numerator), sum(map(len, form.denominator))
    tensors = (
        draw(*shape),
        draw(*lead, rows[0], units),
        draw(*lead, rows[1], units),
        draw(units) if options.get("gate", True) else None,
        torch.tensor([[0, 1, 0], [2, 4, 3]]) if variables == 2 else None,
    )
    reach = 1.5 if variables == 1 and kind == "square" else None
    numbers = (variables, *degrees, kind, "gelu", form.eps, constant, reach, options.get("dim", -1))
    return tensors, numbers


# Every shape of the operands, and the other dtype and kind with the first of each.
@pytest.mark.parametrize(
    ("case", "kind", "dtype"),
    [
        *((case, "softplus", torch.float32) for case in OPERANDS),
        *((case, kind, torch.float64) for case in ("1d", "2d") for kind in ("sos", "square+1")),
    ],
    ids=str,
)
def test_operators_are_what_they_declare(case, kind, dtype):
    tensors, numbers = operands(case, kind, dtype)
    result = torch.library.opcheck(torch.ops.rational_anova.value, (*tensors, *numbers))
    assert set(result.values()) == {"SUCCESS"}
    still = [None if each is None else each.detach() for each in tensors]
    top = torch.randn_like(torch.ops.rational_anova.value(*still, *numbers))
    for inputs in (True, False):
        arguments = (top, *still, *numbers, inputs)
        result = torch.library.opcheck(torch.ops.rational_anova.slopes, arguments)
        assert set(result.values()) == {"SUCCESS"}


@pytest.mark.parametrize("path", ["torch", "auto"])
def test_operators_tell_the_compiler_the_strides_they_have(path):
    top, bottom = torch.randn(4, 6), torch.randn(2, 6)
    numbers = (1, 3, 2, "softplus", "identity", 1e-6, False, None, -1)
    x = torch.randn(6, 5).t()
    grad = torch.randn(6, 5).t()
    with kernels.using(path):
        arguments = (top, bottom, None, None, *numbers)
        torch.library.opcheck(torch.ops.rational_anova.value, (x, *arguments))
        torch.library.opcheck(torch.ops.rational_anova.slopes, (grad, x, *arguments, True))


# Compiling


# Networks pass on the dtype of their units: float64 is compiled for the units alone.
@pytest.mark.parametrize(
    ("name", "dtype"),
    [*((name, torch.float32) for name in COMPILED), *((name, torch.float64) for name in UNITS)],
    ids=str,
)
def test_compiled_is_eager(name, dtype):
    net, x = build(name, dtype), batch(name, dtype=dtype)
    compiled = torch.compile(net, backend="aot_eager", fullgraph=True)
    assert_same(derivatives(compiled, net, x), derivatives(net, net, x))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COMPILED if name not in UNITS])
@pytest.mark.usefixtures("inductor")
def test_inductor_is_eager(name):
    net, x = build(name), batch(name)
    compiled = torch.compile(net, fullgraph=True)
    assert_same(derivatives(compiled, net, x), derivatives(net, net, x))


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.usefixtures("inductor")
def test_inductor_serves_units_in_float64(name):
    net, x = build(name, torch.float64), batch(name, dtype=torch.float64)
    compiled = torch.compile(net, fullgraph=True)
    assert_same(derivatives(compiled, net, x), derivatives(net, net, x), 1e-10, 1e-10)


@pytest.mark.parametrize("name", COMPILED)
def test_a_compiled_unit_is_one_node_each_way(name):
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    seen = {}

    def recorder(way):
        def record(graph, _):
            targets = [str(node.target) for node in graph.graph.nodes]
            seen[way] = collections.Counter(
                target.split(".")[1] for target in targets if target.startswith("rational_anova")
            )
            return make_boxed_func(graph.forward)

        return record

    backend = aot_autograd(fw_compiler=recorder("forward"), bw_compiler=recorder("backward"))
    net = build(name)
    derivatives(torch.compile(net, backend=backend, fullgraph=True), net, batch(name))
    units = count_units(net)
    assert seen == {"forward": {"value": units}, "backward": {"slopes": units}}


@pytest.mark.parametrize("name", COMPILED)
def test_batch_sizes_share_a_compiled_graph(name):
    from torch._dynamo.testing import CompileCounterWithBackend

    counter = CompileCounterWithBackend("aot_eager")
    net = build(name)
    compiled = torch.compile(net, backend=counter, fullgraph=True, dynamic=True)
    compiled(batch(name, 3))
    first = counter.frame_count
    for rows in (4, 7, 11, 15):  # above, torch has other convolutions
        assert_same([compiled(batch(name, rows))], [net(batch(name, rows))])
    assert counter.frame_count == first


@pytest.mark.parametrize(
    "bad", [[[0, 3], [1, 2]], [[0, -1], [1, 2]], [[0, 2], [1, 2]]], ids=["high", "low", "twice"]
)
def test_a_compiled_graph_refuses_bad_pairs(bad):
    unit = make("softplus", "zero", 2)

    def call(x, pairs):
        return F.rational_2d(x, pairs, unit.numerator, unit.denominator, unit.gate)

    compiled = torch.compile(call, backend="aot_eager", fullgraph=True)
    x = torch.randn(4, FEATURES)
    compiled(x, unit.pairs)  # the graph is there
    with pytest.raises(ValueError, match="pair"):
        compiled(x, torch.tensor(bad))


def test_both_operators_look_at_their_pairs():
    tensors, numbers = operands("2d", "softplus", torch.float32)
    x, *coefficients, pairs = (each.detach() for each in tensors)
    same = pairs[:1].expand(2, -1)
    with pytest.raises(ValueError, match="a pair needs two features"):
        torch.ops.rational_anova.value(x, *coefficients, same, *numbers)
    top = x.new_ones(2, 4, 3)
    with pytest.raises(ValueError, match="a pair needs two features"):
        torch.ops.rational_anova.slopes(top, x, *coefficients, same, *numbers, True)


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_under_autocast(name):
    net, x = build(name), batch(name)
    compiled = torch.compile(net, backend="aot_eager", fullgraph=True)
    with torch.autocast("cpu", torch.bfloat16):
        found, expected = compiled(x), net(x)
    assert found.dtype == expected.dtype
    torch.testing.assert_close(found, expected, rtol=0.02, atol=0.02)
    found.float().sum().backward()
    assert all(p.grad.isfinite().all() for p in net.parameters() if p.grad is not None)


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
def test_compiled_training_is_eager_training(backend, request):
    if backend == "inductor":
        request.getfixturevalue("inductor")
    x, y = batch("DeepRAN", 16), torch.ones(16, 3)
    losses = []
    for compiling in (False, True):
        net = build("DeepRAN").train()
        optimiser = torch.optim.Adam(net.parameters(), lr=0.01)

        def loss(x, y, net=net):
            return nn.functional.mse_loss(net(x), y)

        call = torch.compile(loss, backend=backend, fullgraph=True) if compiling else loss
        losses.append([])
        for _ in range(5):
            optimiser.zero_grad()
            value = call(x, y)
            value.backward()
            optimiser.step()
            losses[-1].append(value.item())
    assert losses[0][-1] < losses[0][0]
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)


def test_a_whole_step_compiled():
    x, y = batch("RAN", 16), torch.ones(16, 2)
    found = []
    for compiling in (False, True):
        net = build("RAN").train()
        optimiser = torch.optim.SGD(net.parameters(), lr=0.01)

        def step(x, y, net=net, optimiser=optimiser):
            value = nn.functional.mse_loss(net(x), y)
            value.backward()
            optimiser.step()
            optimiser.zero_grad()
            return value

        call = torch.compile(step, backend="aot_eager") if compiling else step
        for _ in range(3):
            call(x, y)
        found.append([p.detach() for p in net.parameters()])
    assert_same(*found)


def test_a_compiled_network_sees_new_coefficients():
    net, x = build("RAN"), batch("RAN")
    compiled = torch.compile(net, backend="aot_eager", fullgraph=True)
    before = compiled(x)
    with torch.no_grad():
        net.main.numerator.mul_(2)
    assert not torch.allclose(compiled(x), before)
    assert_same([compiled(x)], [net(x)])


def test_compiled_on_views_and_empty_batches():
    net = build("Rational1d")
    compiled = torch.compile(net, backend="aot_eager", fullgraph=True)
    wide = torch.randn(6, 10)
    for x in (wide.t(), wide.t()[::2], torch.randn(6), torch.randn(2, 3, 6), torch.randn(0, 6)):
        assert_same([compiled(x)], [net(x)])


# Transforms, outside of compiled code and inside


def _dual(call, x, along):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(call(forward_ad.make_dual(x, along))).tangent


def _double_backward(call, x, along):
    x = x.clone().requires_grad_()
    (first,) = torch.autograd.grad(call(x).sum(), x, create_graph=True)
    return torch.autograd.grad((first * along).sum(), x)[0]


def _batched(call, x, along):
    x = x.clone().requires_grad_()
    y = call(x)
    tops = torch.stack([torch.ones_like(y), y.detach()])
    return torch.autograd.grad(y, x, tops, is_grads_batched=True)[0]


# Functions of a call, an input (rows, features) and a direction.
TRANSFORMS = {
    "jvp": lambda call, x, along: jvp(call, (x,), (along,))[1],
    "vmap": lambda call, x, along: vmap(call)(x),
    "jacfwd": lambda call, x, along: jacfwd(call)(x[0]),
    "hessian": lambda call, x, along: hessian(lambda x: call(x).sum())(x[0]),
    "grad": lambda call, x, along: grad(lambda x: call(x).square().sum())(x),
    "vjp": lambda call, x, along: vjp(call, x)[1](call(x))[0],
    "vmap of grad": lambda call, x, along: vmap(grad(lambda x: call(x).square().sum()))(x),
    "jacrev": lambda call, x, along: jacrev(call)(x[0]),
    "jacrev of jacrev": lambda call, x, along: jacrev(jacrev(lambda x: call(x).sum()))(x[0]),
    "jacrev of jacfwd": lambda call, x, along: jacrev(jacfwd(lambda x: call(x).sum()))(x[0]),
    "jacfwd of jacfwd": lambda call, x, along: jacfwd(jacfwd(lambda x: call(x).sum()))(x[0]),
}
# Those that torch does with modules alone, not inside of a compiled function.
OUTSIDE = {"dual": _dual, "double backward": _double_backward, "batched": _batched}
# Inside of torch.compile these must work; of the others, torch refuses some. What is tried there
# has no forward mode inside of another transform: where torch 2.13 fails in the middle of that, it
# stays in inference mode.
INSIDE = ("jvp", "vmap", "jacfwd", "hessian", "grad", "jacrev")


def point(unit, dtype=torch.float64):
    generator = torch.Generator().manual_seed(3)
    features = FEATURES if isinstance(unit, RationalUnit) else 6
    return [torch.randn(4, features, generator=generator, dtype=dtype) for _ in range(2)]


def plain(transform, call, x, along):
    """Do it by the formula, differentiated by torch."""
    with kernels.using("off"):
        result = transform(call, x, along)
    assert result.any()  # or a result that is silently zero would pass
    return result


@pytest.fixture(params=[1, 2], ids=["1d", "2d"])
def unit(request):
    return scramble(make("softplus", "gelu", request.param, dtype=torch.float64))


@pytest.mark.parametrize("name", [*TRANSFORMS, *OUTSIDE])
def test_transforms_agree_with_the_formula(name, unit):
    transform = {**TRANSFORMS, **OUTSIDE}[name]
    for call in (unit, build("DeepRAN", torch.float64)):
        x, along = point(call)
        assert_same([transform(call, x, along)], [plain(transform, call, x, along)], 1e-9, 1e-10)


def test_functional_call_and_derivatives_along_parameters(unit):
    x, _ = point(unit)
    parameters = {name: 1.5 * p.detach() for name, p in unit.named_parameters()}

    def call(parameters, x):
        return functional_call(unit, parameters, (x,)).square().sum()

    each = vmap(grad(call), in_dims=(None, 0))
    found = [grad(call)(parameters, x), each(parameters, x), jacfwd(call)(parameters, x)]
    with kernels.using("off"):
        plainly = [grad(call)(parameters, x), each(parameters, x), jacfwd(call)(parameters, x)]
    for one, other in zip(found, plainly, strict=True):
        assert_same(one.values(), other.values(), 1e-9, 1e-10)
    assert_same(found[2].values(), found[0].values(), 1e-9, 1e-10)


def test_an_ensemble_by_vmap():
    """Networks of one shape side by side, as torch.func stacks them."""
    torch.manual_seed(0)
    nets = [ra.RAN(4, 2, noise=0.2) for _ in range(3)]
    parameters, buffers = torch.func.stack_module_state(nets)
    x = torch.randn(7, 4)
    found = vmap(lambda p, b: functional_call(nets[0], (p, b), (x,)))(parameters, buffers)
    assert_same([found], [torch.stack([net(x) for net in nets])])


def right_or_refused(find, expected):
    """Say whether the result is right; an error is an answer, a wrong number is not."""
    try:
        found = find()
    except RuntimeError as error:
        if "Warning" in str(error):  # which is an error in these tests alone
            raise
        return False
    assert_same([found], [expected], 1e-9, 1e-10)
    return True


@pytest.mark.parametrize("name", [name for name in TRANSFORMS if "of jacfwd" not in name])
def test_transforms_inside_of_compiled_code(name, unit):
    x, along = point(unit)
    transform = TRANSFORMS[name]
    compiled = torch.compile(
        lambda x, along: transform(unit, x, along), backend="aot_eager", fullgraph=True
    )
    expected = plain(transform, unit, x, along)
    assert right_or_refused(lambda: compiled(x, along), expected) or name not in INSIDE


# Dynamo gives the whole up, and then looks at every part of it.
@pytest.mark.filterwarnings("ignore:Dynamo does not know how to trace the builtin:UserWarning")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", [*INSIDE, *OUTSIDE])
def test_transforms_of_a_compiled_unit(name, backend):
    """Compiled before, where nothing is differentiated: what is there must not be used."""
    unit = scramble(make("softplus", "gelu", 1, dtype=torch.float64))
    x, along = point(unit)
    transform = {**TRANSFORMS, **OUTSIDE}[name]
    unit.requires_grad_(backend == "eager")  # frozen, nothing asks for the rule of the operator
    expected = plain(transform, unit, x, along)
    compiled = torch.compile(unit, backend=backend)
    for warm in (x, x[0]):
        compiled(warm)
    done = right_or_refused(lambda: transform(compiled, x, along), expected)
    assert done or name not in INSIDE


# Exporting


@pytest.mark.parametrize("strict", [False, True], ids=["non-strict", "strict"])
@every_network
def test_exported_programs(name, strict, tmp_path):
    net, x = build(name), batch(name)
    rows = torch.export.Dim("rows")
    program = torch.export.export(net, (x,), dynamic_shapes=({0: rows},), strict=strict)
    assert not [node for node in program.graph.nodes if "rational_anova" in str(node.target)]
    path = tmp_path / "net.pt2"
    torch.export.save(program, path)
    loaded = torch.export.load(path)
    for module in (program.module(), loaded.module()):
        for size in (2, 5, 13):
            more = batch(name, size)
            assert_same([module(more)], [net(more)], 1e-6, 1e-6)


def test_an_exported_program_is_differentiated_as_eager():
    net, x = build("DeepRAN"), batch("DeepRAN")
    module = torch.export.export(net, (x,)).module()
    for each, other in zip(module.parameters(), net.parameters(), strict=True):
        assert each.shape == other.shape
    assert_same(derivatives(module, module, x), derivatives(net, net, x))


@pytest.fixture
def to_onnx(tmp_path):
    """Return a function from a module and an example to a function of arrays."""
    for package in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package, reason=f"exporting to ONNX needs {package}")
    import onnxruntime

    def export(module, x):
        path = tmp_path / "model.onnx"
        torch.onnx.export(
            module,
            (x,),
            path,
            dynamo=True,
            verbose=False,
            dynamic_shapes=({0: torch.export.Dim("rows")},),
            external_data=False,
        )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
        (given,) = session.get_inputs()
        return lambda x: torch.from_numpy(session.run(None, {given.name: x.numpy()})[0])

    return export


@every_network
def test_onnx_networks(name, to_onnx):
    net = build(name)
    run = to_onnx(net, batch(name))
    for size in (1, 2, 5, 13):
        x = batch(name, size)
        assert_same([run(x)], [net(x).detach()], 1e-5, 1e-5)


class Bank(nn.Module):
    """Units of one kind, with each base; of one variable and of two."""

    def __init__(self, kind):
        super().__init__()
        # r = b + g (p/d - b): every base with one denominator, every denominator with one base.
        bases = BASES if kind == next(iter(DENOMINATORS)) else ["gelu"]
        units = [make(kind, base, variables) for base in bases for variables in (1, 2)]
        units += [make(kind, "identity", v, heads=2, gate=None) for v in (1, 2)]
        self.units = nn.ModuleList(scramble(u, seed) for seed, u in enumerate(units))

    def forward(self, x):
        return torch.cat([unit(x) for unit in self.units], -1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_onnx_units(kind, to_onnx):
    bank = Bank(kind).eval()
    run = to_onnx(bank, torch.randn(4, FEATURES))
    for rows in (1, 3, 50):
        x = 2 * torch.randn(rows, FEATURES, generator=torch.Generator().manual_seed(rows))
        found, expected = run(x), bank(x).detach()
        if kind == "polynomial":  # near a pole any rounding is enlarged, without a limit
            calm = expected.abs() < 1e3
            assert calm.double().mean() > 0.99
            found, expected = found[calm], expected[calm]
        assert_same([found], [expected], 1e-5, 1e-5)
    large = torch.tensor([[1e4, -1e4, 1e4], [-1e4, 1e4, 1e4], [1e4, 1.0, -1.0]])
    assert_same([run(large)], [bank(large).detach()], 1e-5, 1e-5)
    odd = torch.tensor([[torch.nan, 1.0, -1.0], [1.0, torch.inf, -torch.inf], [0.0, -0.0, 1e-30]])
    if kind == "squareplus":  # at infinity onnxruntime and torch differ in what is NaN
        odd = odd[[0, 2]]
    found, expected = run(odd), bank(odd).detach()
    assert expected.isnan().any()
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5, equal_nan=True)


def test_tracing_with_real_numbers():
    unit, x = ra.Rational1d(4, init="gelu"), torch.randn(3, 4)
    traced = make_fx(lambda x: unit(x))(x)
    other = torch.randn(3, 4)
    torch.testing.assert_close(traced(other), unit(other))


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("name", ["Rational1d", "Rational2d", "DeepRAN"])
def test_traced(name):
    net, x = build(name), batch(name)
    traced = torch.jit.trace(net, (x,), check_trace=False)
    assert_same([traced(batch(name, 9))], [net(batch(name, 9))])
    file = io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    assert_same([torch.jit.load(file)(batch(name, 9))], [net(batch(name, 9))])


# Copies, and what stands between a forward and a backward pass


@every_network
def test_copies_of_a_module_that_has_been_compiled(name):
    net, x = build(name), batch(name)
    net.compile(backend="aot_eager", fullgraph=True)
    expected = derivatives(net, net, x)
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    copies = [
        copy.deepcopy(net),
        pickle.loads(pickle.dumps(net)),
        torch.load(file, weights_only=False),
    ]
    for other in copies:
        assert_same(derivatives(other, other, x), expected)
    fresh = build(name)
    fresh.load_state_dict(torch.compile(net, backend="aot_eager")._orig_mod.state_dict())
    assert_same(derivatives(fresh, fresh, x), expected)


@pytest.mark.parametrize("reentrant", [False, True], ids=["non-reentrant", "reentrant"])
@every_network
def test_checkpoints(name, reentrant):
    net, x = build(name), batch(name)

    def call(x):
        return checkpoint(net, x, use_reentrant=reentrant)

    if reentrant:  # which has no torch.autograd.grad
        found = []
        for way in (call, net):
            net.zero_grad()
            given = x.clone().requires_grad_()
            way(given).square().sum().backward()
            found.append([given.grad, *(p.grad for p in net.parameters())])
        assert_same(*found)
    else:
        assert_same(derivatives(call, net, x), derivatives(net, net, x))


def test_a_checkpoint_inside_of_compiled_code():
    net, x = build("DeepRAN"), batch("DeepRAN")
    compiled = torch.compile(
        lambda x: checkpoint(net, x, use_reentrant=False), backend="aot_eager", fullgraph=True
    )
    assert_same(derivatives(compiled, net, x), derivatives(net, net, x))


@every_network
def test_no_grad_and_inference_mode(name):
    net, x = build(name), batch(name)
    expected = net(x).detach()
    for mode in (torch.no_grad, torch.inference_mode):
        for call in (net, torch.compile(net, backend="aot_eager", fullgraph=True)):
            with mode():
                y = call(x)
            assert not y.requires_grad
            assert_same([y], [expected])


def test_inference_mode_leaves_nothing_behind():
    """What a form keeps after its first call must serve training as well."""
    with torch.inference_mode():
        net = build("DeepRAN")
        x = batch("DeepRAN")
        net(x)
    trained = build("DeepRAN")
    found = derivatives(trained, trained, x.clone())
    assert all(each.isfinite().all() for each in found)


@every_network
def test_saved_tensors_may_live_elsewhere(name):
    net, x = build(name), batch(name)
    expected = derivatives(net, net, x)
    with torch.autograd.graph.save_on_cpu():
        assert_same(derivatives(net, net, x), expected)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(force=True), torch.tensor):
        assert_same(derivatives(net, net, x), expected)


def test_saved_tensors_may_come_back_with_gaps(unit):
    x = point(unit)[0]

    def pack(tensor):
        return torch.stack([tensor.detach(), torch.zeros_like(tensor)], -1)

    expected = derivatives(unit, unit, x)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda wide: wide[..., 0]):
        assert_same(derivatives(unit, unit, x), expected, 1e-12, 1e-12)


def test_a_unit_saves_its_inputs_and_nothing_else(unit):
    packed = []
    hooks = torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: packed.append(tensor) or tensor, lambda tensor: tensor
    )
    x = point(unit)[0].requires_grad_()
    with hooks:
        unit(x).sum().backward()
    given = [x, *unit.parameters(), *unit.buffers()]
    assert {each.data_ptr() for each in packed} <= {each.data_ptr() for each in given}


@every_network
def test_autocast(name):
    net, x = build(name), batch(name)
    with torch.autocast("cpu", torch.bfloat16):
        y = net(x)
        y.float().square().mean().backward()
    torch.testing.assert_close(y.float(), net(x), rtol=0.05, atol=0.05)
    for key, parameter in net.named_parameters():
        assert parameter.grad.dtype == torch.float32, key
        assert parameter.grad.isfinite().all(), key
