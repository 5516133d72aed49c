"""
The law of an enzyme
====================

Sixty noisy rates, no formula given: ``discover`` compares 453 named laws and
the formulas of its search.
"""

import numpy as np

import rational_anova as ra

rng = np.random.default_rng(0)
S = rng.uniform(0.05, 10, 60)  # substrate, mmol/L
v = 2.5 * S / (0.8 + S) + rng.normal(0, 0.02, 60)  # rate

law = ra.discover({"S": S}, v, target="v")
print(law)
print(law.trust)
figure = law.plot()
