"""The published files: names, checksums as torchvision and the authors list them, sources."""

from __future__ import annotations

from typing import NamedTuple

from ._files import Known

DIGITS = tuple("0123456789")
FASHION_CLASSES = (
    "T-shirt/top", "trouser", "pullover", "dress", "coat",
    "sandal", "shirt", "sneaker", "bag", "ankle boot",
)  # fmt: skip
LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
CIFAR10_CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
_HUNDRED = """
apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly
camel can castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup
dinosaur dolphin elephant flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower
leopard lion lizard lobster man maple_tree motorcycle mountain mouse mushroom oak_tree orange orchid
otter palm_tree pear pickup_truck pine_tree plain plate poppy porcupine possum rabbit raccoon ray
road rocket rose sea seal shark shrew skunk skyscraper snail snake spider squirrel streetcar
sunflower sweet_pepper table tank telephone television tiger tractor train trout tulip turtle
wardrobe whale willow_tree wolf woman worm
"""
CIFAR100_CLASSES = tuple(_HUNDRED.split())

_LECUN = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_ZALANDO = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
_HOUSES = "http://ufldl.stanford.edu/housenumbers/"


def _idx(
    source: str, prefix: str, images: tuple[str, str], labels: tuple[str, str]
) -> tuple[Known, Known]:
    """Return both files of a split; the checksums are of each file as published and unpacked."""
    names = (f"{prefix}-images-idx3-ubyte.gz", f"{prefix}-labels-idx1-ubyte.gz")
    first, second = (
        Known(name, packed, source + name, unpacked)
        for name, (packed, unpacked) in zip(names, (images, labels), strict=True)
    )
    return first, second


MNIST = {
    "train": _idx(
        _LECUN,
        "train",
        images=(
            "f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        labels=(
            "d53e105ee54ea40749a09fcbcd1e9432",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
    ),
    "test": _idx(
        _LECUN,
        "t10k",
        images=(
            "9fb629c4189551a2d022fa330f9573f3",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        labels=(
            "ec29112dd5afa0611ce80d1b7f02629c",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    ),
}
FASHION = {
    "train": _idx(
        _ZALANDO,
        "train",
        images=(
            "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        ),
        labels=(
            "25c81989df183df01b3e8a0aad5dffbe",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        ),
    ),
    "test": _idx(
        _ZALANDO,
        "t10k",
        images=(
            "bef4ecab320f06d8554ea6380940ec79",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        ),
        labels=(
            "bb300cfdad3c16e7a12a480ee83cd310",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
    ),
}
EMNIST_ZIP = Known(
    "gzip.zip",
    "58c8d27c78d21e728a6bc7b3cc06412e",
    "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
)
SVHN = {
    split: Known(f"{split}_32x32.mat", digest, f"{_HOUSES}{split}_32x32.mat")
    for split, digest in (
        ("train", "e26dedcc434d2e4c54c9b2d4a06d8373"),
        ("test", "eb5a983be6a315427106f1b164d9cef3"),
        ("extra", "a93ce644f1a588dc4d68dda5feec44a7"),
    )
}


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
