"""The published files: names, checksums as torchvision and the authors list them, sources."""

from __future__ import annotations

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


def _idx(source: str, images: str, labels: str, prefix: str) -> tuple[Known, Known]:
    names = (f"{prefix}-images-idx3-ubyte.gz", f"{prefix}-labels-idx1-ubyte.gz")
    digests = (images, labels)
    first, second = (Known(n, d, source + n) for n, d in zip(names, digests, strict=True))
    return first, second


MNIST = {
    "train": _idx(
        _LECUN, "f68b3c2dcbeaaa9fbdd348bbdeb94873", "d53e105ee54ea40749a09fcbcd1e9432", "train"
    ),
    "test": _idx(
        _LECUN, "9fb629c4189551a2d022fa330f9573f3", "ec29112dd5afa0611ce80d1b7f02629c", "t10k"
    ),
}
FASHION = {
    "train": _idx(
        _ZALANDO, "8d4fb7e6c68d591d4c3dfef9ec88bf0d", "25c81989df183df01b3e8a0aad5dffbe", "train"
    ),
    "test": _idx(
        _ZALANDO, "bef4ecab320f06d8554ea6380940ec79", "bb300cfdad3c16e7a12a480ee83cd310", "t10k"
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
