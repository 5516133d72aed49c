"""Pictures in pairs and folders; and files that are missing, cut short or changed."""

import gzip
import io
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader

from rational_anova import images
from rational_anova.images._published import CIFAR10
from tests.images.test_images import archive, batches, grey, idx, needs_data, pixels, write


def picture(array, kind="png"):
    file = io.BytesIO()
    Image.fromarray(array).save(file, kind)
    return file.getvalue()


def pairs(root):
    folder = root / "polyu_real_noise" / "CroppedImages"
    for crop in ("Nikon_5_100_plant_3", "Nikon_5_100_plant__12", "Sony_4_200_plant_3"):
        for kind in ("real", "mean"):
            write(folder / f"{crop}_{kind}.JPG", picture(pixels(16, 16, 3), "jpeg"))
    return folder


def test_pairs_know_their_scenes(tmp_path):
    pairs(tmp_path)
    found = images.polyu(root=tmp_path, verify=False)
    assert found.noisy.shape == found.clean.shape == (3, 3, 16, 16)
    assert found.noisy.dtype == torch.uint8
    assert found.scenes == ("Nikon_5_100_plant", "Nikon_5_100_plant", "Sony_4_200_plant")
    assert found.subjects == ("plant",) * 3
    assert found.names[0] == "Nikon_5_100_plant_3"
    some = found.take([2])
    assert some.names == ("Sony_4_200_plant_3",)
    assert torch.equal(some.clean[0], found.clean[2])


def test_pairs_that_are_not_whole(tmp_path):
    folder = pairs(tmp_path)
    with pytest.raises(images.BadFile, match="lacks 200 pictures, the first is Canon5D2"):
        images.polyu(root=tmp_path)
    file = folder / "Sony_4_200_plant_3_mean.JPG"
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(images.BadFile, match="Sony_4_200_plant_3_mean.JPG: is not whole"):
        images.polyu(root=tmp_path, verify=False)
    file.write_bytes(picture(pixels(8, 8, 3), "jpeg"))
    with pytest.raises(images.BadFile, match="Sony_4_200_plant_3_real.JPG: has the shape"):
        images.polyu(root=tmp_path, verify=False)
    file.unlink()
    with pytest.raises(images.BadFile, match="plant_3_mean.JPG: cannot be read"):
        images.polyu(root=tmp_path, verify=False)
    with pytest.raises(FileNotFoundError, match="csjunxu"):
        images.polyu(root=tmp_path / "else")


def test_class_folders_are_read_when_asked_for(tmp_path):
    first = pixels(6, 5, 3)
    write(tmp_path / "n02" / "a.png", picture(first))
    write(tmp_path / "n02" / "b.JPEG", picture(pixels(6, 5), "jpeg"))  # grey
    write(tmp_path / "n01" / "c.png", picture(pixels(6, 5, 4)))  # with transparency
    write(tmp_path / "n01" / "notes.txt", b"no picture")
    found = images.folder(tmp_path)
    assert len(found) == 3
    assert found.classes == ("n01", "n02")
    assert found.labels.tolist() == [0, 1, 1]
    image, label = found[1]
    assert label == 1
    assert np.array_equal(image.numpy(), first.transpose(2, 0, 1))
    batch, labels = next(iter(DataLoader(found, batch_size=3)))
    assert batch.shape == (3, 3, 6, 5)
    assert labels.tolist() == [0, 1, 1]
    half = images.folder(tmp_path, classes=("n02",), transform=lambda x: x.float() / 255)
    assert half.labels.tolist() == [0, 0]
    assert half[0][0].max() <= 1
    write(tmp_path / "n01" / "c.png", b"\x89PNG not really")
    with pytest.raises(images.BadFile, match="c.png: is no picture"):
        found[0]


def test_pictures_of_sixteen_bits_keep_the_upper_eight(tmp_path):
    values = np.array([[0, 255, 256, 8000], [32_768, 60_000, 65_279, 65_535]], np.uint16)
    write(tmp_path / "n01" / "a.png", picture(values))
    image, _ = images.folder(tmp_path)[0]
    assert image.dtype == torch.uint8
    assert np.array_equal(image.numpy(), np.stack([values >> 8] * 3))


def test_class_folders_whatever_the_default_device(tmp_path):
    write(tmp_path / "n01" / "a.png", picture(pixels(4, 4, 3)))
    with torch.device("meta"):
        image, label = images.folder(tmp_path)[0]
    assert image.device.type == "cpu"
    assert label == 0


def test_a_class_that_is_named_twice(tmp_path):
    write(tmp_path / "n01" / "a.png", picture(pixels(4, 4, 3)))
    with pytest.raises(ValueError, match="classes names 'n01' twice"):
        images.folder(tmp_path, classes=("n01", "n01"))


def test_folders_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="image-net.org"):
        images.folder(tmp_path / "none")
    write(tmp_path / "a.png", picture(pixels(4, 4, 3)))
    with pytest.raises(ValueError, match="one a class"):
        images.folder(tmp_path)
    (tmp_path / "n01").mkdir()
    with pytest.raises(ValueError, match="n01 holds no pictures"):
        images.folder(tmp_path)
    with pytest.raises(ValueError, match="no folder 'n07'"):
        images.folder(tmp_path, classes=("n07",))


@pytest.mark.parametrize("name", images.SETS)
def test_what_is_missing_is_said(tmp_path, monkeypatch, name):
    monkeypatch.delenv("RAN_DATA", raising=False)
    monkeypatch.setenv("RAN_CACHE", str(tmp_path))
    with pytest.raises(FileNotFoundError) as caught:
        images.load(name)
    message = str(caught.value)
    assert str(tmp_path / "data" / name) in message
    assert "http" in message
    assert "RAN_DATA is not set" in message
    assert f"folder {name}/" in message


def test_files_of_another_content(tmp_path):
    grey(tmp_path)
    with pytest.raises(images.BadFile, match="train-images.*should have f68b3c2d"):
        images.load("mnist", root=tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "starts with ''"),
        (idx(pixels(3, 28, 28))[:-9], "no whole gzip file"),
        (gzip.compress(b"\0\0\x08\x01" + b"\0" * 4), "should with '00000803'"),
        (gzip.compress(b"\0\0\x08\x03" + b"\0" * 4), "within its header"),
        (gzip.compress(b"\0\0\x08\x03" + b"\0\0\0\x01" * 3 + b"ab"), "holds 2 values"),
        (idx(pixels(4, 28, 28)), "4 images, but 5 labels"),
    ],
    # Bytes would name the tests by the time within gzip's header: other names on every worker.
    ids=["empty", "cut", "labels", "header", "few values", "few images"],
)
def test_broken_files_of_mnist(tmp_path, content, message):
    grey(tmp_path)
    write(tmp_path / "mnist" / "train-images-idx3-ubyte.gz", content)
    with pytest.raises(images.BadFile, match=message):
        images.load("mnist", root=tmp_path, verify=False)


def test_labels_that_no_class_has(tmp_path):
    grey(tmp_path, count=12)
    with pytest.raises(images.BadFile, match="labels from 0 to 11"):
        images.load("mnist", root=tmp_path, verify=False)


def test_a_set_with_too_few_images(tmp_path):
    grey(tmp_path)
    for file in (tmp_path / "mnist").iterdir():  # plain files have no published checksum
        file.with_suffix("").write_bytes(gzip.decompress(file.read_bytes()))
        file.unlink()
    with pytest.raises(images.BadFile, match="mnist.*5 images, and should have 60,000"):
        images.load("mnist", root=tmp_path)


def test_broken_archives(tmp_path):
    form = CIFAR10[0]
    files, _, _ = batches(form, "test")
    place = tmp_path / "cifar10" / form.archive.name
    whole = archive(files)
    for content, message in [
        (whole[: len(whole) // 2], "no whole archive"),
        (b"plain text", "no whole archive"),
        (archive({"other": b"x"}), "does not hold cifar-10-batches-py/test_batch"),
        (archive({"cifar-10-batches-py/test_batch": pickle.dumps({b"data": 1})}), "is no batch"),
        (archive({"cifar-10-batches-py/test_batch": pickle.dumps(Path)}), "asks for pathlib"),
    ]:
        write(place, content)
        with pytest.raises(images.BadFile, match=message):
            images.load("cifar10", "test", root=tmp_path, verify=False)
    write(place, whole)
    with pytest.raises(images.BadFile, match="cifar-10-python.tar.gz.*c58f3010"):
        images.load("cifar10", "test", root=tmp_path)


def test_other_broken_files(tmp_path):
    write(tmp_path / "svhn" / "train_32x32.mat", b"MATLAB 5.0 MAT-file, or so it says")
    with pytest.raises(images.BadFile, match="train_32x32.mat: is no MATLAB file"):
        images.load("svhn", root=tmp_path, verify=False)
    write(tmp_path / "emnist_letters" / "gzip.zip", b"PK\x03\x04")
    with pytest.raises(images.BadFile, match="gzip.zip: is no whole archive"):
        images.load("emnist_letters", root=tmp_path, verify=False)
    form = CIFAR10[1]
    write(tmp_path / "cifar10" / form.inside / "test_batch.bin", b"\0" * 4000)
    with pytest.raises(images.BadFile, match="test_batch.bin: has 4,000 bytes, no multiple"):
        images.load("cifar10", "test", root=tmp_path, verify=False)


def zipped(files):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in files.items():
            target.writestr(name, content)
    return file.getvalue()


@pytest.mark.parametrize(
    ("start", "place", "value"),
    [
        (b"PK\x01\x02", 6, 200),  # in the archive's list of files: a version yet to come
        (b"PK\x01\x02", 8, 1),  # encrypted
        (b"PK\x01\x02", 10, 99),  # a method of compression that is none
        (None, 0, 0xFF),  # in a file's content
    ],
)
def test_zip_files_that_are_damaged(tmp_path, start, place, value):
    labels = io.BytesIO()
    np.save(labels, np.zeros(1, np.int64))
    letters = {
        "gzip/emnist-letters-test-images-idx3-ubyte.gz": idx(pixels(1, 28, 28)),
        "gzip/emnist-letters-test-labels-idx1-ubyte.gz": idx(np.ones(1, np.uint8)),
    }
    write(tmp_path / "test_00000-09999.webp", picture(pixels(32, 32, 3), "webp"))
    for name, file, files in [
        ("emnist_letters", "gzip.zip", letters),
        ("cifar10", "labels.npz", {"test_labels.npy": labels.getvalue()}),
    ]:
        content = bytearray(zipped(files))
        write(tmp_path / file, content)
        assert len(images.load(name, "test", root=tmp_path, verify=False)) == 1
        first = 30 + len(next(iter(files)))  # after the header and the name
        content[(content.index(start) if start else first) + place] = value
        write(tmp_path / file, content)
        with pytest.raises(images.BadFile, match=file):
            images.load(name, "test", root=tmp_path, verify=False)


def test_mosaics_of_other_sizes(tmp_path):
    write(tmp_path / "test_00000-09999.webp", picture(pixels(40, 32, 3), "webp"))
    np.savez(tmp_path / "labels.npz", test_labels=np.zeros(1))
    with pytest.raises(images.BadFile, match="not of tiles"):
        images.load("cifar10", "test", root=tmp_path, verify=False)
    write(tmp_path / "test_00000-09999.webp", picture(pixels(32, 32, 3), "webp"))
    np.savez(tmp_path / "labels.npz", other=np.zeros(1))
    with pytest.raises(images.BadFile, match="labels.npz: has no array test_labels"):
        images.load("cifar10", "test", root=tmp_path, verify=False)


@needs_data
@pytest.mark.slow
def test_the_published_pairs():
    if not (Path(os.environ["RAN_DATA"]) / "polyu_real_noise").is_dir():
        pytest.skip("no polyu_real_noise under RAN_DATA")
    found = images.polyu()
    assert found.noisy.shape == (100, 3, 512, 512)
    assert len(set(found.scenes)) == 29
    both = zip(found.noisy, found.clean, strict=True)
    error = torch.stack([(noisy.float() - clean.float()).square().mean() for noisy, clean in both])
    assert abs(float((10 * torch.log10(255**2 / error)).mean()) - 35.969) < 1e-3
