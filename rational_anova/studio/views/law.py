"""The Law view."""

from __future__ import annotations

from ..pages import Page, View, card, heading, text


def build(page: Page) -> None:
    """Fill the page."""
    heading("Law", 1)
    with card():
        text("Nothing here yet.", "soft", "p")


VIEW = View("law", "Law", "functions", build)
