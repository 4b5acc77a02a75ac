"""Wrap Streamlit's login routes: record logins, end them on the server, and explain failures.

Streamlit's own logout removes the cookies from the browser on any GET, and leaves copies of them valid. Here a POST
from our own pages ends the login (library/logins.py), as the pages' button does by WebSocket. Streamlit's route then
does the rest: it clears the cookies and logs out at the identity provider.
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
    "The identity provider does not answer, or refuses this server. Try again in a moment. Users who are logged in stay"
    " logged in."
)
TOO_MANY_LOGINS = "Too many logins from here were refused. Try again later."
_MAX_COOKIE_S = 30 * 24 * 3600.0
"""Seconds that browsers keep Streamlit's own cookie."""
_lookups = CapacityLimiter(8)


class SignInMiddleware:
    """Handle the three login routes of Streamlit."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        path = url_paths.strip_base(scope).rstrip("/") if scope["type"] == "http" and login_cookie.has_login() else ""
        routes = {LOGIN_PATH: self._log_in, CALLBACK_PATH: self._handle_callback, LOGOUT_PATH: self._log_out}
        try:
            await routes.get(path, self.app)(scope, receive, send)
        except CatalogError as error:
            await PlainTextResponse(f"{error.message} {error.hint}", 503)(scope, receive, send)

    async def _log_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send people to the provider. Streamlit answers 400 if it cannot reach the provider, which is a 503."""
        start, rest = await self._call_app(scope, receive)
        if start["status"] == 400:
            await PlainTextResponse(PROVIDER_UNAVAILABLE, 503)(scope, receive, send)
        else:
            await _send_response(send, start, rest)

    async def _handle_callback(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Record the login of somebody who comes back from the provider: Streamlit's response then sets its cookie."""
        start, rest = await self._call_app(scope, receive)
        claims = login_cookie.read_claims(_read_set_cookies(start))
        if claims.get("is_logged_in") is True:
            address = refusal_throttle.get_address(scope)
            cookie = await to_thread.run_sync(login_state.begin_login, claims, address, limiter=_lookups)
            _set_cookie(start, cookie, int(min(config.load().login_hours * 3600, _MAX_COOKIE_S)))
        elif wait := await _count_refused_login(scope):
            await PlainTextResponse(TOO_MANY_LOGINS, 429, wait)(scope, receive, send)
            return
        await _send_response(send, start, rest)

    async def _log_out(self, scope: Scope, receive: Receive, send: Send) -> None:
        """End the login on a POST from our own pages; on a GET only clear the cookies of a login that has ended."""
        cookies = HTTPConnection(scope).cookies
        claims = await to_thread.run_sync(login_state.read_live_claims, cookies, limiter=_lookups)
        if scope["method"] == "POST":
            if not Headers(scope=scope).get("origin"):  # TrustedHostMiddleware has checked which origin it is
                await PlainTextResponse("Log out from a page of this server.", 403)(scope, receive, send)
                return
            await to_thread.run_sync(login_state.end_login, claims, limiter=_lookups)
        elif claims:
            message = "Log out with the button on a page."
            await PlainTextResponse(message, 405, {"Allow": "POST"})(scope, receive, send)
            return
        elif not login_cookie.read_claims(cookies):
            await RedirectResponse(url_paths.add_base("/"), 303)(scope, receive, send)
            return
        start, rest = await self._call_app(dict(scope) | {"method": "GET"}, receive)
        start["status"] = 303
        _set_cookie(start, "", 0)
        await _send_response(send, start, rest)

    async def _call_app(self, scope: Scope, receive: Receive) -> tuple[Message, list[Message]]:
        """Return Streamlit's response, which is short: its start, and the messages after it."""
        messages: list[Message] = []

        async def collect(message: Message) -> None:
            messages.append(message)

        await self.app(scope, receive, collect)
        return messages[0], messages[1:]


async def _count_refused_login(scope: Scope) -> dict[str, str]:
    """Count a failed login; return the headers of a 429 if the sender has to wait.

    People also come back from logging out at the provider, without these parameters: that is no login.
    """
    if QueryParams(scope["query_string"]).keys().isdisjoint({"code", "error"}):
        return {}
    return await refusal_throttle.count_refusal(scope, "refused login", "login")


def _read_set_cookies(start: Message) -> dict[str, str]:
    """Return the cookies that a response sets."""
    cookies: dict[str, str] = {}
    for header in Headers(raw=start["headers"]).getlist("set-cookie"):
        try:
            cookies |= {name: cookie.value for name, cookie in SimpleCookie(header).items() if cookie.value}
        except CookieError:
            continue
    return cookies


def _set_cookie(start: Message, value: str, seconds: int) -> None:
    """Add the login cookie to a response; an empty value with 0 seconds removes it from the browser."""
    response = Response()
    response.set_cookie(
        login_state.COOKIE, value, max_age=seconds, path=url_paths.add_base("/"), httponly=True, samesite="lax"
    )
    start["headers"] = list(start["headers"])
    MutableHeaders(raw=start["headers"]).append("set-cookie", response.headers["set-cookie"])


async def _send_response(send: Send, start: Message, rest: Sequence[Message]) -> None:
    for message in (start, *rest):
        await send(message)
