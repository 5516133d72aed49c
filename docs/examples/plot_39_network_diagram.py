"""
A deep network drawn and named
==============================

A network of units on edges is fitted, pruned and read; the names stand under the units.
"""

import torch

import rational_anova as ra

torch.manual_seed(0)
X = torch.rand(400, 2, dtype=torch.float64) * 2 - 1
y = torch.exp(torch.sin(torch.pi * X[:, 0]) + X[:, 1] ** 2)

net = ra.LayeredRAN(2, 1, hidden=(3,), dtype=torch.float64)
net.fit((X, y), restarts=4, restart_noise=0.0, epochs=40)
small = net.prune(X, y)
small.fit((X, y))

reading = ra.read_network(small, X, y, names=["x", "y"])
print(reading)
figure = ra.plot_network(small, X, reading=reading)
