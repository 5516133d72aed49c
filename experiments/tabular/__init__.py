"""Tables: the estimators beside EBM, pyGAM, boosted trees, linear models and an MLP."""
