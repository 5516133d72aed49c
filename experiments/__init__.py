"""What the docs report, each by one command."""
