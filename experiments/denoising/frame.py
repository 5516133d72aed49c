"""What stands around every network: a picture as patches, and a correction added to it.

A patch of P x P pixels in three colours is 3 P^2 numbers. They are either the pixels, or the
coefficients of the patch in an orthonormal cosine basis of one bright and two colour axes. Both are
standardised with the training pictures, and so is the correction: a network sees and makes numbers
of order one, though the noise is one part in sixty of the range. Nothing here is trained.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, pixel_shuffle, pixel_unshuffle

from experiments.denoising.pictures import scaled
from rational_anova.images import NoisyPairs

_COLOURS = torch.tensor([[1.0, 1.0, 1.0], [1.0, 0.0, -1.0], [1.0, -2.0, 1.0]])


def cosine_basis(patch: int) -> Tensor:
    """Return the orthonormal basis (3 P^2, 3 P^2), its rows sorted by plane, then by frequency."""
    place = torch.arange(patch) + 0.5
    waves = torch.cos(math.pi / patch * torch.arange(patch)[:, None] * place)
    waves = waves / waves.norm(dim=1, keepdim=True)
    colours = _COLOURS / _COLOURS.norm(dim=1, keepdim=True)
    return torch.kron(colours, torch.kron(waves, waves))


class Frame(nn.Module):
    """A picture in, the picture plus the network's correction out.

    Args:
        net: from (B, 3 P^2, H / P, W / P) to the same, or from (..., 3 P^2) to the same.
        patch: side P of a patch.
        cosines: whether the network sees cosine coefficients; else pixels.
        convolution: whether it wants the channels second; else last.
    """

    basis: Tensor
    centre: Tensor
    spread: Tensor
    strength: Tensor

    def __init__(
        self, net: nn.Module, patch: int = 4, cosines: bool = True, convolution: bool = False
    ) -> None:
        super().__init__()
        self.net, self.patch, self.convolution = net, patch, convolution
        size = 3 * patch**2
        self.register_buffer("basis", cosine_basis(patch) if cosines else torch.eye(size))
        for name in ("centre", "spread", "strength"):
            self.register_buffer(name, torch.ones(size))

    @torch.no_grad()
    def measure(self, pairs: NoisyPairs) -> Frame:
        """Take the scales from training pairs."""
        noisy, clean = (self.coefficients(scaled(p)) for p in (pairs.noisy, pairs.clean))
        self.centre.copy_(noisy.mean((0, 2, 3)))
        self.spread.copy_(noisy.std((0, 2, 3)))
        self.strength.copy_((noisy - clean).std((0, 2, 3)))
        return self

    def coefficients(self, pictures: Tensor) -> Tensor:
        """Return the patches (B, 3 P^2, H / P, W / P) of pictures (B, 3, H, W) in the basis."""
        return conv2d(pixel_unshuffle(pictures, self.patch), self.basis[..., None, None])

    def forward(self, pictures: Tensor) -> Tensor:
        """Return the pictures with the correction."""
        inputs = self.coefficients(pictures) - self.centre[:, None, None]
        inputs = inputs / self.spread[:, None, None]
        if self.convolution:
            outputs = self.net(inputs)
        else:
            outputs = self.net(inputs.movedim(1, -1)).movedim(-1, 1)
        weight = (self.basis.T * self.strength)[..., None, None]
        return pictures + pixel_shuffle(conv2d(outputs, weight), self.patch)


@torch.no_grad()
def denoised(model: Frame, pictures: Tensor, margin: int = 0) -> Tensor:
    """Return whole pictures (N, 3, H, W), uint8, denoised, between 0 and 1, one at a time.

    Args:
        model: with its weights.
        pictures: uint8.
        margin: pixels that are cut off on all sides before.
    """
    height, width = pictures.shape[-2:]
    inner = pictures[..., margin : height - margin, margin : width - margin]
    training = model.training
    model.eval()
    try:
        return torch.cat([model(scaled(each[None])).clamp(0, 1) for each in inner])
    finally:
        model.train(training)
