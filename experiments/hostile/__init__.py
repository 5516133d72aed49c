"""Attacks on the library: damaged and crafted files, exports in databases, kills, full disks."""
