"""Know who sent a request, and give routes the library as that visitor sees it."""

from starlette.types import Scope

from app.web import login_cookie
from profiledb import config
from profiledb.library.library import Library
from profiledb.library.locations import open_library
from profiledb.library.visitor import LOCAL, Visitor

_KEY = "warpdeck.visitor"


def set_visitor(scope: Scope, visitor: Visitor) -> None:
    """Note in the scope who sent a request; ``LoginRequiredMiddleware`` does."""
    scope[_KEY] = visitor


def get_visitor(scope: Scope) -> Visitor:
    """Return who sent a request; ``LOCAL`` without a login.

    Raises:
        KeyError: the request passed no login check, which is a bug.
    """
    if not login_cookie.has_login():
        return LOCAL
    visitor: Visitor = scope[_KEY]
    return visitor


def get_library(scope: Scope) -> Library:
    """Return the library as the sender of a request sees it. Every route takes it from here."""
    return get_whole_library().asked_by(get_visitor(scope))


def get_whole_library() -> Library:
    """Return the library with all reports; a single object for the server, so that a report is opened once.

    Only for work that shows nobody anything: routes call ``get_library``, pages ``session.library``.
    """
    return open_library(config.load())
