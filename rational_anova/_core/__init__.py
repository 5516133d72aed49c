"""What every layer stands on: checks, files, records, limits."""
