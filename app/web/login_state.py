"""Tell whether the login of a cookie is still on, by a generation that logging out removes (library/logins.py).

Streamlit's cookie is signed and holds the provider's claims: a copy of it would stay valid for hours after its owner
logged out. A cookie of ours carries the generation besides, and a request needs both; so does every run of a page
script, also in a page that stays open.
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


def read_live_claims(cookies: Mapping[str, str]) -> dict[str, Any]:
    """Return the identity provider's claims about the sender of a request; empty if the login has ended.

    Raises:
        CatalogError: the catalog cannot be read now.
    """
    return _keep_live(login_cookie.read_claims(cookies), cookies)


def read_page_claims() -> dict[str, Any]:
    """Return the claims about this session's user; empty if the login has ended, also since the page was opened.

    Raises:
        CatalogError: the catalog cannot be read now.
    """
    return _keep_live(st.user.to_dict(), st.context.cookies)


def begin_login(claims: Mapping[str, Any], address: str) -> str:
    """Record a login from an IP address and return the value of its cookie.

    Raises:
        CatalogError: the catalog cannot be written.
    """
    catalog, settings = _open_catalog(claims), config.load()
    generation = catalog.logins.begin(_identify_person(claims), catalog.visitor.name, settings.login_hours)
    has_role = roles.get_standing(claims, settings, time.time()) > roles.Standing.STRANGER
    catalog.audit.write_or_log("logged in", about=f"from {address}{'' if has_role else ', without a role'}")
    return generation


def end_login(claims: Mapping[str, Any]) -> None:
    """Log a person out in every browser; without a login, do nothing.

    Raises:
        CatalogError: the catalog cannot be written.
    """
    if person := _identify_person(claims):
        catalog = _open_catalog(claims)
        if catalog.logins.end(person):
            catalog.audit.write_or_log("logged out")


def _keep_live(claims: dict[str, Any], cookies: Mapping[str, str]) -> dict[str, Any]:
    person = _identify_person(claims)
    if not person:
        return {}
    generation = visitors.get_whole_library().catalog.logins.generation(person)
    cookie = cookies.get(COOKIE, "")
    is_live = generation and hmac.compare_digest(generation.encode(), cookie.encode(errors="replace"))
    return claims if is_live else {}


def _identify_person(claims: Mapping[str, Any]) -> str:
    """Return a hash of the provider's own id of a person, which stays when name and e-mail address change.

    Empty if the claims are not those of somebody who is logged in.
    """
    if claims.get("is_logged_in") is not True or not isinstance(claims.get("sub"), str):
        return ""
    identity = json.dumps([claims.get("provider"), claims.get("iss"), claims["sub"]])
    return hashlib.sha256(identity.encode()).hexdigest()


def _open_catalog(claims: Mapping[str, Any]) -> Catalog:
    """Return the catalog in the name of the person whom the claims are about."""
    return visitors.get_whole_library().catalog.asked_by(roles.make_visitor(claims, config.load(), time.time()))
