"""
Dimensional analysis
====================

The period of a pendulum from its length and gravity. The units leave one product; the search
finds the factor.
"""

import matplotlib.pyplot as plt
import numpy as np

import rational_anova as ra

rng = np.random.default_rng(6)
length, g = rng.uniform(0.1, 3, 40), rng.choice([1.62, 3.72, 9.81], 40)
T = 2 * np.pi * np.sqrt(length / g) * (1 + rng.normal(0, 0.005, 40))

law = ra.discover({"L": length, "g": g}, T, target="T", units={"L": "m", "g": "m/s^2", "T": "s"})
print(law)

for colour, (place, gravity) in enumerate([("Moon", 1.62), ("Mars", 3.72), ("Earth", 9.81)]):
    rows = g == gravity
    grid = np.linspace(0.05, 3.2, 100)
    plt.plot(grid, law.predict(np.column_stack([grid, np.full(100, gravity)])), color=f"C{colour}")
    plt.plot(length[rows], T[rows], "o", color=f"C{colour}", label=place)
plt.xlabel("length, m")
plt.ylabel("period, s")
plt.legend()
