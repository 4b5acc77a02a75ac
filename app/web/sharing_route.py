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
from app.web import login_cookie, login_state, refusal_throttle, roles, url_paths, visitors
from app.web.roles import Standing
from profiledb import config
from profiledb.errors import CatalogError
from profiledb.library.sharing_links import Share
from profiledb.library.visitor import Visitor

PREFIX = "/shared/"
COOKIE = "warpdeck_share"


def are_links_allowed() -> bool:
    """Whether links open anything: there is a login, and whoever runs the server allows links."""
    return login_cookie.has_login() and config.load().login_link_days >= 1


def make_link(secret: str) -> str:
    """The link, as it is sent."""
    return f"{login_cookie.get_origin()}{url_paths.add_base(PREFIX)}{secret}"


def find_share(cookies: Mapping[str, str]) -> Share | None:
    """The link that somebody has opened before; None where there is none, or it has ended."""
    secret = cookies.get(COOKIE, "")
    return visitors.get_whole_library().catalog.shares.shown(secret) if secret and are_links_allowed() else None


def make_visitor(share: Share) -> Visitor:
    """Who comes with a link: they see its report and nothing else."""
    return Visitor(f"link {share.id}", "link", frozenset(), share.report_id)


def make_route() -> Route:
    """The addresses of links, below that of the dashboard."""
    return Route(f"{url_paths.add_base(PREFIX)}{{secret}}", _open_link, methods=["GET"])


async def _open_link(request: Request) -> Response:
    try:
        answer = await to_thread.run_sync(
            _respond, request.path_params["secret"], request.cookies, refusal_throttle.get_address(request.scope)
        )
        if answer.status_code == 404 and (
            wait := await refusal_throttle.count_refusal(request.scope, "refused link", "link")
        ):
            return PlainTextResponse(_TOO_MANY_LINKS, status_code=429, headers=_NO_STORE | wait)
        return answer
    except CatalogError as error:  # the database that has the links is away
        return PlainTextResponse(f"{error.message} {error.hint}", status_code=503, headers=_NO_STORE)


def _respond(secret: str, cookies: Mapping[str, str], address: str) -> Response:
    whole = visitors.get_whole_library()
    share = whole.catalog.shares.shown(secret) if are_links_allowed() else None
    if share is None:
        return PlainTextResponse("This link does not exist, or has ended.", status_code=404, headers=_NO_STORE)
    report = whole.find(share.report_id)
    to = f"{url_paths.add_base('/')}{page_list.get_first_view(report).url}?report={report.id}"
    answer = RedirectResponse(to, status_code=303, headers=_NO_STORE)
    claims, settings, now = login_state.read_live_claims(cookies), config.load(), time.time()
    if roles.get_standing(claims, settings, now) >= Standing.VIEWER:
        if whole.asked_by(roles.make_visitor(claims, settings, now)).catalog.sight.sees(report.id):
            return answer
        return PlainTextResponse(_SPACE_NOT_VISIBLE, status_code=403, headers=_NO_STORE)
    whole.asked_by(make_visitor(share)).catalog.audit.tell("opened link", report.id, f"from {address}")
    answer.set_cookie(
        COOKIE, secret, max_age=int(share.seconds), path=url_paths.add_base("/"), httponly=True, samesite="lax"
    )
    return answer


_TOO_MANY_LINKS = "Too many links from here were refused. Try again later."
_NO_STORE = {"Cache-Control": "no-store"}
_SPACE_NOT_VISIBLE = (
    "You are logged in, and this report is in a space that you do not see. To open it by the link alone, open the link"
    " in a private window, or log out first."
)
