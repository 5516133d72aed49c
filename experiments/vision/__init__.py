"""Accuracy on images at equal numbers of parameters: the paper's table, run fairly."""
