"""Whether two formulas are the same."""
