"""
One prediction, explained
=========================

The contributions to a single prediction, and their sum.
"""

from sklearn.datasets import load_diabetes

import rational_anova as ra

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = ra.RANRegressor(pairs=3).fit(X, y.rename("progression"))
print(model.explain_local(X.iloc[[7]]).T.to_string(header=False))
figure = model.plot_anova(X.iloc[[7]], mode="local")
