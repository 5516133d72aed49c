"""
Log odds as curves
==================

Two kinds of flowers: each curve says how an input moves the odds.
"""

from sklearn.datasets import load_iris

import rational_anova as ra

X, y = load_iris(return_X_y=True, as_frame=True)
two = y > 0
model = ra.RANClassifier(pairs=0).fit(X[two], y[two])
print(model.score(X[two], y[two]))
figure = model.plot_anova(mode="main")
