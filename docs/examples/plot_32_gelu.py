"""
A learnable GELU
================

Eight units replace GELU in a small network: they start as GELU, then each learns its own
shape.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

import rational_anova as ra

torch.manual_seed(1)
x = torch.rand(400, 2) * 4 - 2
y = (torch.sin(3 * x[:, :1]) * x[:, 1:]) / (1 + x[:, :1] ** 2)
net = nn.Sequential(nn.Linear(2, 8), nn.GELU(), nn.Linear(8, 1))
before = net(x)
ra.replace_activations_(net)
print("largest change:", (net(x) - before).abs().max().item())

ra.fit(net, (x, y), optimizer="adam", epochs=400, learning_rate=1e-2)
grid = torch.linspace(-4, 4, 200)
with torch.no_grad():
    plt.plot(grid, net[1](grid[:, None].expand(-1, 8)), lw=1)
plt.plot(grid, torch.nn.functional.gelu(grid), "k--", label="GELU, where all began")
plt.ylim(-3, 5)
plt.legend()
