"""Laws in a worker: `discover` and `fit_law` on a table of the workspace."""
