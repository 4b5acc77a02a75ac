"""Whether the login of a cookie goes on: the person's generation, which logging out removes (library/logins.py).

Streamlit's cookie is signed and holds what the identity provider said, so that whoever has a copy of it would stay
logged in until its hours are over. A cookie of ours beside it carries the generation, and both count only together: for
every request and for every look at a page, also in one that is open.
"""

import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

import streamlit as st

from app.web import login_cookie, roles, visitors
from profiledb import config
from profiledb.library.catalog import Catalog

COOKIE = "warpdeck_login"


def claims(cookies: Mapping[str, str]) -> dict[str, Any]:
    """What the identity provider said of the sender of a request; nothing where the login has ended.

    Raises:
        CatalogError: it cannot be said now.
    """
    return _held(login_cookie.claims(cookies), cookies)


def claims_of_page() -> dict[str, Any]:
    """The same of the user of this session, as of now."""
    return _held(st.user.to_dict(), st.context.cookies)


def begin(told: Mapping[str, Any], address: str) -> str:
    """Notes a login with these claims, and answers the value of its cookie.

    Raises:
        CatalogError: it cannot be written.
    """
    catalog, settings = _catalog_of(told), config.load()
    generation = catalog.logins.begin(_person(told), catalog.visitor.name, settings.login_hours)
    has_role = roles.standing(told, settings, time.time()) > roles.Standing.STRANGER
    catalog.audit.write_or_log("logged in", about=f"from {address}{'' if has_role else ', without a role'}")
    return generation


def end(told: Mapping[str, Any]) -> None:
    """Logs somebody with these claims out, in every browser; nothing where they are not logged in.

    Raises:
        CatalogError: it cannot be written.
    """
    if person := _person(told):
        catalog = _catalog_of(told)
        if catalog.logins.end(person):
            catalog.audit.write_or_log("logged out")


def _held(told: dict[str, Any], cookies: Mapping[str, str]) -> dict[str, Any]:
    person = _person(told)
    if not person:
        return {}
    generation = visitors.whole().catalog.logins.generation(person)
    shown = cookies.get(COOKIE, "")
    return told if generation and hmac.compare_digest(generation.encode(), shown.encode(errors="replace")) else {}


def _person(told: Mapping[str, Any]) -> str:
    """Who somebody is for good: the identity provider's own number for them; empty where they are not logged in."""
    if told.get("is_logged_in") is not True or not isinstance(told.get("sub"), str):
        return ""
    number = json.dumps([told.get("provider"), told.get("iss"), told["sub"]])
    return hashlib.sha256(number.encode()).hexdigest()


def _catalog_of(told: Mapping[str, Any]) -> Catalog:
    """The catalog, asked by whom these claims are about."""
    return visitors.whole().catalog.asked_by(roles.visitor(told, config.load(), time.time()))
