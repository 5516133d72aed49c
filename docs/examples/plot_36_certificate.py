"""
Certified bounds
================

Bounds that hold for every point of a box: the derivatives of a network, output by input.
"""

import torch

import rational_anova as ra

torch.manual_seed(0)
net = ra.RAN(3, topology="all", denominator="sos", noise=0.15)
certificate = ra.certify(net, box=[(-1, 1), (-1, 1), (0, 2)])
print(certificate.summary())
figure = certificate.plot()
