"""The door: who may come in. A token in the link, or a password; then a cookie."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

from .._workspace import LARGEST

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

_TRIES, _MINUTE = 10, 60.0  # wrong passwords of all visitors, in so many seconds
_ROOM = 2**20  # bytes of a request beside the table in it
_LONGEST = 4096  # bytes of a form with a password
# Nothing may be fetched from elsewhere, also if text of a table should become part of a page.
# Vue makes functions of its templates, which needs unsafe-eval.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; worker-src 'self' blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Door:
    """An ASGI app around the pages: it lets in who has the token, the password, or the cookie.

    Args:
        app: the pages.
        port: that it listens at.
        token: of the link.
        password: for visitors; None if there are none.
        local: whether only this machine's own names are answered to.
    """

    def __init__(
        self, app: ASGIApp, port: int, token: str, password: str | None = None, local: bool = True
    ) -> None:
        self.app, self.token, self.password = app, token, password
        self.cookie, self.session = f"ran_studio_{port}", secrets.token_urlsafe(24)
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")} if local else None
        self._wrong: list[float] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let in."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        from starlette.requests import HTTPConnection

        asked = HTTPConnection(scope)
        refused = self._foreign(asked)
        if not refused and self._known(asked):
            await self.app(scope, _limited(receive), _with_headers(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            from starlette.requests import Request

            answer = _page(403, refused) if refused else await self._let_in(Request(scope, receive))
            await answer(scope, receive, _with_headers(send))

    def _foreign(self, asked: Any) -> str:
        """Return why a request comes from a page of another site; empty if it does not."""
        host = asked.headers.get("host", "")
        if self.hosts is not None and host not in self.hosts:
            return "This studio answers to the address of this machine only."
        origin = asked.headers.get("origin")
        looks = asked.scope["type"] == "http" and asked.scope["method"] in ("GET", "HEAD")
        if origin is None:
            return "" if looks else "The request does not say which page it comes from."
        return "" if urlsplit(origin).netloc == host else "The request comes from another page."

    def _known(self, asked: Any) -> bool:
        return hmac.compare_digest(
            asked.cookies.get(self.cookie, "").encode(), self.session.encode()
        )

    async def _let_in(self, request: Request) -> Any:
        given = request.query_params.get("token")
        if given is not None and hmac.compare_digest(given.encode(), self.token.encode()):
            rest = [(k, v) for k, v in request.query_params.multi_items() if k != "token"]
            path = "/" + request.url.path.lstrip("/\\")
            return self._welcome(f"{path}?{urlencode(rest)}" if rest else path)
        if self.password is None:
            return _page(403, "Open the link that the command ran studio has printed.")
        if request.method == "POST" and request.url.path == "/login":
            return await self._login(request)
        if request.method != "GET":
            return _page(403, "Enter the password first.")
        return _page(401, "", form=True)

    async def _login(self, request: Request) -> Any:
        now = time.monotonic()
        self._wrong = [t for t in self._wrong if t > now - _MINUTE]
        if len(self._wrong) >= _TRIES:
            return _page(429, "Too many wrong passwords; wait a minute.")
        body = b""
        async for block in request.stream():
            body += block
            if len(body) > _LONGEST:
                return _page(413, "That is too long for a password.")
        given = parse_qs(body.decode("utf-8", "replace")).get("password", [""])[0]
        assert self.password is not None
        if hmac.compare_digest(given.encode(), self.password.encode()):
            return self._welcome("/")
        self._wrong.append(now)
        await asyncio.sleep(0.5)
        return _page(401, "That is not the password.", form=True)

    def _welcome(self, path: str) -> Any:
        from starlette.responses import RedirectResponse

        answer = RedirectResponse(path, 303)
        answer.set_cookie(self.cookie, self.session, httponly=True, samesite="strict")
        return answer


def _limited(receive: Receive) -> Receive:
    """Let no request bring more than a table may have; NiceGUI itself takes whatever comes."""
    room = LARGEST + _ROOM

    async def received() -> Any:
        nonlocal room
        message = await receive()
        if message["type"] == "http.request":
            room -= len(message.get("body", b""))
            if room < 0:
                return {"type": "http.disconnect"}
        return message

    return received


def _with_headers(send: Send) -> Send:
    async def sent(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = [(k.encode(), v.encode()) for k, v in HEADERS.items()]
            message = {**message, "headers": [*message["headers"], *own]}
        await send(message)

    return sent


def _page(status: int, told: str, form: bool = False) -> Any:
    from starlette.responses import HTMLResponse

    asked = (
        '<form method="post" action="/login"><label>Password '
        '<input type="password" name="password" autofocus required></label> '
        "<button>Log in</button></form>"
    )
    return HTMLResponse(
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>ran studio</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;"
        "max-width:32rem;margin:20vh auto;padding:0 1rem}input,button{font:inherit;padding:.4rem}"
        f"</style></head><body><main><h1>ran studio</h1><p>{escape(told)}</p>"
        f"{asked if form else ''}</main></body></html>",
        status,
    )
