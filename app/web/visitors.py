"""Who sent a request, as ``web.login`` has found it, and the library as they see it: routes ask here."""

from starlette.types import Scope

from app.web import identity
from profiledb import config
from profiledb.report.library import Library
from profiledb.report.place import open_library
from profiledb.report.visitor import LOCAL, Visitor

_KEY = "warpdeck.visitor"


def note(scope: Scope, visitor: Visitor) -> None:
    """Writes down who sent a request."""
    scope[_KEY] = visitor


def of(scope: Scope) -> Visitor:
    """Who sent a request. Without a login everybody is local; a request that nobody looked at is an error."""
    if not identity.login():
        return LOCAL
    visitor: Visitor = scope[_KEY]
    return visitor


def library(scope: Scope) -> Library:
    """The library as whoever sent a request sees it: every route takes it from here."""
    return whole().asked_by(of(scope))


def whole() -> Library:
    """The library of this server with all reports; one object for all, so that a report is opened once.

    For what shows nobody anything: everything else asks ``library``, or ``session.library`` on a page.
    """
    return open_library(config.load())
