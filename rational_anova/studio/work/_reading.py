"""Reading a table in a worker."""
