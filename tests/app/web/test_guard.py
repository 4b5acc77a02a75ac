"""The guard in front of all requests, without a server around it."""

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from app.web import identity, login, visitors
from app.web.roles import Standing
from profiledb.report.visitor import Visitor


def test_a_database_of_tokens_that_is_slow_holds_up_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever shows a token is looked up in the database: not by the thread that serves all pages."""
    sent: list[Message] = []
    ada = Visitor("ada", "token")

    def looked_up(_: Scope) -> tuple[Standing, Visitor]:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        return Standing.VIEWER, ada

    async def answer(scope: Scope, _: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200 if visitors.of(scope) == ada else 500})

    async def ask() -> None:
        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": "/api/v1/reports", "headers": []}
        await login.LoginGuard(answer)(scope, None, send)  # type: ignore[arg-type]

    monkeypatch.setattr(identity, "login", lambda: True)
    monkeypatch.setattr(login, "sender", looked_up)
    asyncio.run(ask())
    assert [message["status"] for message in sent] == [200]
