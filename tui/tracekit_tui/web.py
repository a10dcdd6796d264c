"""The same explorer in a browser, on loopback only, behind a token in the address."""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web
from textual_serve.server import Server

COOKIE = "tracekit_token"
PAGE = Path(__file__).with_name("page")
"""Our own page: that of textual-serve fetches a font from another machine, and waits for a click before keys work."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class TokenServer(Server):
    """Serves one command; whoever does not know the token gets nothing, not even the page."""

    def __init__(self, command: str, *, port: int, token: str | None = None) -> None:
        self.token = token or secrets.token_urlsafe(24)
        super().__init__(
            command, host="127.0.0.1", port=port or free_port(), title="tracekit", templates_path=PAGE
        )

    @property
    def address(self) -> str:
        """Where a person opens it."""
        return f"{self.public_url}/?token={self.token}"

    def initialize_logging(self) -> None:
        # The log of requests would write the token on the terminal once for each of them.
        logging.basicConfig(level=logging.ERROR)

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._guarded(request, handler)

        app.middlewares.append(guard)
        return app

    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        # A page of another site may send requests here, but with its own origin, or under its own name.
        if request.host != f"{self.host}:{self.port}":
            raise web.HTTPForbidden(text=f"expected the host {self.host}:{self.port}")
        if request.headers.get("Origin", self.public_url) != self.public_url:
            raise web.HTTPForbidden(text="requests of other sites are refused")
        given = request.query.get("token") or request.cookies.get(COOKIE, "")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode()):
            raise web.HTTPForbidden(text="open the address with its token, as it was printed")
        response = await handler(request)
        if not response.prepared:
            response.set_cookie(COOKIE, self.token, httponly=True, samesite="Strict")
            response.headers.update(self._rules())
        return response

    def _rules(self) -> dict[str, str]:
        """Headers by which the browser itself lets nothing in or out but this server."""
        own = f"'self' 'unsafe-inline'; connect-src 'self' ws://{self.host}:{self.port}"
        return {
            "Content-Security-Policy": f"default-src {own}; img-src 'self' data:; frame-ancestors 'none'",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }

    async def on_startup(self, app: web.Application) -> None:
        """Say nothing yet: at this moment the port does not listen."""

    def serve(self, debug: bool = False) -> None:
        """Serve until Ctrl-C; the address is told once it can be opened."""
        self.debug = debug
        self.initialize_logging()
        loop = asyncio.new_event_loop()
        for ending in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(ending, self.request_exit)
        web.run_app(
            self._make_app(),
            host=self.host,
            port=self.port,
            handle_signals=False,
            loop=loop,
            print=self._announce,
        )

    def _announce(self, *_: object) -> None:
        print(f"tracekit: the explorer is at {self.address} (Ctrl-C ends it)", file=sys.stderr, flush=True)


def free_port() -> int:
    """A port of loopback that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def serve(command: str, port: int) -> int:
    """Serve *command* until Ctrl-C; 0."""
    TokenServer(command, port=port).serve()
    return 0
