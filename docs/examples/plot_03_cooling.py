"""
Your own formula, with standard errors
======================================

Newton's law of cooling: give the formula, get its parameters. No start values are needed.
"""

import matplotlib.pyplot as plt
import numpy as np

import rational_anova as ra

rng = np.random.default_rng(1)
t = np.linspace(0, 60, 25)  # minutes
T = 21 + 64 * np.exp(-0.05 * t) + rng.normal(0, 0.6, 25)  # degrees Celsius

law = ra.fit_law("room + excess*exp(-k*t)", {"t": t}, T, target="T")
print(law.coefficients[["value", "stderr", "low", "high"]])

grid = np.linspace(0, 90, 200)[:, None]
low, high = law.predict_interval(grid)
below, above = law.predict_interval(grid, noise=True)
plt.fill_between(grid[:, 0], below, above, alpha=0.15, label="95 % of new measurements")
plt.fill_between(grid[:, 0], low, high, alpha=0.4, label="95 % band of the law")
plt.plot(t, T, "o", color="C1", label="measured")
plt.xlabel("minutes")
plt.ylabel("temperature, °C")
plt.legend()
