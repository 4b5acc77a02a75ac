"""If the database does not answer about a token, other requests do not wait."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from app.web import login_cookie, login_middleware
from app.web.login_middleware import LoginRequiredMiddleware


class Hanging:
    """Tokens in a database that hangs until somebody else has had an answer."""

    def __init__(self) -> None:
        self.answered = threading.Event()

    def shown(self, _: str) -> None:
        assert self.answered.wait(30)  # and there is no such token


def test_others_are_answered_meanwhile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tokens = Hanging()
    monkeypatch.setenv("WARPDECK_DATA", str(tmp_path))
    monkeypatch.setattr(login_cookie, "has_login", lambda: True)
    monkeypatch.setattr(login_middleware, "open_tokens", lambda _: tokens)
    ended: list[str] = []

    async def ask(path: str, headers: list[tuple[bytes, bytes]]) -> int:
        said: list[dict[str, Any]] = []

        async def send(message: Any) -> None:
            said.append(message)

        async def receive() -> Any:
            return {"type": "http.request"}

        scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "headers": headers}
        await LoginRequiredMiddleware(PlainTextResponse("pages"))(scope, receive, send)
        ended.append(path)
        return int(said[0]["status"])

    async def both() -> tuple[int, int]:
        asks = asyncio.create_task(ask("/api/v1/reports", [(b"authorization", b"Bearer wd_x")]))
        await asyncio.sleep(0)
        other = await ask("/health", [])
        tokens.answered.set()
        return await asks, other

    assert asyncio.run(both()) == (401, 200)
    assert ended == ["/health", "/api/v1/reports"]
