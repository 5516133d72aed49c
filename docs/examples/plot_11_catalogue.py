"""
Named laws
==========

The catalogue has 453, with the meaning of their parameters. Here are six saturation curves.
"""

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp

import rational_anova as ra

names = ["Michaelis-Menten", "Hill", "logistic growth", "Gompertz", "Weibull growth", "tanh"]
grid = np.linspace(0.01, 5, 200)
for name in names:
    try:
        form = ra.discovery.find(name)
    except (KeyError, ValueError):
        continue
    numbers = {sp.Symbol(n): 1.5 if n in ("n", "c", "m") else 1.0 for n in form.parameters}
    x = sp.Symbol("x")
    curve = sp.lambdify(
        x, sp.sympify(str(form.formula)).subs({s.name: v for s, v in numbers.items()})
    )
    plt.plot(grid, curve(grid) * np.ones_like(grid), label=f"{form.name}: {form.formula}")
plt.legend(fontsize=8)
plt.xlabel("x, all numbers set to one")
