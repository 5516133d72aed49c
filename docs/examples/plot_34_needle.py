"""
A needle in a haystack
======================

One product among 435 possible pairs: main effects are fitted first, and their residuals show
it.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import rational_anova as ra

torch.manual_seed(0)
X = torch.randn(1500, 30, dtype=torch.float64)
y = torch.sin(X).sum(1) + 0.5 * X[:, 3] * X[:, 17] + 0.1 * torch.randn(1500)
net = ra.RAN(30, topology="none", dtype=torch.float64)
print(ra.select_topology(net, (X, y), "residual", 1).pairs)

ra.fit(net, (X, y), optimizer="lm", epochs=5)
left = (y - net(X)[:, 0]).detach().numpy()
i, j = np.triu_indices(30, 1)
picture = np.full((30, 30), np.nan)
picture[i, j] = [abs(np.corrcoef(X[:, a] * X[:, b], left)[0, 1]) for a, b in zip(i, j, strict=True)]
plt.imshow(picture, cmap="Blues")
plt.colorbar(label="correlation with what is left over")
plt.xlabel("input")
plt.ylabel("input")
