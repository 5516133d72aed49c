"""
A real gas
==========

A template has the known part of the formula and an unknown function: the attraction ``f(V)``
between the molecules of a gas.
"""

import matplotlib.pyplot as plt
import numpy as np

import rational_anova as ra

rng = np.random.default_rng(7)
T, V = rng.uniform(280, 450, 60), rng.uniform(0.2, 2, 60)
P = 0.083145 * T / (V - 0.0427) - 3.64 / V**2 + rng.normal(0, 0.2, 60)

law = ra.discover(
    {"T": T, "V": V}, P, target="P", constants={"R": 0.083145}, time_limit=30,
    template="R*T/(V - b) - f(V)", limits={"V=oo": 0.0}, shape={"T": "rising", "P": "positive"},
)  # fmt: skip
print(law)
print(law.provenance["known"])
assert law.equals("R*T/(V - b) - a/V**2")

grid = np.geomspace(0.12, 2, 200)
for t in (280, 320, 360, 400, 440):
    colour = plt.cm.plasma((t - 270) / 200)
    plt.semilogx(grid, law.predict(np.column_stack([np.full(200, t), grid])), color=colour)
points = plt.scatter(V, P, c=T, cmap="plasma", vmin=270, vmax=470, s=14)
plt.colorbar(points, label="temperature, K")
plt.xlabel("molar volume, L/mol")
plt.ylabel("pressure, bar")
