"""Experiments of discovery: from a table to the law behind it."""
