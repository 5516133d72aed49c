"""How far shot and mean of a pair are shifted against each other, which no denoiser can repair.

The shift is the least-squares one: noisy - clean against the clean picture's slopes, in two rounds.
Needs RAN_DATA (--smoke does not).

python -m experiments.denoising.shifts
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor

from experiments import results
from experiments.denoising.pictures import made_up, real, scaled
from experiments.denoising.quality import psnr

_BORDER = 8  # pixels; a shift by Fourier's series wraps around
_ROUNDS = 2


def moved(picture: Tensor, shift: Tensor) -> Tensor:
    """Return a picture (3, H, W) moved down and right by parts of a pixel."""
    down, right = (torch.fft.fftfreq(size, dtype=torch.float64) for size in picture.shape[-2:])
    turn = torch.exp(-2j * torch.pi * (down[:, None] * shift[0] + right * shift[1]))
    return torch.fft.ifft2(torch.fft.fft2(picture) * turn).real


def inner(picture: Tensor) -> Tensor:
    """Return a picture without its border."""
    return picture[..., _BORDER:-_BORDER, _BORDER:-_BORDER]


def shift_of(noisy: Tensor, clean: Tensor) -> Tensor:
    """Return by how much to move the clean picture, down and right, to meet the noisy one."""
    shift = torch.zeros(2, dtype=torch.float64)
    for _ in range(_ROUNDS):
        near = moved(clean, shift)
        slopes = torch.stack([-inner(s).flatten() for s in torch.gradient(near, dim=(-2, -1))], 1)
        rest = inner(noisy - near).flatten()
        shift = shift + torch.linalg.lstsq(slopes, rest[:, None]).solution[:, 0]
    return shift


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    options = parser.parse_args()
    torch.set_num_threads(1)
    test = (made_up() if options.smoke else real()).test
    rows = []
    for name, noisy, clean in zip(test.names, test.noisy, test.clean, strict=True):
        x, y = scaled(noisy).double(), scaled(clean).double()
        shift = shift_of(x, y)
        values = [float(psnr(inner(x), inner(each))) for each in (y, moved(y, shift))]
        rows.append(
            {"name": name, "down": float(shift[0]), "right": float(shift[1]),
             "psnr": values[0], "psnr_moved": values[1]}
        )  # fmt: skip
    results.write("denoising_shifts_smoke" if options.smoke else "denoising_shifts", {"rows": rows})


if __name__ == "__main__":
    main()
