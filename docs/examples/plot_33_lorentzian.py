"""
A peak in two dimensions
========================

1/(1 + x² + y²) by one pair with a sum of squares as denominator: exact to rounding.
"""

import matplotlib.pyplot as plt
import torch

import rational_anova as ra

axis = torch.linspace(-4, 4, 60, dtype=torch.float64)
grid = torch.cartesian_prod(axis, axis)
z = 1 / (1 + (grid**2).sum(1))
net = ra.RAN(
    2, topology="all", degrees=(0, 2), denominator="sos", base="zero", gate=None, noise=0.1
)
history = ra.fit(net.double(), (grid, z), optimizer="lm", restarts=6)
print(history.training_loss)

with torch.no_grad():
    error = (net(grid)[:, 0] - z).abs().clamp(min=1e-18).log10().reshape(60, 60).numpy()
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4))
left.imshow(net(grid).detach().reshape(60, 60).numpy(), extent=(-4, 4, -4, 4))
left.set_title("network")
picture = right.imshow(error, extent=(-4, 4, -4, 4), cmap="magma")
right.set_title("log10 of the error")
figure.colorbar(picture)
