"""PolyU's pairs of pictures: one shot of a scene with real noise, and the mean of many shots."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ._files import BadFile, Known, data_folders, decoded, missing, read_verified
from ._set import tensor_of

NAME = "polyu_real_noise"
_SOURCE = "https://github.com/csjunxu/PolyU-Real-World-Noisy-Images-Dataset, CroppedImages"
_PICTURE = re.compile(r"(?P<scene>.+?)_+(?P<crop>\d+)_real\.jpe?g", re.I)


@dataclass(frozen=True, eq=False)
class NoisyPairs:
    """Pairs of pictures.

    Attributes:
        noisy: (N, 3, H, W), uint8: one shot.
        clean: (N, 3, H, W), uint8: the mean of many shots.
        names: of the crops.
        scenes: of each pair: camera, aperture, shutter, ISO and what is seen.
        subjects: of each pair: what is seen. Crops of a scene overlap, and some subjects were
            taken by several cameras: split by subject, not by pair.
    """

    noisy: Tensor
    clean: Tensor
    names: tuple[str, ...]
    scenes: tuple[str, ...]
    subjects: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.noisy.shape[1:]))
        return f"NoisyPairs({len(self)} pairs of {shape}, {len(set(self.scenes))} scenes)"

    def take(self, rows: list[int]) -> NoisyPairs:
        """Return some of the pairs."""
        texts = ([column[n] for n in rows] for column in (self.names, self.scenes, self.subjects))
        names, scenes, subjects = map(tuple, texts)
        return NoisyPairs(self.noisy[rows], self.clean[rows], names, scenes, subjects)


def polyu(*, root: str | os.PathLike[str] | None = None, verify: bool = True) -> NoisyPairs:
    """Return the 100 cropped pairs of the PolyU Real-World Noisy Images, sorted by name.

    They are free for research and education only. Nothing is downloaded: where files are missing,
    the error says from where they come and where they go.

    Args:
        root: a folder that holds `polyu_real_noise/`, or is it. None: the folder that the variable
            RAN_DATA names, then `data` in the user's cache folder.
        verify: whether all pictures must be there, with the published content.
    """
    folders = data_folders(NAME, root)
    folders = [*(folder / "CroppedImages" for folder in folders), *folders]
    folder = next((f for f in folders if any(f.glob("*_real.[jJ]*"))), None)
    if folder is None:
        raise missing(NAME, folders, [[Known("CroppedImages/*.JPG (200 files)", None, _SOURCE)]])
    digests = _published() if verify else {}
    absent = sorted(name for name in digests if not (folder / name).is_file())
    if absent:
        raise BadFile(folder, f"lacks {len(absent)} pictures, the first is {absent[0]}")
    noisy = sorted(digests or (path.name for path in folder.iterdir()))
    found = [match for name in noisy if (match := _PICTURE.fullmatch(name))]
    pairs = [_pair(folder, match[0], digests) for match in found]
    scenes = tuple(match["scene"] for match in found)
    return NoisyPairs(
        tensor_of(np.stack([pair[0] for pair in pairs]), torch.uint8),
        tensor_of(np.stack([pair[1] for pair in pairs]), torch.uint8),
        tuple(match[0].rpartition("_")[0] for match in found),
        scenes,
        tuple(scene.rpartition("_")[2] for scene in scenes),
    )


def _published() -> dict[str, str]:
    """Return the checksums, by file."""
    lines = (Path(__file__).parent / "polyu.sha256").read_text().splitlines()
    return {name: digest for digest, name in (line.split("  ") for line in lines)}


def _pair(folder: Path, name: str, digests: dict[str, str]) -> tuple[np.ndarray, np.ndarray]:
    stem, _, ending = name.rpartition("_real")
    both = []
    for each in (name, f"{stem}_mean{ending}"):
        path = folder / each
        content = read_verified(path, Known(each, digests.get(each), _SOURCE))
        both.append(decoded(path, content).transpose(2, 0, 1))
    if both[0].shape != both[1].shape or (both[0].shape[1:] != (512, 512) and digests):
        raise BadFile(folder / name, f"has the shape {both[0].shape}, its mean {both[1].shape}")
    return both[0], both[1]
