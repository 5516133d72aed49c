"""Experiments with measurements: laws of one and two columns with real noise.

`nist` fits forms without start values, `textbook` and `curves` ask whether the right form comes
out, `smooth` whether a law is claimed where there is none, `coverage` whether intervals hold the
truth; `groups`, `outliers` and `errors_in_x` look at tables as laboratories have them.
All go on where they stopped; --retry does again what has failed, --limit is the time of a search.
"""
