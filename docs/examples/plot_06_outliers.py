"""
Outliers
========

``loss="robust"`` identifies outliers, leaves them out, and fits the other rows.
"""

import matplotlib.pyplot as plt
import numpy as np

import rational_anova as ra

rng = np.random.default_rng(4)
t = np.linspace(0, 12, 40)
C = 1.2 + 4 * np.exp(-0.5 * t) + rng.normal(0, 0.05, 40)
C[[7, 21, 30]] += [1.4, -1.1, 0.9]  # three slips

form = "c0 + c1*exp(-k*t)"
plain = ra.fit_law(form, {"t": t}, C, target="C")
robust = ra.fit_law(form, {"t": t}, C, target="C", loss="robust")
print("left out:", robust.outliers)

grid = np.linspace(0, 12, 200)[:, None]
plt.plot(grid, plain.predict(grid), "--", color="0.5", label="least squares")
plt.plot(grid, robust.predict(grid), color="C0", label="robust")
plt.plot(t, C, ".", color="0.3")
rows = list(robust.outliers)
plt.plot(t[rows], C[rows], "o", mfc="none", ms=12, color="C1", label="outliers")
plt.legend()
