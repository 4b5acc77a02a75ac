"""Sharing links: the address that a link is, the cookie that it becomes, and who comes with it.

A link is ``/shared/SECRET``. Whoever opens it gets the secret as a cookie, which opens pages of that one report and
what they ask for, until the link ends. The catalog is asked each time: a link that somebody ends opens nothing more.
"""

from collections.abc import Mapping

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from streamlit.auth_util import get_origin_from_redirect_uri

from app import pages
from app.web import identity, paths, visitors
from profiledb import config
from profiledb.report.shares import Share
from profiledb.report.visitor import Visitor

PREFIX = "/shared/"
COOKIE = "warpdeck_share"


def allowed() -> bool:
    """Whether links open anything: there is a login, and whoever runs the server allows links."""
    return identity.login() and config.load().login_link_days >= 1


def address(secret: str) -> str:
    """The link, as it is sent."""
    return f"{get_origin_from_redirect_uri() or ''}{paths.at(PREFIX)}{secret}"


def of(cookies: Mapping[str, str]) -> Share | None:
    """The link that somebody has opened before; None where there is none, or it has ended."""
    secret = cookies.get(COOKIE, "")
    return visitors.whole().catalog.shares.shown(secret) if secret and allowed() else None


def visitor(share: Share) -> Visitor:
    """Who comes with a link: they see its report and nothing else."""
    return Visitor(f"link {share.id}", "link", frozenset(), share.report_id)


def route() -> Route:
    """The addresses of links, below that of the dashboard."""
    return Route(f"{paths.at(PREFIX)}{{secret}}", _opened, methods=["GET"])


async def _opened(request: Request) -> Response:
    secret = request.path_params["secret"]
    shares = visitors.whole().catalog.shares
    share = await to_thread.run_sync(shares.shown, secret) if allowed() else None
    if share is None:
        return PlainTextResponse("This link does not exist, or has ended.", status_code=404, headers=_FRESH)
    report = await to_thread.run_sync(visitors.whole().find, share.report_id)
    to = f"{paths.at('/')}{pages.first(report).url}?report={report.id}"
    answer = RedirectResponse(to, status_code=303, headers=_FRESH)
    origin = get_origin_from_redirect_uri() or ""
    answer.set_cookie(
        COOKIE, secret, max_age=int(share.seconds), path=paths.at("/"), secure=origin.startswith("https:"),
        httponly=True, samesite="lax",
    )  # fmt: skip
    return answer


_FRESH = {"Cache-Control": "no-store"}
