"""Values to JSON and back: the same value, of the same type."""

import json
import math

import numpy as np
import pytest
import torch

from rational_anova import Topology
from rational_anova._core import saveable  # noqa: F401  (tensors are values of files)
from rational_anova._core.codec import Reader, Writer, from_plain, to_plain

VALUES = [
    None,
    True,
    3,
    -0.0,
    0.1,
    1e-320,
    "text",
    "nan",
    "-inf",
    [],
    (),
    (1, [2.5, ("a", None)]),
    {"a": 1, "b": {"c": (1,)}},
    {1: "a", (2, 3): "b", "inf": math.inf},
    {"!": "Topology", "is": 3},
    {1, 2},
    b"\x00\xff",
    Topology(3, [(2, 0)], mains=[0]),
]


def through_json(value):
    writer = Writer()
    text = json.dumps(writer.write(value, "it"), allow_nan=False)
    return Reader(writer.arrays).read(json.loads(text))


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back(value):
    again = through_json(value)
    assert again == value
    assert repr(again) == repr(value)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_has_not_are_texts(number):
    assert to_plain({"a": number}, "it") == {"a": repr(number)}
    for again in (through_json([number]), from_plain(to_plain([np.float32(number)], "it"))):
        assert repr(again) == repr([number])


def test_a_text_like_such_a_number_stays_a_text():
    names = ["inf", "nan", "-inf", "Infinity"]
    assert from_plain(to_plain(names, "it")) == names == through_json(names)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.array([math.nan, math.inf]),
        np.array(["a", "bc"]),
        np.array(3, np.int8),
        np.array([("a", 1), None, "nan"], dtype=object),
        np.zeros((0, 2), bool),
    ],
    ids=lambda array: str(array.dtype),
)
def test_arrays_come_back(array):
    again = through_json({"x": array})["x"]
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(again, array)


def test_an_array_is_written_once():
    writer, array = Writer(), np.arange(3)
    writer.write([array, {"again": array}], "it")
    assert len(writer.arrays) == 1


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.bool, torch.complex64])
def test_tensors_come_back(dtype):
    for tensor in (torch.tensor([0, 1, 2]).to(dtype), torch.tensor(1).to(dtype), torch.empty(0)):
        again = through_json(tensor)
        assert (again.dtype, again.shape) == (tensor.dtype, tensor.shape)
        assert torch.equal(again, tensor)


def test_other_classes_are_refused():
    with pytest.raises(TypeError, match="the model holds a builtin_function_or_method, .*len"):
        Writer().write({"a": [len]}, "the model")
    with pytest.raises(ValueError, match=r"it holds a os\.system, which this version does not"):
        from_plain({"!": "os.system", "is": "ls"})


def test_plain_json_has_lists_for_tuples_and_arrays():
    value = {"box": ((0, 1),), "covariance": np.eye(1)}
    assert to_plain(value, "it") == {"box": [[0, 1]], "covariance": [[1.0]]}
