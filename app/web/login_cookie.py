"""Whether this server has a login, and what Streamlit's login cookie says: the one place that reads it.

Streamlit tells a page who looks at it (``st.user``), but answers everybody who asks for a download or sends a file.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.auth_util import get_cookie_with_chunks, get_origin_from_redirect_uri
from streamlit.errors import StreamlitSecretNotFoundError
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from profiledb.errors import ConfigError


@cache
def has_login() -> bool:
    """Whether people must log in: whether Streamlit's secrets have a section ``[auth]`` when the server starts.

    It is asked once, so that a file that is lost or broken later opens nothing.

    Raises:
        ConfigError: there are secrets, and they cannot be read.
    """
    return load_auth_section() is not None


def load_auth_section() -> Mapping[str, Any] | None:
    """The section ``[auth]`` of Streamlit's secrets; None where there is none.

    Raises:
        ConfigError: there are secrets, and they cannot be read.
    """
    try:
        secrets = st.secrets.to_dict()
    except (StreamlitSecretNotFoundError, OSError, UnicodeDecodeError) as error:
        there = [path for path in st.get_option("secrets.files") if Path(path).exists()]
        if not there:
            return None
        raise ConfigError(f"{there[0]} cannot be read: {error}") from error
    auth = secrets.get("auth")
    if auth is not None and not isinstance(auth, Mapping):
        raise ConfigError("auth in Streamlit's secrets must be a section, [auth].")
    return auth


def list_providers(auth: Mapping[str, Any]) -> list[str]:
    """The names of the providers that ``st.login`` takes; empty where ``[auth]`` itself is the only one."""
    return [name for name, value in auth.items() if isinstance(value, Mapping) and "client_id" in value]


def get_origin() -> str:
    """Where people log in to, as ``https://profiles.example.com``; empty where the secrets do not say so."""
    return get_origin_from_redirect_uri() or ""


def read_claims(cookies: Mapping[str, str]) -> dict[str, Any]:
    """What the identity provider said of the sender of a request; nothing where the cookie is missing or not ours.

    Whether the login goes on ``logins`` says. The signature is checked with the cookie secret, and the origin against
    ``redirect_uri``, as Streamlit does it for its WebSocket.
    """
    secret = get_cookie_secret()

    def one(name: str) -> bytes | None:
        value = cookies.get(name)
        return decode_signed_value(secret, name, value.encode("latin-1", "replace")) if value else None

    raw = get_cookie_with_chunks(one, USER_COOKIE_NAME)
    if raw is None:
        return {}
    try:
        identity = json.loads(raw)
    except ValueError:
        return {}
    if not isinstance(identity, dict) or identity.get("origin") != get_origin():
        return {}
    return identity
