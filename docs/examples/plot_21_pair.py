"""
A pair as a heat map
====================

An interaction of two inputs is a surface that no sum of two curves could replace.
"""

import numpy as np
import pandas as pd

import rational_anova as ra

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.uniform(-2, 2, (800, 3)), columns=["speed", "angle", "load"])
y = np.sin(X["speed"]) + X["angle"] * X["load"] + rng.normal(0, 0.1, 800)

model = ra.RANRegressor().fit(X, y)
print(model.explain_global().to_string(index=False))
figure = model.plot_anova(mode="interaction", top=1)
