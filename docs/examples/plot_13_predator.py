"""
Predator and prey
=================

From noisy populations to their differential equations, and to a new initial state.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

import rational_anova as ra


def hares_and_lynx(t, z):
    """Return the growth of both."""
    return [0.6 * z[0] - 0.3 * z[0] * z[1], -0.8 * z[1] + 0.25 * z[0] * z[1]]


rng = np.random.default_rng(0)
t = np.linspace(0, 20, 100)
z = solve_ivp(hares_and_lynx, (0, 20), [4, 1.5], t_eval=t, rtol=1e-9).y
z = z + rng.normal(0, 0.03, z.shape)

found = ra.discover_dynamics(t, {"hares": z[0], "lynx": z[1]})
print(found)
print(found.fixed_points())

plt.plot(*z, ".", color="0.6", label="measured")
plt.plot(*found.simulate([4, 1.5], t).T, label="found")
plt.plot(*found.simulate([2.5, 2.5], t).T, label="from another start")
plt.xlabel("hares")
plt.ylabel("lynx")
plt.legend()
