"""
The effects of a model of a table
=================================

442 patients, ten inputs: each effect is a curve with its band. The grey bars are histograms of
the rows.
"""

from sklearn.datasets import load_diabetes

import rational_anova as ra

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = ra.RANRegressor().fit(X, y.rename("progression"))
print(model.explain_global().head(4).to_string(index=False))
figure = model.plot_anova(mode="main", top=6)
