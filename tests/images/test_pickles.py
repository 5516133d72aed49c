"""Crafted batches of CIFAR: refused, and the interpreter goes on."""

import pickle

import numpy as np
import pytest

from rational_anova.images._pickles import read_batch

DATA = np.arange(2 * 3072, dtype=np.int64).astype(np.uint8).reshape(2, 3072)


def batch(**changes):
    content = {b"data": DATA, b"labels": [3, 4]} | {k.encode(): v for k, v in changes.items()}
    return pickle.dumps(content, protocol=3)


def test_a_batch_is_read():
    data, labels = read_batch(batch(), b"labels")
    np.testing.assert_array_equal(data, DATA)
    assert labels == [3, 4]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (batch(labels=[np.array([object()]), 1]), "cannot be read"),
        (
            batch(labels=[np.zeros(2, [("a", "i4"), ("b", "O")]), 1]),
            "no list of whole numbers|cannot be read",
        ),
        (batch(labels=[1, np.arange(3)]), "no list of whole numbers"),
        (batch(labels=[1, 300]), "not between 0 and 255"),
        (batch(labels=[True, 1]), "no list of whole numbers"),
        (batch(data=DATA.astype(float)), "no array of bytes"),
        (batch(data=[1, 2]), "no array"),
        (batch(data=DATA.reshape(-1)), "of shape"),
        (b"\x80\x03r\xff\xff\xff\x7f.", "cannot be read"),
        (pickle.dumps(print), "cannot be read"),
        (b"", "cannot be read"),
    ],
)
def test_crafted_batches(content, message):
    with pytest.raises(ValueError, match=message):
        read_batch(content, b"labels")
