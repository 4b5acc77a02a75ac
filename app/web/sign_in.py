"""Where the identity provider cannot be used, Streamlit says "Authentication error" alone; here are words for it."""

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web import paths

PATH = "/auth/login"
WORDS = (
    "The identity provider does not answer, or refuses this server. Try again in a moment. Who is logged in goes on."
)


class SignIn:
    """Answers 503 with words where Streamlit could not send somebody to the provider (400)."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on everything else."""
        if scope["type"] != "http" or paths.below(scope) != PATH:
            await self.app(scope, receive, send)
            return
        failed = False

        async def kept(message: Message) -> None:
            nonlocal failed
            failed = failed or message.get("status") == 400
            if not failed:
                await send(message)

        await self.app(scope, receive, kept)
        if failed:
            await PlainTextResponse(WORDS, 503)(scope, receive, send)
