"""The C kernels next to torch's operations: any shape, and any place in memory."""

from dataclasses import replace

import pytest
import torch

from rational_anova.kernels import _c
from tests.conftest import needs_compiler
from tests.kernels.cases import (
    COLUMNS,
    DOUBLE,
    ROWS,
    SINGLE,
    STRIPS,
    agree,
    both_dtypes,
    draw,
    equal,
    lanes,
)

pytestmark = needs_compiler

# ---- shapes --------------------------------------------------------------------------------------


@both_dtypes
@pytest.mark.parametrize("way", [COLUMNS, ROWS, STRIPS], ids=["columns", "rows", "strips"])
def test_shapes_of_one_variable(way, dtype):
    width = lanes(dtype)
    shapes = list(way)
    for n in (width - 1, width, width + 1):
        if way is COLUMNS:
            shapes += [((3, 3 * width + n), None, -1), ((n, 3 * width), None, -1)]
            shapes += [((4 * n + 1, 4 * width), 2 * width, -1), ((n, 5, 2 * width), None, 1)]
        elif way is ROWS:
            shapes += [((n, 2), None, -1), ((4 * n, 5), None, -1), ((9, n), None, -1)]
            shapes += [((4 * n, 2, 3), None, 1)]
        else:
            shapes += [((n,), 1, -1), ((4 * n, 1), None, -1), ((3, 2, 16 * width + n), None, 1)]
            shapes += [((2, 8192 + n - width), 1, -1)]
    shapes += [((0, *shape[1:]), units, dim) for shape, units, dim in way if len(shape) > 1]
    for shape, units, dim in shapes:
        case = draw(1, (3, 2), "softplus", "silu", shape, dtype, units=units, dim=dim)
        got = agree(case)
        assert equal(case.run("c", inputs=False), [got[0], None, *got[2:]])
    for shape in ((), (1,), (5,), (0, 1), (1, 1), (5, 1), (2, 0, 3)):
        if shape:
            agree(draw(1, (2, 1), "sos", "relu", shape, dtype))


@both_dtypes
def test_shapes_of_pairs(dtype):
    width = lanes(dtype)
    rows = [0, 1, 5, 37, width - 1, width, width + 1, 4 * width - 1, 4 * width, 4 * width + 1, 700]
    for shape in [(n, 6) for n in rows] + [(6,), (2, 3, 6), (2, 0, 6)]:
        case = draw(2, (2, 2), "softplus", "gelu", shape, dtype)
        got = agree(case)
        assert equal(case.run("c", inputs=False), [got[0], None, *got[2:]])
    for count in (1, 255, 256, 257, 600):  # outputs are transposed 256 at a time
        index = torch.randint(0, 40, (2, count), generator=torch.manual_seed(count))
        agree(draw(2, (1, 1), "sos", "zero", (19, 40), dtype, pairs=index))


@pytest.mark.parametrize("axis", [1, -3])
def test_channels_of_images(axis):
    for shape in ((2, 6, 3, 5), (2, 6, 20, 21), (2, 12, 1, 1), (1, 64, 7, 7), (2, 6, 16, 16)):
        for units in (6, 2, 1) if shape[1] % 6 == 0 else (64, 8, 1):
            case = draw(1, (3, 2), "square", "relu", shape, units=units, dim=axis)
            case = replace(case, x=case.x.to(memory_format=torch.channels_last))
            agree(case)


# The library for one form alone is built for so many outputs.
LARGE = {
    "strips": (1, SINGLE, (65536, 1), None, -1),
    "columns": (1, SINGLE, (700, 101), None, -1),
    "rows": (1, SINGLE, (22000, 3), None, -1),
    "images": (1, SINGLE, (2, 8, 70, 71), None, 1),
    "pairs": (2, DOUBLE, (13200, 6), None, -1),
}


@pytest.mark.parametrize("name", LARGE)
def test_the_library_for_one_form_agrees(name, monkeypatch):
    variables, dtype, shape, units, dim = LARGE[name]
    opened = []
    inner = _c.load
    monkeypatch.setattr(_c, "load", lambda d, form=(): opened.append(form) or inner(d, form))
    case = draw(variables, (3, 2), "softplus", "gelu", shape, dtype, units=units, dim=dim)
    got = agree(case)
    assert any(opened)
    assert equal(case.run("c", inputs=False), [got[0], None, *got[2:]])
    opened.clear()
    monkeypatch.setattr(_c, "_OWN", 2**60)
    agree(case)
    assert not any(opened)


# ---- memory layout -------------------------------------------------------------------------------


def layouts(x):
    """The same numbers in other places: offset, stepped, transposed, reversed in memory."""
    spare = torch.full((x.numel() + 3,), 5.0, dtype=x.dtype)
    yield spare[3:].view(x.shape).copy_(x)
    yield torch.full((*x.shape, 2), 5.0, dtype=x.dtype)[..., 0].copy_(x)
    yield torch.full((3 * x.shape[0], *x.shape[1:]), 5.0, dtype=x.dtype)[::3].copy_(x)
    yield x.new_empty(x.shape[::-1]).permute(*range(x.dim() - 1, -1, -1)).copy_(x)


@both_dtypes
def test_layouts_in_memory_change_nothing(dtype):
    cases = [draw(1, dtype=dtype, shape=shape, units=u, dim=d) for shape, u, d in
             (COLUMNS[0], ROWS[0], STRIPS[2])]  # fmt: skip
    for case in [*cases, draw(2, dtype=dtype, heads=2)]:
        want = case.run("c")
        for name in ("x", "grad", "numerator", "denominator", "gate"):
            kept = getattr(case, name).clone()
            for other in layouts(kept):
                moved = replace(case, **{name: other})
                assert equal(moved.run("c"), want), name
                assert torch.equal(other, kept)
        if case.pairs is not None:
            turned = case.pairs.T.contiguous().T
            assert not turned.is_contiguous()
            assert equal(replace(case, pairs=turned).run("c"), want)


def test_expanded_tensors_change_nothing():
    for variables, shape in ((1, (40, 64)), (1, (40, 3)), (1, (300, 1)), (2, (40, 6))):
        case = draw(variables, shape=shape)
        for names in (("x",), ("grad",), ("x", "grad")):
            wide = {n: getattr(case, n)[:1].expand_as(getattr(case, n)) for n in names}
            full = {n: part.contiguous() for n, part in wide.items()}
            assert equal(replace(case, **wide).run("c"), replace(case, **full).run("c"))
        narrow = case.numerator[..., :1].expand_as(case.numerator)
        plain = replace(case, numerator=narrow.contiguous())
        assert equal(replace(case, numerator=narrow).run("c"), plain.run("c"))
    # One number for all gradients is what `sum().backward()` gives.
    case = draw(shape=(40, 64))
    flat = replace(case, grad=torch.ones(()).expand(40, 64))
    assert equal(flat.run("c"), replace(case, grad=torch.ones(40, 64)).run("c"))


def test_a_negated_view_is_read_with_its_sign():
    """Such views are what `imag` of a conjugated tensor is."""
    for name in ("x", "grad", "numerator", "gate"):
        case = draw(shape=(40, 64))
        view = torch._neg_view(getattr(case, name).neg())
        assert view.is_neg()
        assert equal(replace(case, **{name: view}).run("c"), case.run("c")), name
