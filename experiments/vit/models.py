"""A vision transformer with each kind of feed-forward layer, weights drawn by its own class.

`gelu` is the model as it comes; `ran` has rational units with base GELU in its place (RAN-FFN,
paper Eq. 8), `ran_channel` a unit for each channel, `ran_plus` pairs of channels too (RAN-FFN+,
Eq. 9), `ran_both` units before the first linear map as well, which start at the identity. `kat` is
a layer in the manner of the Kolmogorov-Arnold Transformer, written from its description, `kaf` has
two layers of Fourier features, the library's baseline.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

import rational_anova as ra

Settings = dict[str, Any]

# Units that are GELU until their gates open.
CLOSED: Settings = {"init": "base", "denominator": "softplus", "reach": None}

TRAINED = ("gelu", "ran", "kat", "ran_plus", "ran_both", "ran_channel")
KINDS = (*TRAINED, "kaf")
NAMES = {
    "gelu": "MLP (GELU)", "ran": "RAN-FFN", "kat": "KAT-style rational", "ran_plus": "RAN-FFN+",
    "ran_channel": "RAN-FFN, a unit a channel", "ran_both": "RAN units where KAT has them",
    "kaf": "KAF", "ran_gates": "RAN-FFN, gates at 10 times the rate",
    "ran_fast": "RAN-FFN, units at 10 times the rate",
    "ran_plus_fast": "RAN-FFN+, units at 10 times the rate",
    "kat_fast": "KAT-style, units at 10 times the rate",
}  # fmt: skip


class GroupRational(nn.Module):
    """rational(identity) -> fc1 -> rational(swish) -> fc2, degrees 5/4, in groups of channels.

    KAT's units have no gate and the denominator 1 + |q|; they start at the identity and at swish.
    """

    def __init__(self, fc1: nn.Linear, fc2: nn.Linear, groups: int) -> None:
        super().__init__()
        options: Settings = {"degrees": (5, 4), "denominator": "abs", "groups": groups}
        self.before = ra.Rational1d(fc1.in_features, gate=None, **options)
        self.fc1 = fc1
        self.between = ra.Rational1d(fc1.out_features, gate=None, init="silu", **options)
        self.fc2 = fc2

    def forward(self, h: Tensor) -> Tensor:
        """Apply the layer."""
        return self.fc2(self.between(self.fc1(self.before(h))))


class Classifier(nn.Module):
    """A model of `transformers` that returns its logits alone."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits."""
        return self.model(images).logits


def build(kind: str, model: Settings, kinds: Settings, seed: int) -> Classifier:
    """Return a transformer with the given kind of feed-forward layers."""
    from transformers import ViTConfig, ViTForImageClassification

    torch.manual_seed(seed)
    sizes = {**model, "intermediate_size": kinds["plus_hidden"]} if kind == "ran_plus" else model
    vit = ViTForImageClassification(
        ViTConfig(**sizes, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    )
    if kind in ("ran", "ran_both"):
        ra.replace_activations_(vit, share=kinds["groups"], **CLOSED)
    if kind == "ran_both":
        for layer in vit.vit.layers:
            unit = ra.Rational1d(model["hidden_size"], groups=kinds["groups"])
            layer.mlp = nn.Sequential(unit, layer.mlp)
    elif kind == "ran_channel":
        ra.replace_activations_(vit, share="channel", **CLOSED)
    elif kind == "ran_plus":
        unit: Settings = {
            "degrees": (3, 2),
            "denominator": "softplus",
            "gate": "auto",
            "reach": None,
        }
        ra.replace_feed_forward_(vit, kinds["pairs"], groups=kinds["groups"], **unit)
    elif kind == "kat":
        for layer in vit.vit.layers:
            layer.mlp = GroupRational(layer.mlp.fc1, layer.mlp.fc2, kinds["groups"])
    elif kind == "kaf":
        for layer in vit.vit.layers:
            width = model["hidden_size"]
            layer.mlp = ra.KAF(width, width, hidden=(model["intermediate_size"],))
    return Classifier(vit)
