"""
Units in a vision transformer
=============================

A small ViT with its GELUs replaced: the units after some steps on images of digits.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from transformers import ViTConfig, ViTForImageClassification

import rational_anova as ra

torch.manual_seed(0)
config = ViTConfig(
    image_size=8, patch_size=2, num_channels=1, hidden_size=32, num_hidden_layers=2,
    num_attention_heads=2, intermediate_size=64, num_labels=10,
)  # fmt: skip
model = ViTForImageClassification(config)
report = ra.replace_activations_(model)
print(report)

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 8 - 1
labels = torch.tensor(digits.target)
optimizer = torch.optim.AdamW(ra.parameter_groups(model, 3e-3))
for _ in range(80):
    rows = torch.randint(0, 1500, (64,))
    loss = model(pixel_values=images[rows], labels=labels[rows]).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", round(loss.item(), 2))

units = [module for module in model.modules() if isinstance(module, ra.Rational1d)]
grid = torch.linspace(-4, 4, 200)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True)
for layer, (unit, axis) in enumerate(zip(units, axes)):
    with torch.no_grad():
        axis.plot(grid, unit(grid[:, None].expand(-1, 64))[:, ::8], lw=1)
    axis.plot(grid, torch.nn.functional.gelu(grid), "k--")
    axis.set_title(f"layer {layer + 1}; GELU dashed")
