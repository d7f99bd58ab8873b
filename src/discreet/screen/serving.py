"""Serving the screening page: an address only this machine can reach, a token nobody can guess, no log of requests."""

import contextlib
import html
import secrets
import socket
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from discreet.errors import MissingPackageError, RefusedError, SettingError
from discreet.screen.guard import host_check, is_loopback
from discreet.screen.result import result_paths, write_results
from discreet.screen.screening import Screening
from discreet.screen.server import INSTALL, make_app


def serve(
    screening: Screening,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    allow_remote: bool = False,
    screened: str | Path | None = None,
    miss_rate: str | Path | None = None,
    on_ready: Callable[[str], None],
) -> bool:
    """Serves the page until it is closed there or by Ctrl-C; whether all records are screened then.

    `on_ready` is told the page's address, which holds the token: show it to those who screen and log it nowhere.
    """
    try:
        import uvicorn
    except ModuleNotFoundError:
        raise MissingPackageError(INSTALL) from None

    if not is_loopback(host) and not allow_remote:
        raise RefusedError(
            f"{host}: other machines could reach the page there, and records would travel unencrypted; "
            "serve on 127.0.0.1, or allow it with --allow-remote."
        )
    result_paths(screening, screened, miss_rate)

    def on_result() -> dict[str, Any]:
        result, records_path, rate_path = write_results(screening, screened, miss_rate)
        return result.as_dict() | {"files": [str(records_path), *([str(rate_path)] if rate_path else [])]}

    def on_stop() -> None:
        server.should_exit = True

    token = secrets.token_urlsafe(32)
    with bound(host, port) as listening:
        port = listening.getsockname()[1]
        allowed = host_check(port, host, remote=allow_remote)
        app = make_app(screening, token, allowed=allowed, on_result=on_result, on_stop=on_stop)
        config = uvicorn.Config(
            app, access_log=False, log_config=None, server_header=False, lifespan="off", timeout_graceful_shutdown=3
        )
        server = uvicorn.Server(config)
        listening.listen()  # whoever is quicker than the server waits for it
        on_ready(f"http://{_shown(host)}:{port}/{token}/")
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    progress = screening.store.progress()
    return progress.done == progress.total


@contextlib.contextmanager
def bound(host: str, port: int) -> Iterator[socket.socket]:
    """A listening socket, so that the port is known before anything is served."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise SettingError(f"{host}: not an address of this machine ({error.strerror}); leave --host out.") from None
    with listening:
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
        except OSError as error:
            raise SettingError(
                f"Port {port} on {host} cannot be used ({error.strerror}); choose another, or 0 for any free one."
            ) from None
        yield listening


@contextlib.contextmanager
def browser_opened(url: str) -> Iterator[None]:
    """Opens the page in a browser, by way of a private file: what a program is called with is for all users to see."""
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        page = Path(folder) / "open.html"
        page.touch(mode=0o600)
        page.write_text(
            f'<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0; url={html.escape(url)}"><title>discreet</title>',
            encoding="utf-8",
        )
        webbrowser.open(page.as_uri())
        yield


def _shown(host: str) -> str:
    """The address to print: for a socket on all addresses, the one that other machines know."""
    if host in ("0.0.0.0", "::"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:  # connecting UDP sends nothing
            try:
                probe.connect(("192.0.2.1", 9))
                return str(probe.getsockname()[0])
            except OSError:
                return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
