"""Learning dynamics, measured: how far an update reaches, and what steep steps cost."""
