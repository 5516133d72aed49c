"""
Two experiments, one law
========================

Reaction rates of cells treated with puromycin and of untreated ones (the data set of R). BIC
selects the shared parameter: the Michaelis constant, while the maximum rates differ.
"""

import matplotlib.pyplot as plt
import numpy as np

import rational_anova as ra

conc = np.array([0.02] * 2 + [0.06] * 2 + [0.11] * 2 + [0.22] * 2 + [0.56] * 2 + [1.1] * 2)
treated = [76, 47, 97, 107, 123, 139, 159, 152, 191, 201, 207, 200]
untreated = [67, 51, 84, 86, 98, 115, 131, 124, 144, 158, 160]
table = {
    "conc": np.concatenate([conc, conc[:11]]),
    "state": ["treated"] * 12 + ["untreated"] * 11,
}
rate = np.array(treated + untreated, float)

law = ra.fit_law("vmax*conc/(km + conc)", table, rate, target="rate", by="state")
print("shared:", law.groups.shared, "own:", law.groups.own)

grid = np.linspace(0.01, 1.2, 200)[:, None]
for colour, state in enumerate(("treated", "untreated")):
    rows = np.array(table["state"]) == state
    plt.plot(table["conc"][rows], rate[rows], "o", color=f"C{colour}", label=state)
    plt.plot(grid, law.for_group(state).predict(grid), color=f"C{colour}")
plt.xlabel("substrate, ppm")
plt.ylabel("counts/min²")
plt.legend()
