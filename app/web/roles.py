"""Derive a user's standing and visitor from the identity provider's claims. Knows no request and no page."""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any

from profiledb.config import Settings
from profiledb.library.space_registry import OF_PROGRAMS
from profiledb.library.visitor import NONE, Visitor, clean_audit_name

EVERYONE = "*"


class Standing(IntEnum):
    """Permissions of a user; each includes those of the lower ones."""

    ANONYMOUS = 0
    """Not logged in, or too long ago."""
    STRANGER = 1
    """Logged in, without a role here."""
    GUEST = 2
    """Came by a sharing link: sees the pages of one report."""
    VIEWER = 3
    """Sees every report that the spaces allow."""
    EDITOR = 4
    """Uploads, labels, marks, deletes and links reports, names columns, and imports failed files again."""
    ADMIN = 5
    """Reads the audit, makes spaces and tokens, and allows sharing links."""


def get_standing(claims: Mapping[str, Any], settings: Settings, now: float) -> Standing:
    """Return the standing of a user with these claims of an ID token.

    ``login_claim`` names the claim with the roles, a text or a list of texts. An e-mail address counts only if the
    provider verified it, because anybody may enter any address elsewhere.

    Args:
        claims: claims of the ID token.
        settings: the roles of this server.
        now: Unix time in seconds.
    """
    if claims.get("is_logged_in") is not True or not _is_fresh(claims.get("iat"), settings, now):
        return Standing.ANONYMOUS
    values = _read_roles(claims, settings)
    if values & settings.login_admins:
        return Standing.ADMIN
    values.add(EVERYONE)
    if values & settings.login_editors:
        return Standing.EDITOR
    return Standing.VIEWER if values & settings.login_viewers else Standing.STRANGER


def make_visitor(claims: Mapping[str, Any], settings: Settings, now: float) -> Visitor:
    """Return a user as the library and the audit know them: name, e-mail address and the provider's id.

    The provider vouches for the id, and for a verified e-mail address; users may choose their name themselves. An
    admin sees everything; spaces list other users by their roles. A user without a role sees nothing, also in a page
    that was opened while they had one.
    """
    standing = get_standing(claims, settings, now)
    name, email, user_id = (claims.get(key) for key in ("name", "email", "sub"))
    label = (
        clean_audit_name([name], [email, user_id])
        if _is_verified(claims)
        else clean_audit_name([name, email], [user_id])
    )
    if standing < Standing.VIEWER:
        return Visitor(label, "login", frozenset(), NONE)
    groups = frozenset(role for role in _read_roles(claims, settings) if not role.startswith(OF_PROGRAMS))
    return Visitor(label, "login", None if standing == Standing.ADMIN else groups)


def _read_roles(claims: Mapping[str, Any], settings: Settings) -> set[str]:
    """Return the texts of the claim that ``login_claim`` names."""
    if settings.login_claim == "email" and not _is_verified(claims):
        return set()
    return set(_list_texts(_look_up(claims, settings.login_claim)))


def _is_verified(claims: Mapping[str, Any]) -> bool:
    """Return True if the provider verified the user's e-mail address."""
    return claims.get("email_verified") is True


def _is_fresh(issued: Any, settings: Settings, now: float) -> bool:
    """Return True if the ID token was issued within the hours that a login lasts."""
    if isinstance(issued, bool) or not isinstance(issued, int | float):
        return False
    return bool(now - issued < settings.login_hours * 3600)


def _look_up(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim by its name, or else by its path: ``realm.roles`` is ``roles`` in the object ``realm``."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _list_texts(value: Any) -> Iterable[str]:
    """Yield the texts of a claim, except ``*``: that would give its user the roles of everyone."""
    values = value if isinstance(value, list | tuple) else [value]
    return (text for text in values if isinstance(text, str) and text != EVERYONE)
