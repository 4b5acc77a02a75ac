"""Around Streamlit's login: it notes who logs in, ends a login on the server, and says what went wrong.

Streamlit's own logout takes the cookies off the browser at any GET and leaves copies of them good. Here a POST from our
own pages ends the login (library/logins.py), as the button of the pages does by their WebSocket. Streamlit's address is
then passed on for what remains: to clear the cookies, and to log out at the identity provider.
"""

from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web import login_cookie, login_state, refusal_throttle, url_paths
from profiledb import config
from profiledb.errors import CatalogError

LOGIN_PATH = "/auth/login"
CALLBACK_PATH = "/oauth2callback"
LOGOUT_PATH = "/auth/logout"
PROVIDER_UNAVAILABLE = (
    "The identity provider does not answer, or refuses this server. Try again in a moment. Who is logged in goes on."
)
TOO_MANY_LOGINS = "Too many logins from here were refused. Try again later."
_lookups = CapacityLimiter(8)


class SignInMiddleware:
    """Answers around these three addresses of Streamlit."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on everything else."""
        path = url_paths.strip_base(scope).rstrip("/") if scope["type"] == "http" and login_cookie.has_login() else ""
        answer = {LOGIN_PATH: self._log_in, CALLBACK_PATH: self._call_back, LOGOUT_PATH: self._log_out}.get(
            path, self.app
        )
        try:
            await answer(scope, receive, send)
        except CatalogError as error:
            await PlainTextResponse(f"{error.message} {error.hint}", 503)(scope, receive, send)

    async def _log_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers 503 with words where Streamlit could not send somebody to the provider (400)."""
        start, rest = await self._ask(scope, receive)
        if start["status"] == 400:
            await PlainTextResponse(PROVIDER_UNAVAILABLE, 503)(scope, receive, send)
        else:
            await _send(send, start, rest)

    async def _call_back(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Where the provider sends people to: Streamlit's answer has its cookie where the login went well."""
        start, rest = await self._ask(scope, receive)
        told = login_cookie.read_claims(_read_set_cookies(start))
        if told.get("is_logged_in") is True:
            made = await to_thread.run_sync(
                login_state.begin_login, told, refusal_throttle.get_address(scope), limiter=_lookups
            )
            _set_cookie(start, made, int(min(config.load().login_hours * 3600, _MAX_COOKIE_S)))
        elif _is_refused_login(scope) and (
            wait := await refusal_throttle.count_refusal(scope, "refused login", "login")
        ):
            await PlainTextResponse(TOO_MANY_LOGINS, 429, wait)(scope, receive, send)
            return
        await _send(send, start, rest)

    async def _log_out(self, scope: Scope, receive: Receive, send: Send) -> None:
        """POST ends a login, from our own pages alone; GET only clears the cookies of one that has ended."""
        cookies = HTTPConnection(scope).cookies
        told = await to_thread.run_sync(login_state.read_live_claims, cookies, limiter=_lookups)
        if scope["method"] == "POST":
            if not Headers(scope=scope).get("origin"):  # which one it is web.hosts has looked at
                await PlainTextResponse("Log out from a page of this server.", 403)(scope, receive, send)
                return
            await to_thread.run_sync(login_state.end_login, told, limiter=_lookups)
        elif told:
            words = "Log out with the button on a page."
            await PlainTextResponse(words, 405, {"Allow": "POST"})(scope, receive, send)
            return
        elif not login_cookie.read_claims(cookies):
            await RedirectResponse(url_paths.add_base("/"), 303)(scope, receive, send)
            return
        start, rest = await self._ask(dict(scope) | {"method": "GET"}, receive)
        start["status"] = 303
        _set_cookie(start, "", 0)
        await _send(send, start, rest)

    async def _ask(self, scope: Scope, receive: Receive) -> tuple[Message, list[Message]]:
        """What Streamlit answers, which is short: its start, and the rest."""
        said: list[Message] = []

        async def keep(message: Message) -> None:
            said.append(message)

        await self.app(scope, receive, keep)
        return said[0], said[1:]


_MAX_COOKIE_S = 30 * 24 * 3600.0
"""How long Streamlit has browsers keep its cookie."""


def _is_refused_login(scope: Scope) -> bool:
    """Whether somebody came from the provider to log in; without these, they have logged out there."""
    return not QueryParams(scope["query_string"]).keys().isdisjoint({"code", "error"})


def _read_set_cookies(start: Message) -> dict[str, str]:
    """The cookies that an answer sets."""
    found: dict[str, str] = {}
    for text in Headers(raw=start["headers"]).getlist("set-cookie"):
        try:
            found |= {name: one.value for name, one in SimpleCookie(text).items() if one.value}
        except CookieError:
            continue
    return found


def _set_cookie(start: Message, value: str, seconds: int) -> None:
    """Adds the cookie of a login to an answer; without a value it takes that away."""
    made = Response()
    made.set_cookie(
        login_state.COOKIE, value, max_age=seconds, path=url_paths.add_base("/"), httponly=True, samesite="lax"
    )
    start["headers"] = list(start["headers"])
    MutableHeaders(raw=start["headers"]).append("set-cookie", made.headers["set-cookie"])


async def _send(send: Send, start: Message, rest: Sequence[Message]) -> None:
    for message in (start, *rest):
        await send(message)
