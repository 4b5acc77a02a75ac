"""Who sent a request, as ``web.login`` has found it, and the library as they see it: routes ask here."""

from starlette.types import Scope

from app.web import login_cookie
from profiledb import config
from profiledb.library.library import Library
from profiledb.library.locations import open_library
from profiledb.library.visitor import LOCAL, Visitor

_KEY = "warpdeck.visitor"


def set_visitor(scope: Scope, visitor: Visitor) -> None:
    """Writes down who sent a request."""
    scope[_KEY] = visitor


def get_visitor(scope: Scope) -> Visitor:
    """Who sent a request. Without a login everybody is local; a request that nobody looked at is an error."""
    if not login_cookie.has_login():
        return LOCAL
    visitor: Visitor = scope[_KEY]
    return visitor


def get_library(scope: Scope) -> Library:
    """The library as whoever sent a request sees it: every route takes it from here."""
    return get_whole_library().asked_by(get_visitor(scope))


def get_whole_library() -> Library:
    """The library of this server with all reports; one object for all, so that a report is opened once.

    For what shows nobody anything: everything else asks ``library``, or ``session.library`` on a page.
    """
    return open_library(config.load())
