"""The server: the pages of the studio behind their door, on one port of this machine."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING

from ._workspace import Workspace
from .work import MEMORY, Work

if TYPE_CHECKING:
    from fastapi import FastAPI

    from .pages import Studio

LOCAL = "127.0.0.1"
PORT = 8377


def serve(
    workspace: Workspace,
    *,
    table: str = "",
    host: str = LOCAL,
    port: int | None = None,
    password: str | None = None,
    workers: int = 1,
    memory: int = MEMORY,
    say: Callable[[str], None] = print,
    browser: bool = True,
) -> None:
    """Serve the studio until it is interrupted.

    Args:
        workspace: where tables and runs are.
        table: hash of the table that is shown first; empty for the page where one is dropped.
        host: address to listen at; any but this machine's own needs a password.
        port: to listen at, 0 for a free one; by default 8377, or a free one if that is taken.
        password: that a visitor from elsewhere has to give.
        workers: how many searches at a time.
        memory: bytes that each search may use.
        say: prints the link.
        browser: whether to open it.
    """
    _check(host, password)
    try:
        import nicegui  # noqa: F401
        import plotly  # type: ignore[import-untyped,unused-ignore]  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise ImportError(
            f"the studio needs {error.name}: pip install 'rational-anova[studio]'"
        ) from None
    from .pages import Door, Studio

    # of NiceGUI, which would make a folder of its own wherever the command is given
    os.environ["NICEGUI_STORAGE_PATH"] = str(workspace.folder / ".nicegui")
    listener = _listen(host, port)
    number = listener.getsockname()[1]
    workspace.take()
    workspace.mark_interrupted()
    work = Work(workspace, workers, memory)
    if table and workspace.profile(table) is None:
        work.start("read", table, title="reading")
    token = secrets.token_urlsafe(24)
    door = Door(_pages(Studio(workspace, work)), number, token, password, local=_local(host))
    address = f"http://{LOCAL if host in ('0.0.0.0', '::') else host}:{number}"
    link = f"{address}/{f'table/{table}' if table else ''}?token={token}"
    say(f"studio: {link}")
    say(f"workspace: {workspace.folder}; end with Ctrl-C")
    if password is not None:
        say(f"others: {address}, with the password; the connection is not encrypted")
    if browser:
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(link)
    config = uvicorn.Config(
        door, log_level="warning", access_log=False, lifespan="on", timeout_graceful_shutdown=1,
        server_header=False,
    )  # fmt: skip
    if threading.current_thread() is threading.main_thread():
        # uvicorn ends the process by the signal that ended it, unless that is an exception
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        work.close()
        workspace.leave()


def _check(host: str, password: str | None) -> None:
    if not _local(host) and not password:
        raise ValueError(
            f"--host {host} lets other machines in, which needs --password; without --host the "
            "studio is for this machine alone"
        )
    if password is not None and len(password) < 8:
        raise ValueError("--password needs 8 letters or more")


def _local(host: str) -> bool:
    return host in (LOCAL, "localhost")


def _listen(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens; the usual port may be taken, one that was asked for not."""
    found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, PORT if port is None else port))
    except OSError as error:
        if port is not None:
            found.close()
            raise OSError(
                f"cannot listen at {host}, port {port}: {error.strerror}; name another --port"
            ) from None
        found.bind((host, 0))
    found.listen(128)  # a browser that is quicker than the server waits for it
    return found


def _pages(studio: Studio) -> FastAPI:
    """Return the app with all views."""
    from fastapi import FastAPI
    from nicegui import ui

    from .pages import ICON, add_view
    from .views import VIEWS

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    for view in VIEWS:
        add_view(view, VIEWS, studio)
    ui.run_with(
        app, title="ran studio", favicon=ICON, dark=None, language="en-US", tailwind=False,
        show_welcome_message=False, reconnect_timeout=10.0,
    )  # fmt: skip
    return app
