"""The Triton kernels next to `Form`, in Triton's interpreter or, where there is one, on a GPU.

The interpreter has to be chosen before Triton is imported, so without a GPU this file runs itself
in a process of its own. To see each test there: TRITON_INTERPRET=1 pytest tests/kernels/test_triton.py
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from rational_anova import Rational1d, kernels
from rational_anova.functional import Form
from rational_anova.functional._bases import BASES
from rational_anova.functional._denominators import DENOMINATORS
from rational_anova.functional._derivatives import by_row, gradients
from rational_anova.kernels import _triton
from rational_anova.kernels._spec import Spec
from tests.conftest import kind_and_constant

ROOT = Path(__file__).parents[2]
INSTALLED = importlib.util.find_spec("triton") is not None
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
RUNS = INSTALLED and (INTERPRETED or torch.cuda.is_available())
DEVICE = "cpu" if INTERPRETED or not torch.cuda.is_available() else "cuda"

needs_triton = pytest.mark.skipif(not INSTALLED, reason="Triton is not installed")
# Feature 0 is in four pairs, feature 5 in none, and (3, 0) has its inputs the other way round.
PAIRS = torch.tensor([[0, 0, 1, 3, 4], [1, 2, 2, 0, 0]])
TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-6, torch.bfloat16: 5e-3, torch.float16: 6e-4}


@dataclass
class Case:
    """A form with numbers for it, on which kernels and `Form` are compared."""

    form: Form
    rows: Tensor
    numerator: Tensor
    denominator: Tensor
    gate: Tensor | None
    pairs: Tensor | None
    grad: Tensor

    @property
    def spec(self) -> Spec:
        return spec_of(self.form)

    def forward(self) -> Tensor:
        return _triton.forward(
            self.spec, self.rows, self.numerator, self.denominator, self.gate, self.pairs
        )

    def backward(self, inputs: bool = True) -> tuple[Tensor | None, ...]:
        return _triton.backward(
            self.spec, self.rows, self.numerator, self.denominator, self.gate, self.pairs,
            self.grad, inputs,
        )  # fmt: skip

    def expected(self) -> tuple[list[Tensor], list[Tensor | None]]:
        """r and its gradients by `Form` in float64, and the sizes of the terms they sum up."""
        rows = self.rows.double()
        variables = [rows]
        if self.pairs is not None:
            variables = [rows[:, column].unsqueeze(-1) for column in self.pairs]
        units = [self.numerator, self.denominator, self.gate]
        coefficients = [None if part is None else part.double().unsqueeze(-1) for part in units]
        value = self.form.value(variables, *coefficients)
        grad = self.grad.double().view(value.shape)
        parts = gradients(self.form, variables, *coefficients, grad, reduce=by_row)
        d_rows = parts.variables[0]
        if self.pairs is not None:
            d_rows = torch.zeros_like(rows)
            for column, part in zip(self.pairs, parts.variables, strict=True):
                d_rows = d_rows.index_add(1, column, part.squeeze(-1))
        sums = [None if part is None else part.sum((-3, -1)) for part in parts[1:]]
        sizes = [None if part is None else part.abs().sum((-3, -1)) for part in parts[1:]]
        value = value.reshape(self.grad.shape)
        return [value, d_rows, *sums], [_largest(value), _largest(d_rows), *sizes]


def _largest(rows: Tensor) -> Tensor:
    return rows.abs().amax() if rows.numel() else rows.new_zeros(())


def spec_of(form: Form) -> Spec:
    return Spec(
        form.variables, form.numerator, form.denominator, form.kind.name, form.base.name, form.eps
    )


def make(
    variables: int = 1,
    degrees: tuple[int, int] = (3, 2),
    kind: str = "softplus",
    base: str = "gelu",
    shape: tuple[int, ...] | None = None,
    heads: int = 1,
    pairs: Tensor = PAIRS,
    dtype: torch.dtype = torch.float64,
    gated: bool = True,
) -> Case:
    """Random numbers, small enough below that `polynomial` has no pole near them."""
    random = torch.Generator().manual_seed(variables + 7 * degrees[0] + heads)
    kind, constant = kind_and_constant(kind)
    form = Form.make(variables, degrees, kind, base, None, constant)
    shape = shape or ((7, 5, 1) if variables == 1 else (7, 6))
    units = shape[1] if variables == 1 else pairs.shape[1]
    compute = torch.float64 if dtype == torch.float64 else torch.float32

    def draw(*size: int) -> Tensor:
        return torch.rand(size, generator=random, dtype=torch.float64).mul(2).sub(1)

    below = sum(map(len, form.denominator))
    return Case(
        form,
        draw(*shape).mul(1.5).to(DEVICE, dtype),
        draw(heads, len(form.numerator), units).to(DEVICE, compute),
        draw(heads, below, units).mul(0.6 / below).to(DEVICE, compute),
        draw(units).add(0.5).to(DEVICE, compute) if gated else None,
        None if variables == 1 else pairs.to(DEVICE),
        draw(*(shape if variables == 1 else (shape[0], units))).to(DEVICE, dtype),
    )


def check(case: Case) -> None:
    """Compare values and gradients with `Form`, up to rounding of the terms."""
    got = [case.forward(), *case.backward()]
    expected, sizes = case.expected()
    dtype = case.rows.dtype
    for name, ours, theirs, size in zip(
        ("r", "rows", "numerator", "denominator", "gate"), got, expected, sizes, strict=True
    ):
        if theirs is None:
            assert ours is None
            continue
        assert ours.shape == theirs.shape, name
        plain = name in ("r", "rows")
        assert ours.dtype == (dtype if plain else case.numerator.dtype), name
        tolerance = TOLERANCES[dtype if plain else case.numerator.dtype]
        assert bool(((ours - theirs).abs() <= tolerance * size + 1e-300).all()), name


class TestForms:
    __test__ = RUNS

    @pytest.mark.parametrize("variables", [1, 2])
    @pytest.mark.parametrize("kind", DENOMINATORS)
    @pytest.mark.parametrize("base", BASES)
    def test_all_kinds_and_bases(self, variables: int, kind: str, base: str) -> None:
        check(make(variables, (1, 1), kind, base, (3, 5, 1) if variables == 1 else (3, 6)))

    @pytest.mark.parametrize(
        ("variables", "degrees"), [(1, (0, 1)), (1, (3, 2)), (1, (8, 8)), (2, (0, 1)), (2, (4, 4))]
    )
    @pytest.mark.parametrize("kind", ["softplus", "softplus+1", "sos"])
    def test_degrees(self, variables: int, degrees: tuple[int, int], kind: str) -> None:
        check(make(variables, degrees, kind))

    def test_the_highest_degrees_of_pairs(self) -> None:
        check(make(2, (8, 8), "squareplus", "mean", (3, 2), pairs=torch.tensor([[0], [1]])))

    @pytest.mark.parametrize("variables", [1, 2])
    @pytest.mark.parametrize("gated", [True, False])
    def test_heads(self, variables: int, gated: bool) -> None:
        check(make(variables, (2, 2), "sos", "tanh", heads=2, gated=gated))

    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
    @pytest.mark.parametrize("variables", [1, 2])
    def test_dtypes(self, dtype: torch.dtype, variables: int) -> None:
        for kind, base in (("softplus", "gelu"), ("squareplus", "tanh")):
            check(make(variables, (3, 2), kind, base, dtype=dtype))


class TestShapes:
    __test__ = RUNS

    @pytest.mark.parametrize(
        "shape",
        # the last two have more than one tile each way
        [
            (0, 3, 1),
            (1, 1, 1),
            (5, 1, 2),
            (37, 13, 1),
            (5, 7, 3),
            (2, 3, 50),
            (140, 40, 1),
            (3, 2, 1500),
        ],
    )
    def test_one_variable(self, shape: tuple[int, ...]) -> None:
        check(make(1, (2, 1), "softplus", "silu", shape))

    @pytest.mark.parametrize("outer", [0, 1, 5, 70])
    def test_pairs(self, outer: int) -> None:
        check(make(2, (1, 1), "softplus", "silu", (outer, 6)))

    def test_more_pairs_and_features_than_a_tile(self) -> None:
        pairs = torch.combinations(torch.arange(9)).T.contiguous()
        check(make(2, (1, 1), "abs", "zero", (40, 40), pairs=pairs * 4))

    def test_no_pairs(self) -> None:
        case = make(2, (1, 1), "abs", "mean", (4, 3), pairs=PAIRS[:, :0])
        assert case.forward().shape == (4, 0)
        d_rows, *coefficients = case.backward()
        assert torch.equal(d_rows, torch.zeros_like(case.rows))
        assert all(part.shape[-1] == 0 for part in coefficients)

    def test_tensors_that_are_not_contiguous(self) -> None:
        case = make(1, (2, 1), "softplus", "silu", (4, 3, 2))
        case.grad = case.grad.mT.contiguous().mT
        case.rows = case.rows.mT.contiguous().mT
        case.numerator = case.numerator.mT.contiguous().mT
        check(case)

    @pytest.mark.parametrize("variables", [1, 2])
    def test_without_gradients_of_the_inputs(self, variables: int) -> None:
        case = make(variables, (2, 1))
        ours, *coefficients = case.backward(inputs=False)
        assert ours is None
        for part, full in zip(coefficients, case.backward()[1:], strict=True):
            assert torch.equal(part, full)

    def test_lists_of_pairs_are_kept_until_pairs_change(self) -> None:
        pairs = PAIRS.to(DEVICE).clone()
        first = _triton._lists_of(pairs, 6)
        assert _triton._lists_of(pairs, 6) is first
        pairs[0, 0] = 5
        order, starts = _triton._lists_of(pairs, 6)
        assert order[0, starts[0, 5] : starts[0, 6]].tolist() == [0]

    def test_offsets_of_64_bits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_triton, "_WIDE", 0)
        for variables in (1, 2):
            check(make(variables, (1, 1)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy, on which the interpreter runs
class TestNumbers:
    __test__ = RUNS

    @pytest.mark.parametrize("variables", [1, 2])
    @pytest.mark.parametrize("kind", ["softplus", "squareplus", "abs"])
    def test_nan_and_infinity(self, variables: int, kind: str) -> None:
        """Where torch has NaN or infinity the kernel has it, and nowhere else."""
        case = make(variables, (3, 2), kind, "relu")
        for number, place in enumerate((float("nan"), float("inf"), float("-inf"))):
            case.rows[number, 1] = place
            case.rows[number + 3, -1] = place  # in no pair: its gradient stays zero
        expected = case.expected()[0]
        torch.testing.assert_close(case.forward(), expected[0], equal_nan=True)
        ours, *coefficients = case.backward()
        assert torch.equal(ours.isfinite(), expected[1].isfinite())
        for part, theirs in zip(coefficients, expected[2:], strict=True):
            assert torch.equal(part.isfinite(), theirs.isfinite())

    def test_padding_of_a_tile_does_not_leak(self) -> None:
        """A row that is not there has x = 0, where these coefficients give 0 * infinity."""
        case = make(1, (1, 1), "abs", "zero", (3, 3, 1))
        case.rows.abs_().add_(0.5)
        case.numerator[0, 0, 1] = float("inf")
        *_, below, gate = case.backward()
        expected = case.expected()[0]
        torch.testing.assert_close(below, expected[3])
        torch.testing.assert_close(gate, expected[4])

    @pytest.mark.parametrize("kind", [name for name in DENOMINATORS if name != "polynomial"])
    def test_large_inputs_do_not_overflow(self, kind: str) -> None:
        case = make(1, (3, 2), kind, "identity", (4, 5, 1), dtype=torch.float32)
        case.rows[:] = torch.tensor([1e8, -1e8, 3e7, -1e5]).view(4, 1, 1)
        check(case)
        assert all(part.isfinite().all() for part in (case.forward(), *case.backward()))

    def test_squareplus_neither_cancels_nor_overflows(self) -> None:
        case = make(1, (1, 1), "squareplus", "zero", (4, 1, 1), dtype=torch.float32, gated=False)
        case.rows[:] = torch.tensor([-1e4, -1e25, 1e25, 3e38]).view(4, 1, 1)
        case.numerator[:] = torch.tensor([1.0, 0.0]).view(1, 2, 1)
        case.denominator[:] = 1.0
        expected = case.expected()
        torch.testing.assert_close(case.forward().double(), expected[0][0], rtol=1e-6, atol=0)
        torch.testing.assert_close(
            case.backward()[0].double(), expected[0][1], rtol=1e-5, atol=1e-37
        )

    def test_small_inputs_of_tanh_keep_their_digits(self) -> None:
        for dtype in (torch.float32, torch.float64):
            case = make(1, (1, 1), "abs", "tanh", (7, 1, 1), dtype=dtype)
            case.rows[:] = torch.tensor([0, 1e-7, -1e-3, 0.1, -0.49, 0.51, -3]).view(7, 1, 1)
            case.gate.zero_()
            expected = torch.tanh(case.rows.double())
            error = (case.forward() - expected).abs()
            assert bool((error <= 4 * torch.finfo(dtype).eps * expected.abs()).all())

    @pytest.mark.parametrize("variables", [1, 2])
    def test_the_kink_of_abs_has_slope_one(self, variables: int) -> None:
        case = make(variables, (1, 1), "abs", "zero")
        case.denominator.zero_()
        check(case)
        assert bool((case.backward()[2] != 0).all())

    def test_gates_of_zero_and_one_are_exact(self) -> None:
        case = make(1, (2, 1), "softplus", "identity")
        case.gate.zero_()
        assert torch.equal(case.forward(), case.rows)
        case.gate.fill_(1)
        assert torch.equal(case.forward(), replace(case, gate=None).forward())

    @pytest.mark.parametrize("variables", [1, 2])
    def test_the_same_bits_every_time(self, variables: int) -> None:
        shape = (140, 5, 1) if variables == 1 else (140, 6)
        case = make(variables, (1, 1), shape=shape, dtype=torch.float32)
        for one, other in zip(case.backward(), case.backward(), strict=True):
            assert torch.equal(one, other)


class TestWhatIsServed:
    @pytest.mark.parametrize("variables", [1, 2])
    @pytest.mark.parametrize("kind", DENOMINATORS)
    def test_every_form_up_to_degree_eight(self, variables: int, kind: str) -> None:
        for base in BASES:
            for degree in range(1, 9):
                form = Form.make(variables, (degree, degree), kind, base, None)
                assert _triton.serves(spec_of(form))

    def test_what_is_not(self) -> None:
        spec = spec_of(Form.make(1, (3, 2), "softplus", "gelu", None))
        assert not _triton.serves(spec_of(Form.make(1, (9, 2), "softplus", "gelu", None)))
        assert not _triton.serves(spec_of(Form.make(2, (2, 9), "softplus", "gelu", None)))
        assert not _triton.serves(spec_of(Form.make(3, (2, 2), "softplus", "gelu", None)))
        assert not _triton.serves(replace(spec, kind="cube"))
        assert not _triton.serves(replace(spec, base="sine"))

    def test_without_triton(self) -> None:
        """Both modules can be imported, and the reason is given."""
        script = (
            "import sys; sys.modules['triton'] = None\n"
            "from rational_anova.kernels import _triton, _triton_kernels\n"
            "print(_triton.reason())"
        )
        assert _python("-c", script) == "Triton is not installed\n"

    def test_triton_that_fails_is_left_for_torch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Once, with a warning that says how; then units run as if it were not there."""
        monkeypatch.setattr(kernels._pick, "_broken", [])

        class Broken:
            @staticmethod
            def forward(*arguments: Any) -> None:
                raise RuntimeError("no such card")

        with pytest.warns(RuntimeWarning, match="Triton failed .RuntimeError: no such card."):
            assert kernels.attempt(Broken, "forward") is None
        spec = Rational1d(3).form.spec
        with kernels.using("triton"):
            assert kernels.pick(spec, torch.randn(2, 3)) is None
            assert kernels.info()["cpu"] == "torch"

    @needs_triton
    def test_reasons(self) -> None:
        if RUNS:
            assert _triton.reason() is None
            assert _triton.reason(torch.device(DEVICE)) is None
        else:
            assert "no CUDA device" in str(_triton.reason())
        if DEVICE == "cuda":
            assert "not those of 'cpu'" in str(_triton.reason(torch.device("cpu")))


@needs_triton
class TestElsewhere:
    """What needs a process of its own."""

    __test__ = not INTERPRETED

    @pytest.mark.skipif(RUNS, reason="the tests above run on the GPU")
    def test_in_the_interpreter(self) -> None:
        _python("-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, TRITON_INTERPRET="1")

    def test_launches_compile_for_gpus(self, tmp_path: Path) -> None:
        """Down to machine code, for which no GPU is needed."""
        lines = _python(__file__, TRITON_INTERPRET="0", TRITON_CACHE_DIR=str(tmp_path)).split()
        one, two = ["forward_kernel", "backward_kernel"], ["pairs_kernel"]
        names = [*one, *one, *one, *two, *one, *two]
        assert lines == [f"{name}:{code}" for code in ("cubin", "hsaco") for name in names]


def _python(*arguments: str, **environment: str) -> str:
    """Run Python on the arguments and return what it prints."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class NoGpu:
    """What Triton asks of a driver before it compiles; each GPU is a device of its own."""

    def __init__(self, *target: Any) -> None:
        from triton.backends.compiler import GPUTarget

        self.target = GPUTarget(*target)

    def get_current_target(self) -> Any:
        return self.target

    def get_current_device(self) -> int:
        return int(self.target.backend == "hip")

    def get_current_stream(self, device: int) -> int:
        return 0


def _compile_only(run: Callable[..., Any]) -> Callable[..., None]:
    """Let a launch end after compiling, and print what came out of that."""

    def compiled(self: Any, *arguments: Any, **options: Any) -> None:
        result = run(self, *arguments, **{**options, "warmup": True})
        print(f"{self.fn.__name__}:{list(result.asm)[-1]}")

    return compiled


if __name__ == "__main__":
    import triton

    DEVICE = "cpu"
    triton.JITFunction.run = _compile_only(triton.JITFunction.run)
    for gpu in (("cuda", 80, 32), ("hip", "gfx942", 64)):
        triton.runtime.driver.set_active(NoGpu(*gpu))
        for chosen in (
            make(1, (3, 2), "softplus", "gelu", (64, 32, 1), dtype=torch.float32),
            make(1, (5, 4), "squareplus", "tanh", (5, 7, 3), heads=2, gated=False),
            make(2, (2, 2), "sos", "silu", heads=2, dtype=torch.bfloat16),
            make(2, (2, 1), "abs", "zero", dtype=torch.float16),
        ):
            chosen.forward()
            chosen.backward()
