"""A law as a page: what was found, how good it is and how far it holds."""

from ._report import write_report

__all__ = ["write_report"]
