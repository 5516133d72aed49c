"""
Fewer terms, step by step
=========================

A group lasso on terms: with a larger penalty, pairs become exactly zero. The path shows the loss
of each step.
"""

import torch

import rational_anova as ra

torch.manual_seed(0)
X = torch.randn(400, 4, dtype=torch.float64)
y = torch.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.05 * torch.randn(400)
net = ra.RAN(4, topology="all", base="zero", dtype=torch.float64)
path = ra.fit_path(net, (X, y), validation=0.2, penalties=7, optimizer="adam", epochs=120)
print(path.table().to_string(index=False))
figure = path.plot()
