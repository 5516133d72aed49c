"""From files and frames to numbers."""
