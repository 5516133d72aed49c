"""
Log odds as curves
==================

Two species of flowers: each curve shows how an input changes the log odds.
"""

from sklearn.datasets import load_iris

import rational_anova as ra

X, y = load_iris(return_X_y=True, as_frame=True)
two = y > 0
model = ra.RANClassifier(pairs=0).fit(X[two], y[two])
print(model.score(X[two], y[two]))
figure = model.plot_anova(mode="main")
