"""The search for a law on a table, stage by stage."""
