"""Equations of motion from time series: `odebench` with peers, `series` on measured ones."""
