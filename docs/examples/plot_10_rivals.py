"""
A law and its rivals
====================

Every law comes with competing formulas. Twelve rows with 5 % of noise do not decide between
several, and the grade says so.
"""

import matplotlib.pyplot as plt
import numpy as np

import rational_anova as ra

rng = np.random.default_rng(5)
x = np.linspace(0.3, 6, 12)
y = 3 * x / (1 + x) + rng.normal(0, 0.05, 12)
law = ra.discover({"x": x}, y, target="y", time_limit=8)
print(law.grade, "|", *law.doubts)

grid = np.linspace(0, 15, 200)[:, None]
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4))
rivals = law.rivals[:6]
names = [rival.name or "no name" for rival in rivals]
left.barh(names[::-1], [rival.weight for rival in rivals][::-1])
left.set_xlabel("weight")
for rival in rivals:
    right.plot(grid, ra.fit_law(str(rival.formula), {"x": x}, y, target="y").predict(grid), lw=1)
right.plot(x, y, "ko", ms=4)
right.set_xlabel("x")
