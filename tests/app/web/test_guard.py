"""The guard in front of all requests, without a server around it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from app.web import login_cookie, login_middleware, visitors
from profiledb.access.operations.tokens import Token


class Slow:
    """Tokens in a slow database: the thread that serves all pages must not be the one that looks them up."""

    def shown(self, _: str) -> Token:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        return Token("1", "ada", "viewer", "", "")


def test_a_database_of_tokens_that_is_slow_holds_up_nobody_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WARPDECK_DATA", str(tmp_path))
    sent: list[Message] = []
    scope: dict[str, Any] = {
        "type": "http", "method": "GET", "path": "/api/v1/reports", "headers": [(b"authorization", b"Bearer wd_1_2")],
    }  # fmt: skip

    async def answer(scope: Scope, _: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200 if visitors.get_visitor(scope).name == "ada" else 500})

    async def ask() -> None:
        async def send(message: Message) -> None:
            sent.append(message)

        await login_middleware.LoginRequiredMiddleware(answer)(scope, None, send)  # type: ignore[arg-type]

    monkeypatch.setattr(login_cookie, "has_login", lambda: True)
    monkeypatch.setattr(login_middleware, "open_tokens", lambda _: Slow())
    asyncio.run(ask())
    assert [message["status"] for message in sent] == [200]
