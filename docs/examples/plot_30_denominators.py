"""
Six denominators
================

A unit is a quotient p/d; the denominator determines its behaviour for large inputs. The same
coefficients in all six.
"""

import matplotlib.pyplot as plt
import torch

import rational_anova as ra

x = torch.linspace(-6, 6, 400)[:, None]
names = ["softplus", "squareplus", "square", "abs", "sos", "polynomial"]
for name in names:
    unit = ra.Rational1d(1, degrees=(3, 2), denominator=name, base="zero", gate=None)
    with torch.no_grad():
        unit.numerator.copy_(torch.tensor([[0.0], [1.0], [0.3], [0.1]]))
        unit.denominator.fill_(0.4)
        plt.plot(x, unit(x), label=name)
plt.ylim(-6, 6)
plt.xlabel("x")
plt.ylabel("p(x) / d(x)")
plt.legend()
