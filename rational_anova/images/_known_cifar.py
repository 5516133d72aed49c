"""The published files of CIFAR: archives of pickled batches, of plain bytes, and mosaics."""

from __future__ import annotations

from typing import NamedTuple

from ._files import Known

_PAGE = "https://www.cs.toronto.edu/~kriz/"
_MOSAICS = "the set's images, 100 to a row, as lossless WebP"


class Batches(NamedTuple):
    """One published form of a CIFAR set."""

    archive: Known
    inside: str  # the archive's folder
    files: dict[str, tuple[Known, ...]]  # of each split, in that folder
    pickled: str | None  # the key of the labels in a pickled batch; None for plain bytes
    label_bytes: int = 1  # before each image of plain bytes; the last is the label


def _archive(name: str, digest: str) -> Known:
    return Known(name, digest, _PAGE + name)


def _inside(archive: str, **digests: str | None) -> tuple[Known, ...]:
    return tuple(Known(name, digest, f"within {archive}") for name, digest in digests.items())


def _plain(archive: str, *names: str) -> tuple[Known, ...]:
    return tuple(Known(name, None, f"within {archive}") for name in names)


CIFAR10 = (
    Batches(
        _archive("cifar-10-python.tar.gz", "c58f30108f718f92721af3b95e74349a"),
        "cifar-10-batches-py",
        {
            "train": _inside(
                "cifar-10-python.tar.gz",
                data_batch_1="c99cafc152244af753f735de768cd75f",
                data_batch_2="d4bba439e000b95fd0a9bffe97cbabec",
                data_batch_3="54ebc095f3ab1f0389bbae665268c751",
                data_batch_4="634d18415352ddfa80567beed471001a",
                data_batch_5="482c414d41f54cd18b22e5b47cb7c3cb",
            ),
            "test": _inside(
                "cifar-10-python.tar.gz", test_batch="40351d587109b95175f43aff81a1287e"
            ),
        },
        pickled="labels",
    ),
    Batches(
        _archive("cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"),
        "cifar-10-batches-bin",
        {
            "train": _plain(
                "cifar-10-binary.tar.gz", *(f"data_batch_{n}.bin" for n in range(1, 6))
            ),
            "test": _plain("cifar-10-binary.tar.gz", "test_batch.bin"),
        },
        pickled=None,
    ),
)
CIFAR100 = (
    Batches(
        _archive("cifar-100-python.tar.gz", "eb9058c3a382ffc7106e4002c42a8d85"),
        "cifar-100-python",
        {
            "train": _inside("cifar-100-python.tar.gz", train="16019d7e3df5f24257cddd939b257f8d"),
            "test": _inside("cifar-100-python.tar.gz", test="f0ef6b0ae62326f3e7ffdfab6717acfc"),
        },
        pickled="fine_labels",
    ),
    Batches(
        _archive("cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8"),
        "cifar-100-binary",
        {
            "train": _plain("cifar-100-binary.tar.gz", "train.bin"),
            "test": _plain("cifar-100-binary.tar.gz", "test.bin"),
        },
        pickled=None,
        label_bytes=2,  # the coarse label, then the fine one
    ),
)
MOSAIC_LABELS = Known(
    "labels.npz",
    "a1441085c89dd472b614653097c1a01c01197743912ccdc5c1e1c88d34003d65",
    "arrays train_labels and test_labels",
)
MOSAICS = {
    "train": tuple(
        Known(f"train_{first:05d}-{first + 9999:05d}.webp", digest, _MOSAICS)
        for first, digest in (
            (0, "a96e093c1910a3383bee8e5edecdedb57a6c785e6175c34d8f7ad973fc2a4fc6"),
            (10000, "b02f666bd28977dd1dde78326464acfcf165add768f2c48c727b5f7be62da718"),
            (20000, "87d2cf78736125556233d43ffcd3ddbe695aeb7b824d7ed6b66109850a5d1de8"),
            (30000, "f41df0ed31f34cd58f8b19d9da67ed5296b2f55704e1f8f30b45d15e329937d3"),
            (40000, "858cca32ece0b9e1d8464b51679d9620f190eb78e39b441cf4ab9769b74e9b88"),
        )
    ),
    "test": (
        Known(
            "test_00000-09999.webp",
            "8971ef90860676757950366c509f0cefb6616bafce6c7c03445db2dd78167ef4",
            _MOSAICS,
        ),
    ),
}
