"""
Runge's function, and its poles
===============================

Polynomials fail on 1/(1 + 25 x²). One unit is exact, inside and outside the range, and has the
poles ±0.2i.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import rational_anova as ra

x = torch.linspace(-1, 1, 41, dtype=torch.float64)[:, None]
y = 1 / (1 + 25 * x**2)
unit = ra.Rational1d(1, (0, 2), "sos", "zero", gate=None, noise=0.1, dtype=torch.float64)
ra.fit(unit, (x, y), optimizer="lm", restarts=4)
print(unit.to_sympy(["x"]), unit.poles())

wide = torch.linspace(-1.6, 1.6, 400, dtype=torch.float64)[:, None]
polynomial = np.polynomial.Polynomial.fit(x[::4, 0], y[::4, 0], 10)
plt.plot(wide, polynomial(wide), "--", color="C1", label="polynomial of degree 10")
plt.plot(wide, unit(wide).detach(), label="rational unit")
plt.plot(x, y, ".k", ms=4)
plt.ylim(-0.6, 1.6)
plt.legend()
