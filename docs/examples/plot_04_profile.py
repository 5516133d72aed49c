"""
Intervals that are not symmetric
================================

An exponential measured for less than one lifetime: the data hardly determine its limit. The
profile likelihood shows it; value ± standard error does not.
"""

import matplotlib.pyplot as plt
import numpy as np

import rational_anova as ra

rng = np.random.default_rng(3)
t = np.linspace(0, 2.2, 20)
y = 1 + 4 * np.exp(-0.5 * t) + rng.normal(0, 0.12, 20)
law = ra.fit_law("c + a*exp(-k*t)", {"t": t}, y, target="y")

profile, wald = law.intervals(0.95, method="profile"), law.intervals(0.95, method="wald")
for row, number in enumerate(law.parameters):
    for shift, (kind, ends, colour) in enumerate(
        [("profile", profile, "C0"), ("Wald", wald, "C1")]
    ):
        low, high = ends[number.name]
        plt.plot([low, high], [row + 0.2 * shift] * 2, colour, lw=4, label=None if row else kind)
    plt.plot(number.value, row + 0.1, "ko")
plt.yticks(np.arange(3) + 0.1, [number.name for number in law.parameters])
plt.xlabel("95 % interval")
plt.xscale("symlog", linthresh=1)
plt.legend()
