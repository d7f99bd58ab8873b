"""The door of the screening page: who may ask, from where, how much, and what every answer says about itself.

The token is the first part of every path, so a request that does not know it gets nowhere, whatever page of whatever
site sent it; nothing is kept in cookies that another server on the same machine would be sent. On top of that a request
must name this machine (a site that points its own name here is refused), and must come from the page itself. Only
opening the page may begin elsewhere: a person follows a link.
"""

import hmac
import ipaddress
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 16_384
"""Of a request's body; the longest we send is a few hundred."""
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self'; style-src 'self'; object-src 'none'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Guard:
    """Lets through what is allowed and refuses the rest before anything else sees it."""

    def __init__(self, app: "ASGIApp", token: str, allowed: Callable[[str], bool]) -> None:
        self._app, self._token, self._allowed = app, token.encode(), allowed

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def send_marked(message: "Message") -> None:
            if message["type"] == "http.response.start":
                own = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *own]}
            await send(message)

        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        token, _, rest = scope["path"].removeprefix("/").partition("/")
        refused = self._refusal(scope, token, rest)
        if refused:
            await _refuse(send_marked, *refused)
            return
        body = await _body(receive)
        if body is None:
            await _refuse(send_marked, 413, "The request is too large.")
            return
        inner = {**scope, "path": "/" + rest, "raw_path": ("/" + rest).encode(), "root_path": ""}
        await self._app(inner, _replay(body, receive), send_marked)

    def _refusal(self, scope: "Scope", token: str, rest: str) -> tuple[int, str] | None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if not self._allowed(host):
            return 421, "This name does not belong to the screening page."
        if not hmac.compare_digest(token.encode(), self._token):
            return 403, "The address is not complete or no longer valid; open the one that discreet screen printed."
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            return 403, "Requests from other pages are refused."
        site, opening = headers.get("sec-fetch-site", "none"), not rest and scope["method"] == "GET"
        navigates = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
        if site not in ("none", "same-origin") and not (opening and navigates):
            return 403, "Requests from other pages are refused."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return 413, "The request is too large."
        if scope["method"] == "POST" and headers.get("content-type", "").split(";")[0] != "application/json":
            return 415, "Only JSON is understood."
        return None


def host_check(port: int, name: str, *, remote: bool) -> Callable[[str], bool]:
    """Which Host headers are ours: this machine by its loopback names; in remote use any bare address, or our name."""

    def allowed(host: str) -> bool:
        found, _, found_port = host.rpartition(":")
        found = found.removeprefix("[").removesuffix("]").lower()
        if found_port != str(port):
            return False
        return found in LOOPBACK_NAMES or (remote and (found == name.lower() or _is_address(found)))

    return allowed


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def _refuse(send: "Send", status: int, sentence: str) -> None:
    body = sentence.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _body(receive: "Receive") -> bytes | None:
    """The body of a request, or None for one that is longer than it may be."""
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return body
        body += message.get("body", b"")
        if len(body) > MOST_BYTES:
            return None
        if not message.get("more_body", False):
            return body


def _replay(body: bytes, receive: "Receive") -> "Receive":
    """Hands the body that was read on to the application."""
    given = False

    async def again() -> "Message":
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
