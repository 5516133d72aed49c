"""The frame of every page: header, navigation, light and dark; and how a view joins."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from .._workspace import Workspace
from ..work import Work

ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" '
    'rx="7" fill="#1f4e79"/><path d="M5 24C11 24 11 8 16 8s5 16 11 16" fill="none" '
    'stroke="#f3a15f" stroke-width="3" stroke-linecap="round"/></svg>'
)
_THEMES = {"auto": None, "light": False, "dark": True}
_SYMBOLS = {"auto": "brightness_auto", "light": "light_mode", "dark": "dark_mode"}


@dataclass(frozen=True)
class Studio:
    """What all pages share: tables and runs on disk, and the queue of work."""

    workspace: Workspace
    work: Work


@dataclass(frozen=True)
class View:
    """A view: a page at /NAME, and at /NAME/ITEM for one table, run or file.

    Args:
        name: in the address.
        title: in the navigation.
        icon: of the Material icons.
        build: fills the page; may be a coroutine.
    """

    name: str
    title: str
    icon: str
    build: Callable[[Page], Any]


@dataclass
class Page:
    """A page that is being shown.

    Args:
        studio: what all pages share.
        item: the last part of the address: hash of a table, id of a run; empty if there is none.
        query: what stands behind the question mark.
    """

    studio: Studio
    item: str
    query: dict[str, str]

    @property
    def workspace(self) -> Workspace:
        """Tables and runs on disk."""
        return self.studio.workspace

    @property
    def work(self) -> Work:
        """The queue: `start`, `cancel`, `again`, and `runs` as they are now."""
        return self.studio.work

    def go(self, address: str) -> None:
        """Go to another page of the studio, as "/law/ID"."""
        from nicegui import ui

        ui.navigate.to(address)

    def follow(self, run: str, changed: Callable[[Any], Any], every: float = 0.25) -> Any:
        """Call a function with a run now, and whenever it has changed, until it is over."""
        from nicegui import ui

        seen: list[Any] = [None]

        async def look() -> None:
            now = self.work.runs.get(run)
            if now is seen[0]:
                return
            seen[0] = now
            if now is None or not now.state.under_way:
                timer.cancel()
            if now is not None:
                answer = changed(now)
                if inspect.isawaitable(answer):
                    await answer

        timer = ui.timer(every, look)
        return timer


def add_view(view: View, views: Sequence[View], studio: Studio) -> None:
    """Give a view its addresses; the first of all views is the start page, too."""
    from fastapi import Request
    from nicegui import ui

    async def show(request: Request, item: str = "") -> None:
        page = Page(studio, item, dict(request.query_params))
        _frame(view, views, studio)
        with ui.element("main").classes("page").props('id="main" tabindex="-1"'):
            answer = view.build(page)
            if inspect.isawaitable(answer):
                await answer

    # FastAPI reads the annotations, which are text in this module
    show.__annotations__ = {"request": Request, "item": str, "return": None}
    title = f"{view.title} - ran studio"
    ui.page(f"/{view.name}", title=title, response_timeout=30)(show)
    ui.page(f"/{view.name}/{{item}}", title=title, response_timeout=30)(show)
    if view is views[0]:
        ui.page("/", title=title, response_timeout=30)(show)


def _frame(view: View, views: Sequence[View], studio: Studio) -> None:
    """Put the header with the navigation on the page."""
    from nicegui import ui

    ui.add_css(resources.files(__package__).joinpath("studio.css").read_text("utf-8"))
    theme = studio.workspace.settings().get("theme", "auto")
    dark = ui.dark_mode(_THEMES.get(theme))
    skip = ui.element("a").classes("skip").props('href="#main"')
    skip._text = "Skip to the content"
    with ui.element("header").classes("top"):
        with ui.element("a").classes("brand").props('href="/" aria-label="ran studio, start page"'):
            # paths of our own
            ui.html(ICON, sanitize=False).classes("logo").props('aria-hidden="true"')
            ui.label("ran studio")
        with ui.element("nav").props('aria-label="Views"'):
            for other in views:
                here = ' aria-current="page"' if other is view else ""
                kept = f'href="/{other.name}" data-testid="nav-{other.name}"{here}'
                with ui.element("a").classes("tab").props(kept):
                    ui.icon(other.icon).props('aria-hidden="true"')
                    ui.label(other.title)
        _theme_button(studio, dark, theme)


def _theme_button(studio: Studio, dark: Any, theme: str) -> None:
    from nicegui import ui

    order = list(_THEMES)

    def turn() -> None:
        now = order[(order.index(state["theme"]) + 1) % len(order)]
        state["theme"] = now
        studio.workspace.set(theme=now)
        dark.value = _THEMES[now]
        button.props(f'icon={_SYMBOLS[now]} aria-label="Colours: {now}"')

    state = {"theme": theme if theme in _THEMES else "auto"}
    button = ui.button(icon=_SYMBOLS[state["theme"]], on_click=turn).props(
        f'flat round dense aria-label="Colours: {state["theme"]}" data-testid="theme"'
    )
    button.tooltip("Colours: automatic, light, dark")
