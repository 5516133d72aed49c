"""The contract that every unit x denominator x base must pass; a new one enters by passing it."""

import copy
import functools
import io
import pickle

import pytest
import sympy
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rational_anova import kernels, load, save
from rational_anova.functional import BASES, DENOMINATORS
from tests.conftest import ADDITIVE, CASES, FEATURES, KINDS, PAIRS, make, scramble
from tests.oracle import unit as oracle

every_case = pytest.mark.parametrize(("kind", "base", "variables"), CASES)
every_part = pytest.mark.parametrize(("kind", "base", "variables"), ADDITIVE)
KINKED = {"abs", "relu"}
SMOOTH = {"gelu", "gelu_tanh", "quick_gelu", "silu", "tanh"}  # with an exponential


def inputs_of(x, variables):
    """The inputs of each unit: (rows, units, variables)."""
    if variables == 1:
        return x.unsqueeze(-1)
    return torch.stack([x[:, [i, j]] for i, j in PAIRS], 1)


def check_against_oracle(unit, x, tolerance):
    y = unit(x)
    heads = [unit._heads(rows).double() for rows in (unit.numerator, unit.denominator)]
    points = inputs_of(x.double(), unit.form.variables)
    for row in range(x.shape[0]):
        for n in range(unit.units):
            top, bottom = (rows[..., n].tolist() for rows in heads)
            gate = None if unit.gate is None else unit.gate[n].double().item()
            value, size = oracle(
                points[row, n].tolist(), top, bottom, gate, unit.degrees,
                unit.kind, unit.base, unit.eps, unit.form.constant,
            )  # fmt: skip
            assert abs(y[row, n].item() - value) <= tolerance * size


@every_part
@pytest.mark.parametrize(
    "options", [{}, {"heads": 2}, {"gate": None}], ids=["", "heads", "ungated"]
)
def test_float64_agrees_with_mpmath_to_1e14(kind, base, variables, options):
    unit = scramble(make(kind, base, variables, dtype=torch.float64, **options))
    x = 2 * torch.randn(8, FEATURES, dtype=torch.float64, generator=torch.manual_seed(1))
    check_against_oracle(unit, x, 1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("degrees", [(0, 1), (1, 1), (2, 3), (5, 4), (8, 5)])
def test_any_degree_agrees_with_mpmath(kind, degrees):
    unit = scramble(make(kind, "identity", 1, degrees, dtype=torch.float64), scale=0.3)
    x = torch.randn(6, FEATURES, dtype=torch.float64, generator=torch.manual_seed(2))
    check_against_oracle(unit, x, 1e-14)
    if degrees[1] <= 3:
        pair = scramble(make(kind, "mean", 2, degrees, dtype=torch.float64), scale=0.3)
        check_against_oracle(pair, x, 1e-14)


@every_part
@settings(max_examples=20)
@given(
    st.lists(st.floats(-50, 50, allow_subnormal=False), min_size=FEATURES, max_size=FEATURES),
    st.integers(0, 10_000),
)
def test_property_float64_agrees_with_mpmath_anywhere(kind, base, variables, row, seed):
    unit = scramble(make(kind, base, variables, dtype=torch.float64), seed)
    x = torch.tensor([row], dtype=torch.float64)
    if kind == "polynomial":  # next to a pole no precision is left to compare
        assume((unit.denominator_min(x).abs() > 1e-3).all())
    check_against_oracle(unit, x, 1e-14)


@every_part
def test_gradients_by_finite_differences(kind, base, variables):
    for options in ({"heads": 2}, {"gate": None}):
        check_gradients(kind, base, variables, options)


def check_gradients(kind, base, variables, options):
    unit = scramble(make(kind, base, variables, dtype=torch.float64, **options))
    x = torch.randn(4, FEATURES, dtype=torch.float64, generator=torch.manual_seed(3))
    names = [name for name, _ in unit.named_parameters()]
    arguments = (x.requires_grad_(), *(p.detach().requires_grad_() for p in unit.parameters()))

    def call(x, *parameters):
        return torch.func.functional_call(unit, dict(zip(names, parameters, strict=True)), x)

    torch.autograd.gradcheck(call, arguments, check_forward_ad=True, check_batched_grad=True)
    if not KINKED & {unit.kind, base}:
        torch.autograd.gradgradcheck(call, arguments)


@every_part
def test_second_derivatives_in_every_mode(kind, base, variables):
    unit = scramble(make(kind, base, variables, dtype=torch.float64))
    x = torch.tensor([0.3, -0.7, 1.1], dtype=torch.float64)

    def call(x):
        return unit(x).sum()

    modes = (torch.func.jacfwd, torch.func.jacrev)
    results = [outer(inner(call))(x) for outer in modes for inner in modes]
    for other in results[1:]:
        torch.testing.assert_close(other, results[0], rtol=1e-10, atol=1e-10)
    assert results[0].any()


@every_part
def test_compiled_gradients_are_those_of_eager(kind, base, variables):
    """At the start too, where a kink must have the same slope on every path."""
    torch._dynamo.reset()  # each case is a model of its own
    for unit in (make(kind, base, variables), scramble(make(kind, base, variables))):
        compiled = torch.compile(unit, backend="aot_eager", fullgraph=True)
        x = torch.randn(8, FEATURES, generator=torch.manual_seed(7))
        weight = torch.randn(8, unit.units, generator=torch.manual_seed(8))
        grads = []
        for module in (unit, compiled):
            unit.zero_grad()
            (module(x) * weight).sum().backward()
            grads.append([p.grad.clone() for p in unit.parameters()])
        for eager, other in zip(*grads, strict=True):
            torch.testing.assert_close(other, eager, rtol=1e-4, atol=1e-5)


@every_case
def test_blocks_of_rows_change_nothing(kind, base, variables, monkeypatch):
    unit = scramble(make(kind, base, variables, dtype=torch.float64))
    x = torch.randn(5, 7, FEATURES, dtype=torch.float64)
    results = []
    for block in (2**17, 8):
        monkeypatch.setattr("rational_anova.functional._paths._BLOCK", block)
        leaf = x.clone().requires_grad_()
        unit.zero_grad()
        y = unit(leaf)
        (y * y).sum().backward()
        results.append([y.detach(), leaf.grad, *(p.grad.clone() for p in unit.parameters())])
    for whole, blocks in zip(*results, strict=True):
        torch.testing.assert_close(blocks, whole, rtol=1e-12, atol=1e-12)


@every_case
def test_saves_only_its_input(kind, base, variables):
    unit = scramble(make(kind, base, variables))
    x = torch.randn(64, FEATURES, requires_grad=True)
    own = {x.data_ptr(), *(p.data_ptr() for p in unit.parameters())}
    if variables == 2:
        own.add(unit.pairs.data_ptr())
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t.data_ptr()) or t, id):
        unit(x)
    assert set(saved) <= own
    assert x.data_ptr() in saved


@every_case
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(kind, base, variables, dtype):
    unit = scramble(make(kind, base, variables, dtype=dtype))  # `to` would leave it in float32
    x = torch.randn(32, FEATURES).to(dtype).requires_grad_()
    y = unit(x)
    y.sum().backward()
    assert y.dtype == x.grad.dtype == unit.numerator.grad.dtype == dtype
    exact = copy.deepcopy(unit).float()
    assert torch.equal(y, exact(x.float()).to(dtype))


@every_case
def test_half_input_with_float32_coefficients_keeps_its_dtype(kind, base, variables):
    unit = scramble(make(kind, base, variables))
    x = torch.randn(8, FEATURES, dtype=torch.bfloat16)
    assert unit(x).dtype == torch.bfloat16
    assert torch.equal(unit(x), unit(x.float()).bfloat16())


@every_case
def test_any_rank_stride_and_size(kind, base, variables):
    unit = scramble(make(kind, base, variables))
    flat = torch.randn(24, FEATURES)
    expected = unit(flat)
    outputs = expected.shape[-1]
    # Not to the bit: torch's vector and scalar exponentials differ in the last place.
    same = functools.partial(torch.testing.assert_close, rtol=1e-6, atol=1e-6)
    same(unit(flat[0]), expected[0])
    same(unit(flat.reshape(2, 3, 4, FEATURES)), expected.reshape(2, 3, 4, outputs))
    strided = torch.randn(FEATURES, 24).t().copy_(flat)
    assert not strided.is_contiguous()
    same(unit(strided), expected)
    same(unit(flat[::2]), expected[::2])
    same(unit(flat[:1].expand(5, FEATURES)), expected[:1].expand(5, outputs))


@every_case
def test_empty_batch(kind, base, variables):
    unit = scramble(make(kind, base, variables))
    for shape in ((0, FEATURES), (2, 0, FEATURES)):
        x = torch.empty(shape, requires_grad=True)
        y = unit(x)
        y.sum().backward()
        assert y.shape == (*shape[:-1], unit.units)
        assert x.grad.shape == shape
        assert all(p.grad is not None and not p.grad.any() for p in unit.parameters())


@every_case
def test_finite_in_float32_to_1e8(kind, base, variables):
    for seed in range(5):
        unit = scramble(make(kind, base, variables), seed, scale=1.0)
        exact = copy.deepcopy(unit).double()
        size = torch.logspace(-8, 8, 33).repeat_interleave(2)
        x = (size * torch.tensor([1.0, -1.0]).repeat(33))[:, None].repeat(1, FEATURES)
        x = x * torch.tensor([1.0, 0.5, -0.25])
        if kind == "polynomial":
            # Only where the denominator is positive: next to a pole nothing is representable.
            x = x[[bool((exact.denominator_min(row[None].double()) > 0.1).all()) for row in x]]
        results = []
        for module, data in ((unit, x), (exact, x.double())):
            leaf = data.clone().requires_grad_()
            y = module(leaf)
            y.sum().backward()
            results.append([y.detach(), leaf.grad, *(p.grad for p in module.parameters())])
        for single, double in zip(*results, strict=True):
            representable = double.abs() < 3e38
            assert single[representable].isfinite().all()
        # And right, up to what cancellation leaves: outputs are sums of terms of that size.
        single, double = results[0][0], results[1][0]
        size = double.abs() + x.double().abs().amax(-1, keepdim=True)
        assert ((single.double() - double).abs() <= 1e-3 * size).all()


@every_case
def test_nan_and_infinity_stay_in_their_rows(kind, base, variables):
    unit = scramble(make(kind, base, variables))
    x = torch.zeros(3, FEATURES)
    x[0], x[1] = torch.nan, torch.inf
    y = unit(x)
    assert y[0].isnan().all()
    assert not y[1].isfinite().any()
    assert y[2].isfinite().all()


@every_case
def test_denominator_keeps_its_bound(kind, base, variables):
    unit = scramble(make(kind, base, variables), scale=3.0)
    x = torch.cat([10.0**k * torch.randn(200, FEATURES) for k in range(-3, 8)])
    if kind != "polynomial":
        assert (unit.denominator_min(x) >= DENOMINATORS[unit.kind].minimum).all()


@every_part
def test_formula_agrees_with_output_to_1e12(kind, base, variables):
    unit = scramble(make(kind, base, variables, dtype=torch.float64, heads=2))
    names = sympy.symbols("a b c")
    x = torch.randn(6, FEATURES, dtype=torch.float64, generator=torch.manual_seed(4))
    for n, formula in enumerate(unit.to_sympy(names)):
        value = sympy.lambdify(names, formula, "mpmath")
        for row, y in zip(x.tolist(), unit(x)[:, n].tolist(), strict=True):
            assert abs(value(*row) - y) <= 1e-12 * max(1, abs(y))


@every_case
def test_round_trips(kind, base, variables, tmp_path):
    unit = scramble(make(kind, base, variables, heads=2, dtype=torch.float64))
    x = torch.randn(5, FEATURES, dtype=torch.float64)
    expected = unit(x)
    save(unit, tmp_path / "unit.safetensors")
    buffer = io.BytesIO()
    torch.save(unit.state_dict(), buffer)
    buffer.seek(0)
    fresh = make(kind, base, variables, heads=2, dtype=torch.float64)
    fresh.load_state_dict(torch.load(buffer))
    copies = [
        load(tmp_path / "unit.safetensors"),
        pickle.loads(pickle.dumps(unit)),
        copy.deepcopy(unit),
        fresh,
    ]
    for other in copies:
        assert torch.equal(other(x), expected)
        assert repr(other) == repr(unit)


@every_case
def test_vmap_agrees_with_eager(kind, base, variables):
    unit = scramble(make(kind, base, variables, dtype=torch.float64))
    x = torch.randn(4, 5, FEATURES, dtype=torch.float64)
    assert torch.allclose(torch.vmap(unit)(x), unit(x), rtol=1e-13, atol=1e-13)
    per_sample = torch.vmap(torch.func.grad(lambda row: unit(row).sum()))(x.reshape(-1, FEATURES))
    whole = torch.func.grad(lambda rows: unit(rows).sum())(x.reshape(-1, FEATURES))
    assert torch.allclose(per_sample, whole, rtol=1e-12, atol=1e-12)


@every_case
def test_starts_at_its_base_and_learns(kind, base, variables):
    unit = make(kind, base, variables, dtype=torch.float64)
    x = 4 * torch.randn(64, FEATURES, dtype=torch.float64, generator=torch.manual_seed(5))
    mean = inputs_of(x, variables).mean(-1)
    # In one variable exactly; in two the sum p = d (u + v)/2 itself is rounded. Kernels have
    # exponentials of their own, which may differ from torch's in the last place.
    last = x.abs().amax() * torch.finfo(x.dtype).eps
    for path in ("torch", "auto"):
        with kernels.using(path):
            error = (unit(x) - BASES[base].value(mean)).abs()
        exact = variables == 1 and (path == "torch" or base not in SMOOTH)
        assert error.max() <= (0 if exact else last)
    assert unit.init_error.rmse == unit.init_error.maximum == unit.init_error.tail == 0
    target = torch.randn(unit(x).shape, dtype=x.dtype, generator=torch.manual_seed(6))
    (unit(x) * target).sum().backward()
    assert any(p.grad.any() for p in unit.parameters())
    # And after one step nothing is dead: each coefficient has a gradient.
    optimizer = torch.optim.SGD(unit.parameters(), 1e-3)
    optimizer.step()
    optimizer.zero_grad()
    (unit(x) * target).sum().backward()
    for name, parameter in unit.named_parameters():
        assert parameter.grad.ne(0).all(), name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("base", BASES)
def test_identity_start(kind, base):
    unit = make(kind, base, 1, init="identity", dtype=torch.float64)
    x = 4 * torch.randn(256, FEATURES, dtype=torch.float64)
    assert ((unit(x) - x).abs() <= 4 * torch.finfo(x.dtype).eps * x.abs()).all()
    if base in ("identity", "mean"):
        assert torch.equal(unit(x), x)
    (unit(x) * torch.randn(x.shape, dtype=x.dtype)).sum().backward()
    assert unit.numerator.grad.ne(0).all()
    assert unit.denominator.grad.ne(0).all()
