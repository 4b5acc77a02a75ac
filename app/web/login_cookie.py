"""Read Streamlit's login cookie and the ``[auth]`` section of its secrets.

``st.user`` tells a page script who is logged in. Downloads, uploads and our own routes have no page script; Streamlit
itself serves them to everybody.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from app import streamlit_private
from profiledb.errors import ConfigError


@cache
def has_login() -> bool:
    """Return True if people must log in, that is, if the secrets had a section ``[auth]`` when the server started.

    The answer is cached, so that losing or breaking the secrets file later opens nothing.

    Raises:
        ConfigError: the secrets file cannot be read.
    """
    return load_auth_section() is not None


def load_auth_section() -> Mapping[str, Any] | None:
    """Return the section ``[auth]`` of Streamlit's secrets, or None without one.

    Raises:
        ConfigError: the secrets file cannot be read.
    """
    try:
        secrets = st.secrets.to_dict()
    except (streamlit_private.StreamlitSecretNotFoundError, OSError, UnicodeDecodeError) as error:
        existing = [path for path in st.get_option("secrets.files") if Path(path).exists()]
        if not existing:
            return None
        raise ConfigError(f"{existing[0]} cannot be read: {error}") from error
    auth = secrets.get("auth")
    if auth is not None and not isinstance(auth, Mapping):
        raise ConfigError("auth in Streamlit's secrets must be a section, [auth].")
    return auth


def list_providers(auth: Mapping[str, Any]) -> list[str]:
    """Return the names of the providers that ``st.login`` takes; empty if ``[auth]`` itself describes the only one."""
    return [name for name, value in auth.items() if isinstance(value, Mapping) and "client_id" in value]


def read_claims(cookies: Mapping[str, str]) -> dict[str, Any]:
    """Return the identity provider's claims about the sender of a request; empty without a valid cookie.

    The signature is checked with the cookie secret and the origin against ``redirect_uri``, as Streamlit does for its
    WebSocket. A valid cookie may belong to a login that has ended: see ``login_state``.
    """
    content = streamlit_private.read_login_cookie(cookies)
    if content is None:
        return {}
    try:
        claims = json.loads(content)
    except ValueError:
        return {}
    if not isinstance(claims, dict) or claims.get("origin") != streamlit_private.get_login_origin():
        return {}
    return claims
