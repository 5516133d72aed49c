"""Certificates: whether any point beats them, how tight they are, and gradients over depth."""
