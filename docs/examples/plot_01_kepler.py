"""
Kepler's third law
==================

Periods and distances of nine bodies in orbit around the Sun: an exponent of 3/2.
"""

import matplotlib.pyplot as plt
import numpy as np

import rational_anova as ra

a = np.array([0.387, 0.723, 1.0, 1.524, 2.77, 5.203, 9.537, 19.19, 30.07])  # mean distance, AU
T = np.array([0.241, 0.615, 1.0, 1.881, 4.60, 11.86, 29.45, 84.02, 164.8])  # period, years

law = ra.fit_law("k*a**n", {"a": a}, T, target="T", noise_model="log-normal")
print(law.coefficients[["value", "stderr"]])

grid = np.geomspace(0.3, 40, 100)
plt.loglog(grid, law.predict(grid[:, None]), label=f"T = {law.rounded()}")
plt.loglog(a, T, "o", label="planets and Ceres")
plt.xlabel("mean distance from the Sun, AU")
plt.ylabel("period, years")
plt.legend()
