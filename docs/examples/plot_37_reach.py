"""
Influence of one training step
==============================

A training step at the cross changes the outputs elsewhere: the change over two inputs.
"""

import torch

import rational_anova as ra

torch.manual_seed(0)
x = torch.tensor([[0.9, 0.4]], dtype=torch.float64)
maps = {}
for title, topology in (("main effects only", "none"), ("with the pair", "all")):
    net = ra.RAN(2, topology=topology, base="zero", noise=0.1, dtype=torch.float64)
    maps[title] = ra.dynamics.influence_map(net, x, net(x)[0].detach() + 1, rate=1e-2)
figure = ra.dynamics.plot_influence(maps, names=["a", "b"])
