"""Networks on several processes: losses of one, ranks that are killed, models in parts."""
