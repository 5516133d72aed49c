"""Sets of images: canonical files made small, and the real ones where RAN_DATA has them."""

import gzip
import hashlib
import io
import os
import pickle
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.io import savemat

from rational_anova import images
from rational_anova.images import _readers as readers
from rational_anova.images._files import Known
from rational_anova.images._published import CIFAR10, CIFAR100

RANDOM = np.random.default_rng(0)
needs_data = pytest.mark.skipif(not os.environ.get("RAN_DATA"), reason="RAN_DATA is not set")


def pixels(*shape):
    return RANDOM.integers(0, 256, shape, dtype=np.uint8)


def idx(array):
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return gzip.compress(header + array.tobytes())


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def grey(root, name="mnist", prefix="train", count=5):
    pictures, labels = pixels(count, 28, 28), np.arange(count, dtype=np.uint8)
    write(root / name / f"{prefix}-images-idx3-ubyte.gz", idx(pictures))
    write(root / name / f"{prefix}-labels-idx1-ubyte.gz", idx(labels))
    return pictures, labels


def archive(files):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return file.getvalue()


def batches(form, split, count=3):
    """Return the files of a CIFAR archive, and what is to be read from them."""
    files, every, labels = {}, [], []
    for known in form.files[split]:
        data, names = pixels(count, 3072), RANDOM.integers(0, 10, count)
        if form.pickled:
            batch = {b"data": data, form.pickled.encode(): names.tolist()}
            content = pickle.dumps(batch, protocol=3)
        else:
            first = np.zeros((count, form.label_bytes - 1), np.uint8)
            content = np.hstack([first, names[:, None].astype(np.uint8), data]).tobytes()
        files[f"{form.inside}/{known.name}"] = content
        every.append(data.reshape(-1, 3, 32, 32))
        labels.append(names)
    return files, np.concatenate(every), np.concatenate(labels)


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
@pytest.mark.parametrize(("split", "prefix"), [("train", "train"), ("test", "t10k")])
def test_files_of_mnist_and_fashion_mnist(tmp_path, name, split, prefix):
    pictures, labels = grey(tmp_path, name, prefix)
    found = images.load(name, split, root=tmp_path, verify=False)
    assert found.images.dtype == torch.uint8
    assert found.labels.dtype == torch.int64
    assert np.array_equal(found.images.numpy(), pictures[:, None])
    assert np.array_equal(found.labels.numpy(), labels)
    assert len(found.classes) == 10
    some = found.take(torch.tensor([1, 3]))
    assert len(some) == 2
    assert torch.equal(some.images[1], found.images[3])


def test_files_that_were_unpacked(tmp_path):
    pictures, _ = grey(tmp_path)
    for path in (tmp_path / "mnist").iterdir():
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    found = images.load("mnist", root=tmp_path / "mnist", verify=False)
    assert np.array_equal(found.images.numpy()[:, 0], pictures)


def unpacked(folder, root):
    """Write the files of a folder without gzip; return the paths."""
    packed = sorted(folder.glob("*.gz"))
    return [write(root / path.stem, gzip.decompress(path.read_bytes())) for path in packed]


def test_unpacked_files_are_compared_too(tmp_path):
    grey(tmp_path)
    paths = unpacked(tmp_path / "mnist", tmp_path / "plain")
    known = tuple(
        Known(f"{path.name}.gz", None, "", hashlib.sha256(path.read_bytes()).hexdigest())
        for path in paths
    )
    read = readers.grey({"train": known}, "mnist", {"train": 5})
    folders = [tmp_path / "plain"]
    assert len(read("train", folders, True)[1]) == 5
    for path in paths:
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(images.BadFile, match=f"{path.name}: has .* the sha256 .* should have"):
            read("train", folders, True)
        assert len(read("train", folders, False)[1]) == 5
        path.write_bytes(gzip.compress(whole))  # packed anew under the plain name
        read("train", folders, True)


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_the_published_files_unpacked(tmp_path, name):
    folder = Path(os.environ["RAN_DATA"]) / name
    if not folder.is_dir():
        pytest.skip(f"no {name} under RAN_DATA")
    unpacked(folder, tmp_path)
    assert len(images.load(name, "train", root=tmp_path)) == 60_000
    found, packed = images.load(name, "test", root=tmp_path), images.load(name, "test")
    assert torch.equal(found.images, packed.images)
    with (tmp_path / "t10k-images-idx3-ubyte").open("r+b") as file:
        file.seek(100_000)
        file.write(bytes([file.read(1)[0] ^ 255]))
    with pytest.raises(images.BadFile, match="t10k-images-idx3-ubyte: has 7,840,016 bytes"):
        images.load(name, "test", root=tmp_path)


@pytest.mark.parametrize("packed", [True, False])
def test_letters_stand_upright(tmp_path, packed):
    pictures, labels = pixels(4, 28, 28), np.array([1, 26, 2, 1], np.uint8)
    files = {
        "gzip/emnist-letters-test-images-idx3-ubyte.gz": idx(pictures),
        "gzip/emnist-letters-test-labels-idx1-ubyte.gz": idx(labels),
    }
    folder = tmp_path / "emnist_letters"
    if packed:
        folder.mkdir()
        with zipfile.ZipFile(folder / "gzip.zip", "w") as file:
            for name, content in files.items():
                file.writestr(name, content)
    else:
        for name, content in files.items():
            write(folder / name, content)
    found = images.load("emnist_letters", "test", root=tmp_path, verify=False)
    assert np.array_equal(found.images.numpy()[:, 0], pictures.transpose(0, 2, 1))
    assert [found.classes[n] for n in found.labels] == ["a", "z", "b", "a"]


def test_house_numbers(tmp_path):
    pictures, labels = pixels(32, 32, 3, 4), np.array([[1], [10], [9], [10]])
    file = io.BytesIO()
    savemat(file, {"X": pictures, "y": labels})
    write(tmp_path / "svhn" / "extra_32x32.mat", file.getvalue())
    found = images.load("svhn", "extra", root=tmp_path, verify=False)
    assert np.array_equal(found.images.numpy(), pictures.transpose(3, 2, 0, 1))
    assert found.labels.tolist() == [1, 0, 9, 0]


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    ("name", "form"),
    [("cifar10", f) for f in CIFAR10] + [("cifar100", f) for f in CIFAR100],
    ids=lambda x: getattr(x, "inside", x),
)
def test_cifar_in_its_archives_and_folders(tmp_path, name, form, packed):
    for split in ("train", "test"):
        files, pictures, labels = batches(form, split)
        if packed:
            write(tmp_path / name / form.archive.name, archive(files))
        else:
            for inside, content in files.items():
                write(tmp_path / name / inside, content)
        found = images.load(name, split, root=tmp_path, verify=False)
        assert np.array_equal(found.images.numpy(), pictures)
        assert np.array_equal(found.labels.numpy(), labels)


def test_cifar_in_mosaics(tmp_path):
    pictures, labels = pixels(6, 32, 32, 3), np.array([3, 1, 4, 1, 5, 9])
    mosaic = pictures.reshape(2, 3, 32, 32, 3).transpose(0, 2, 1, 3, 4).reshape(64, 96, 3)
    (tmp_path / "cifar10").mkdir()
    Image.fromarray(mosaic).save(tmp_path / "cifar10" / "test_00000-09999.webp", lossless=True)
    np.savez(tmp_path / "cifar10" / "labels.npz", test_labels=labels)
    found = images.load("cifar10", "test", root=tmp_path, verify=False)
    assert np.array_equal(found.images.numpy(), pictures.transpose(0, 3, 1, 2))
    assert np.array_equal(found.labels.numpy(), labels)


def test_the_variable_comes_before_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RAN_DATA", raising=False)
    grey(tmp_path / "cache" / "data", count=3)
    assert len(images.load("mnist", verify=False)) == 3
    monkeypatch.setenv("RAN_DATA", str(tmp_path / "own"))
    assert len(images.load("mnist", verify=False)) == 3
    grey(tmp_path / "own", count=4)
    assert len(images.load("mnist", verify=False)) == 4


def test_rows_are_set_aside_by_class():
    labels = torch.randint(0, 5, (500,), generator=torch.Generator().manual_seed(0))
    stay, aside = images.holdout(labels, 0.2, seed=3)
    assert sorted([*stay.tolist(), *aside.tolist()]) == list(range(500))
    for label in range(5):
        count = int((labels == label).sum())
        assert int((labels[aside] == label).sum()) == round(0.2 * count)
    torch.manual_seed(99)
    assert torch.equal(images.holdout(labels, 0.2, seed=3)[1], aside)
    assert not torch.equal(images.holdout(labels, 0.2, seed=4)[1], aside)
    assert len(images.holdout(10, 0.3)[1]) == 3


def test_rows_are_set_aside_whatever_the_default_device():
    labels = torch.tensor([0] * 8 + [1] * 4)
    for rows in (labels, 10):
        here = images.holdout(rows, 0.25)
        with torch.device("meta"):  # a tensor made there without a device has no values
            there = images.holdout(rows, 0.25)
        assert all(torch.equal(a, b) for a, b in zip(here, there, strict=True))


@pytest.mark.parametrize("share", [0, 1, -0.5, float("nan")])
def test_a_share_must_be_one(share):
    with pytest.raises(ValueError, match="share must"):
        images.holdout(10, share)


def test_labels_must_be_integers():
    with pytest.raises(ValueError, match="labels must be integers"):
        images.holdout(torch.rand(5), 0.5)


def test_names_that_are_not_known():
    with pytest.raises(ValueError, match="did you mean 'fashion_mnist'"):
        images.load("fashion-mnist")
    with pytest.raises(ValueError, match="split must be one of 'train', 'test'"):
        images.load("mnist", "valid")


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "mean"), [("mnist", [0.1307]), ("fashion_mnist", [0.2860]), ("cifar10", None)]
)
def test_the_published_sets(name, mean):
    if not (Path(os.environ["RAN_DATA"]) / name).is_dir():
        pytest.skip(f"no {name} under RAN_DATA")
    split = "test" if name == "cifar10" else "train"  # the training mosaics take seconds to unpack
    found = images.load(name, split)
    assert len(found) == 10_000 if name == "cifar10" else 60_000
    assert found.labels.bincount().tolist() == [1000] * 10 or name != "cifar10"
    if mean:
        values = found.images.double().mean((0, 2, 3)) / 255
        assert np.allclose(values, mean, atol=1e-4)
