"""The door: token, password, cookie, addresses and origins, sizes; without a server."""

import pytest
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from rational_anova.studio.pages import Door
from rational_anova.studio.pages import _door as module
from rational_anova.studio.serve import serve

HOME = "http://127.0.0.1:8377"


async def page(request):
    await request.body()
    return PlainTextResponse("inside")


async def socket(websocket):
    await websocket.accept()
    await websocket.send_text("inside")
    await websocket.close()


def visitor(password=None, local=True, base=HOME):
    inner = Starlette(
        routes=[Route("/", page, methods=["GET", "POST"]), WebSocketRoute("/ws", socket)]
    )
    return TestClient(Door(inner, 8377, "secret", password, local), base_url=base)


@pytest.fixture
def inside():
    client = visitor()
    client.get("/?token=secret")
    return client


def test_only_the_token_lets_in():
    client = visitor()
    assert client.get("/").status_code == 403
    assert client.get("/?token=wrong").status_code == 403
    came = client.get("/?token=secret&x=1")
    assert came.text == "inside"
    assert str(came.url) == f"{HOME}/?x=1"  # the token does not stay in the address
    cookie = came.history[0].headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert client.get("/").text == "inside"


def test_nothing_may_be_fetched_from_elsewhere(inside):
    headers = inside.get("/").headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"


def test_pages_of_other_sites_are_refused(inside):
    assert inside.get("/", headers={"host": "evil.example:8377"}).status_code == 403
    assert inside.get("/", headers={"origin": "http://evil.example"}).status_code == 403
    assert inside.post("/", headers={"origin": "http://127.0.0.1:9999"}).status_code == 403
    assert inside.post("/").status_code == 403
    assert inside.post("/", headers={"origin": HOME}).text == "inside"


def test_sockets_need_the_cookie_and_the_origin(inside):
    for client, origin in ((visitor(), HOME), (inside, "http://evil.example"), (inside, None)):
        headers = {} if origin is None else {"origin": origin}
        with (
            pytest.raises(WebSocketDisconnect),
            client.websocket_connect("ws://127.0.0.1:8377/ws", headers=headers),
        ):
            pass
    with inside.websocket_connect("ws://127.0.0.1:8377/ws", headers={"origin": HOME}) as found:
        assert found.receive_text() == "inside"


def test_the_password(monkeypatch):
    monkeypatch.setattr(module.asyncio, "sleep", lambda seconds: _nothing())
    client = visitor("a long password", local=False, base="http://studio.example:8377")
    own = {"origin": "http://studio.example:8377"}
    asked = client.get("/")
    assert asked.status_code == 401
    assert 'type="password"' in asked.text
    for _ in range(10):
        assert client.post("/login", data={"password": "no"}, headers=own).status_code == 401
    right = {"password": "a long password"}
    assert client.post("/login", data=right, headers=own).status_code == 429
    client = visitor("a long password", local=False, base="http://studio.example:8377")
    assert client.post("/login", data=right, headers=own).text == "inside"


async def _nothing():
    return None


def test_too_much_is_not_taken(inside, monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 10)
    monkeypatch.setattr(module, "_ROOM", 10)
    assert inside.post("/", content=b"x" * 15, headers={"origin": HOME}).text == "inside"
    with pytest.raises(ClientDisconnect):
        inside.post("/", content=b"x" * 50, headers={"origin": HOME})


@pytest.mark.parametrize(
    ("options", "told"),
    [({"host": "0.0.0.0"}, "--password"), ({"host": "0.0.0.0", "password": "short"}, "8 letters")],
)
def test_other_machines_need_a_password(options, told):
    with pytest.raises(ValueError, match=told):
        serve(None, **options)
