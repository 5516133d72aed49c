"""
A monotone effect
=================

``monotone`` holds for every value, not only on a sample: the derivative is proved to be
non-negative.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import rational_anova as ra

rng = np.random.default_rng(1)
X = pd.DataFrame({"income": rng.gamma(3, 12, 250), "age": rng.uniform(20, 70, 250)})
y = np.sqrt(X["income"]) + 0.02 * X["age"] + rng.normal(0, 1.5, 250)

free = ra.RANRegressor(pairs=0).fit(X, y)
rising = ra.RANRegressor(pairs=0, monotone={"income": 1}).fit(X, y)
print(rising.prove_monotone("income", 1).verdict)

grid = pd.DataFrame({"income": np.linspace(1, 110, 300), "age": 45.0})
plt.plot(X["income"], y, ".", color="0.8")
plt.plot(grid["income"], free.predict(grid), "--", color="C1", label="free")
plt.plot(grid["income"], rising.predict(grid), color="C0", label="may only rise: proved")
plt.xlabel("income")
plt.legend()
