"""The Model view."""

from __future__ import annotations

from ..pages import Page, View, card, heading, text


def build(page: Page) -> None:
    """Fill the page."""
    heading("Model", 1)
    with card():
        text("Nothing here yet.", "soft", "p")


VIEW = View("model", "Model", "tune", build)
