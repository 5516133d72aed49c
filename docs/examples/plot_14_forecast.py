"""
A forecast with a band
======================

Growth in a closed vessel: forty rows from the start, then a forecast.
"""

import matplotlib.pyplot as plt
import numpy as np

import rational_anova as ra

rng = np.random.default_rng(0)
t = np.linspace(0, 2.5, 40)
N = 5 / (1 + 4 * np.exp(-t)) + rng.normal(0, 0.06, 40)

found = ra.discover_dynamics(t, {"N": N})
print(found, found.grade)

later = np.linspace(0, 10, 80)
ahead = found.forecast(later)
plt.fill_between(later, ahead["N low"], ahead["N high"], alpha=0.3, label="95 % band")
plt.plot(later, ahead["N"], label="forecast")
plt.plot(later, 5 / (1 + 4 * np.exp(-later)), ":k", label="truth")
plt.plot(t, N, ".", color="C1", label="measured")
plt.xlabel("time")
plt.ylabel("population")
plt.legend()
