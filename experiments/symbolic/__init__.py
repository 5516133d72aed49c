"""Formulas out of deep networks."""
