"""Who a user is to this dashboard, from what the identity provider said of them. Knows no request and no page."""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any

from profiledb.config import Settings
from profiledb.library.space_registry import OF_PROGRAMS
from profiledb.library.visitor import NONE, Visitor, audit_name

EVERYONE = "*"


class Standing(IntEnum):
    """What somebody may do; each may do what those before it may."""

    ANONYMOUS = 0
    """Nobody has said who this is, or too long ago."""
    STRANGER = 1
    """Logged in, without a role here."""
    GUEST = 2
    """Has a link: may look at the pages of one report."""
    VIEWER = 3
    """May look."""
    EDITOR = 4
    """May upload, label, mark, delete, link, name columns, and try files again."""
    ADMIN = 5
    """May see the audit, make spaces and tokens, and allow sharing links."""


def standing(claims: Mapping[str, Any], settings: Settings, now: float) -> Standing:
    """The standing of a user by the claims of the ID token; ``now`` is Unix time in seconds.

    The role stands in the claim that ``login_claim`` names: a text, or a list of texts. An e-mail address counts only
    where the provider says that it was verified, because elsewhere anybody may claim any.
    """
    if claims.get("is_logged_in") is not True or not _fresh(claims.get("iat"), settings, now):
        return Standing.ANONYMOUS
    values = _told(claims, settings)
    if values & settings.login_admins:
        return Standing.ADMIN
    values.add(EVERYONE)
    if values & settings.login_editors:
        return Standing.EDITOR
    return Standing.VIEWER if values & settings.login_viewers else Standing.STRANGER


def visitor(claims: Mapping[str, Any], settings: Settings, now: float) -> Visitor:
    """A user as the audit calls them: name, e-mail address and the provider's own number, as far as there are any.

    The number is the provider's own; the e-mail address is, too, where it says that it was verified.
    An admin sees everything; spaces know others by the values of the same claim that says their role. Who has no role,
    or has it no more, sees nothing, also in a page that is still open.
    """
    of = standing(claims, settings, now)
    name, email, number = (claims.get(key) for key in ("name", "email", "sub"))
    called = audit_name([name], [email, number]) if _is_verified(claims) else audit_name([name, email], [number])
    if of < Standing.VIEWER:
        return Visitor(called, "login", frozenset(), NONE)
    groups = frozenset(one for one in _told(claims, settings) if not one.startswith(OF_PROGRAMS))
    return Visitor(called, "login", None if of == Standing.ADMIN else groups)


def _told(claims: Mapping[str, Any], settings: Settings) -> set[str]:
    """The texts of the claim with the role."""
    if settings.login_claim == "email" and not _is_verified(claims):
        return set()
    return set(_values(_look_up(claims, settings.login_claim)))


def _is_verified(claims: Mapping[str, Any]) -> bool:
    """Whether the provider says that the e-mail address is the user's."""
    return claims.get("email_verified") is True


def _fresh(issued: Any, settings: Settings, now: float) -> bool:
    """Whether the provider vouched for the user within the hours that a login lasts."""
    if isinstance(issued, bool) or not isinstance(issued, int | float):
        return False
    return bool(now - issued < settings.login_hours * 3600)


def _look_up(claims: Mapping[str, Any], name: str) -> Any:
    """A claim by its name; where there is none, by the way through objects that its dots are."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _values(value: Any) -> Iterable[str]:
    """The texts of a claim; one that lists everybody's sign would make its user everybody."""
    values = value if isinstance(value, list | tuple) else [value]
    return (text for text in values if isinstance(text, str) and text != EVERYONE)
