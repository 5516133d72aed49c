"""From the best formulas of a search to a law."""
