"""Sharing links: the address that a link is, the cookie that it becomes, and who comes with it.

A link is ``/shared/SECRET``. Whoever opens it gets the secret as a cookie, which opens pages of that one report and
what they ask for, until the link ends. The catalog is asked each time: a link that somebody ends opens nothing more.
"""

import time
from collections.abc import Mapping

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from app import page_list
from app.web import login_cookie, login_generation, refusal_throttle, roles, url_paths, visitors
from app.web.roles import Standing
from profiledb import config
from profiledb.errors import CatalogError
from profiledb.library.sharing_links import Share
from profiledb.library.visitor import Visitor

PREFIX = "/shared/"
COOKIE = "warpdeck_share"


def allowed() -> bool:
    """Whether links open anything: there is a login, and whoever runs the server allows links."""
    return login_cookie.login() and config.load().login_link_days >= 1


def address(secret: str) -> str:
    """The link, as it is sent."""
    return f"{login_cookie.origin()}{url_paths.at(PREFIX)}{secret}"


def of(cookies: Mapping[str, str]) -> Share | None:
    """The link that somebody has opened before; None where there is none, or it has ended."""
    secret = cookies.get(COOKIE, "")
    return visitors.whole().catalog.sharing_links.find(secret) if secret and allowed() else None


def visitor(share: Share) -> Visitor:
    """Who comes with a link: they see its report and nothing else."""
    return Visitor(f"link {share.id}", "link", frozenset(), share.report_id)


def route() -> Route:
    """The addresses of links, below that of the dashboard."""
    return Route(f"{url_paths.at(PREFIX)}{{secret}}", _opened, methods=["GET"])


async def _opened(request: Request) -> Response:
    try:
        answer = await to_thread.run_sync(
            _answer, request.path_params["secret"], request.cookies, refusal_throttle.address_of(request.scope)
        )
        if answer.status_code == 404 and (wait := await refusal_throttle.refuse(request.scope, "refused link", "link")):
            return PlainTextResponse(_TOO_MANY, status_code=429, headers=_FRESH | wait)
        return answer
    except CatalogError as error:  # the database that has the links is away
        return PlainTextResponse(f"{error.message} {error.hint}", status_code=503, headers=_FRESH)


def _answer(secret: str, cookies: Mapping[str, str], address: str) -> Response:
    whole = visitors.whole()
    share = whole.catalog.sharing_links.find(secret) if allowed() else None
    if share is None:
        return PlainTextResponse("This link does not exist, or has ended.", status_code=404, headers=_FRESH)
    report = whole.find(share.report_id)
    to = f"{url_paths.at('/')}{page_list.first(report).url}?report={report.id}"
    answer = RedirectResponse(to, status_code=303, headers=_FRESH)
    claims, settings, now = login_generation.claims(cookies), config.load(), time.time()
    if roles.standing(claims, settings, now) >= Standing.VIEWER:
        if whole.asked_by(roles.visitor(claims, settings, now)).catalog.visibility.sees_report(report.id):
            return answer
        return PlainTextResponse(_LOGGED_IN, status_code=403, headers=_FRESH)
    whole.asked_by(visitor(share)).catalog.audit.write_or_log("opened link", report.id, f"from {address}")
    answer.set_cookie(COOKIE, secret, max_age=int(share.seconds), path=url_paths.at("/"), httponly=True, samesite="lax")
    return answer


_TOO_MANY = "Too many links from here were refused. Try again later."
_FRESH = {"Cache-Control": "no-store"}
_LOGGED_IN = (
    "You are logged in, and this report is in a space that you do not see. To open it by the link alone, open the link"
    " in a private window, or log out first."
)
