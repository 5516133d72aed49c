"""`Law`: a formula found in data, what it is made of, and what can be done with it."""
