"""Open sharing links: ``/shared/SECRET`` turns into a cookie that opens the pages of one report until the link ends.

Every request asks the catalog, so that ending a link closes it at once.
"""

import time
from collections.abc import Mapping

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from app import page_list, streamlit_private
from app.web import login_cookie, login_state, refusal_throttle, roles, url_paths, visitors
from app.web.roles import Standing
from profiledb import config
from profiledb.errors import CatalogError
from profiledb.library.sharing_links import Share
from profiledb.library.visitor import Visitor

PREFIX = "/shared/"
COOKIE = "warpdeck_share"
_TOO_MANY_LINKS = "Too many links from here were refused. Try again later."
_NO_STORE = {"Cache-Control": "no-store"}
_SPACE_NOT_VISIBLE = (
    "You are logged in, and this report is in a space that you do not see. To open it by the link alone, open the link"
    " in a private window, or log out first."
)


def are_links_allowed() -> bool:
    """Return True if sharing links work: the server has a login, and its settings allow links."""
    return login_cookie.has_login() and config.load().login_link_days >= 1


def make_link(secret: str) -> str:
    """Return the address that people send to each other."""
    return f"{streamlit_private.get_login_origin()}{url_paths.add_base(PREFIX)}{secret}"


def find_share(cookies: Mapping[str, str]) -> Share | None:
    """Return the sharing link that a browser opened before; None without one, or if it has ended."""
    secret = cookies.get(COOKIE, "")
    return visitors.get_whole_library().catalog.sharing_links.find(secret) if secret and are_links_allowed() else None


def make_visitor(share: Share) -> Visitor:
    """Return the visitor that a sharing link stands for, who sees its report alone."""
    return Visitor(f"link {share.id}", "link", frozenset(), share.report_id)


def make_route() -> Route:
    """Return the route of all sharing links."""
    return Route(f"{url_paths.add_base(PREFIX)}{{secret}}", _open_link, methods=["GET"])


async def _open_link(request: Request) -> Response:
    scope = request.scope
    try:
        secret, address = request.path_params["secret"], refusal_throttle.get_address(scope)
        response = await to_thread.run_sync(_respond_to_link, secret, request.cookies, address)
        if response.status_code != 404:
            return response
        wait = await refusal_throttle.count_refusal(scope, "refused link", "link")
        return PlainTextResponse(_TOO_MANY_LINKS, status_code=429, headers=_NO_STORE | wait) if wait else response
    except CatalogError as error:  # the database with the links is unreachable
        return PlainTextResponse(f"{error.message} {error.hint}", status_code=503, headers=_NO_STORE)


def _respond_to_link(secret: str, cookies: Mapping[str, str], address: str) -> Response:
    library = visitors.get_whole_library()
    share = library.catalog.sharing_links.find(secret) if are_links_allowed() else None
    if share is None:
        return PlainTextResponse("This link does not exist, or has ended.", status_code=404, headers=_NO_STORE)
    report = library.find(share.report_id)
    target = f"{url_paths.add_base('/')}{page_list.get_first_view(report).url}?report={report.id}"
    response = RedirectResponse(target, status_code=303, headers=_NO_STORE)
    claims, settings, now = login_state.read_live_claims(cookies), config.load(), time.time()
    if roles.get_standing(claims, settings, now) >= Standing.VIEWER:
        if library.asked_by(roles.make_visitor(claims, settings, now)).catalog.visibility.sees_report(report.id):
            return response
        return PlainTextResponse(_SPACE_NOT_VISIBLE, status_code=403, headers=_NO_STORE)
    library.asked_by(make_visitor(share)).catalog.audit.write_or_log("opened link", report.id, f"from {address}")
    base = url_paths.add_base("/")
    response.set_cookie(COOKIE, secret, max_age=int(share.seconds), path=base, httponly=True, samesite="lax")
    return response
