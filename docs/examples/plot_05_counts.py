"""
Poisson noise
=============

Radioactive decay over a background. Noise models are compared and selected from the data: here
Poisson noise, whose standard deviation grows with the square root.
"""

import matplotlib.pyplot as plt
import numpy as np

import rational_anova as ra

rng = np.random.default_rng(2)
t = np.linspace(0, 20, 60)
N = rng.poisson(6 + 400 * np.exp(-0.35 * t)).astype(float)
law = ra.fit_law("background + start*exp(-rate*t)", {"t": t}, N, target="N")
print(law.noise.model, law.noise.compared)

grid = np.linspace(0, 20, 200)[:, None]
low, high = law.predict_interval(grid, noise=True)
plt.fill_between(grid[:, 0], low, high, alpha=0.25, label="95 % of new counts")
plt.plot(grid[:, 0], law.predict(grid), label="law")
plt.plot(t, N, ".", color="C1", label="counts")
plt.xlabel("time")
plt.ylabel("counts")
plt.yscale("log")
plt.legend()
