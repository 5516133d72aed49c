"""
Errors in the input
===================

If x is measured with an error, ordinary least squares biases slopes towards zero. ``x_sigma`` uses
orthogonal distance regression.
"""

import matplotlib.pyplot as plt
import numpy as np

import rational_anova as ra

rng = np.random.default_rng(4)
true = np.linspace(0.5, 8, 50)
x = true + rng.normal(0, 0.3, 50)
y = 5 * np.exp(-0.5 * true) + rng.normal(0, 0.03, 50)

plain = ra.fit_law("a*exp(-b*x)", x, y, sigma=0.03)
both = ra.fit_law("a*exp(-b*x)", x, y, sigma=0.03, x_sigma=0.3)
grid = np.linspace(0, 8.5, 200)[:, None]
plt.errorbar(x, y, xerr=0.3, yerr=0.03, fmt="none", color="0.7")
plt.plot(grid, plain.predict(grid), "--", color="C1", label=f"least squares: {plain.rounded(3)}")
plt.plot(grid, both.predict(grid), color="C0", label=f"with x_sigma: {both.rounded(3)}")
plt.plot(grid, 5 * np.exp(-0.5 * grid), ":k", label="truth: 5 exp(-0.5 x)")
plt.ylim(-0.2, 6)
plt.legend()
