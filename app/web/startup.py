"""Check the settings when the server starts, pass them on to Streamlit, and warn about a server without a login."""

import importlib.util
import ipaddress
import logging
import secrets as randoms
from collections.abc import Mapping
from typing import Any

import streamlit as st

from app import streamlit_private
from app.web import login_cookie
from profiledb import config
from profiledb.access.operations.tokens import open_tokens
from profiledb.config import Settings
from profiledb.errors import ConfigError, WarpdeckError
from profiledb.library import team_database
from profiledb.monitoring import logs

MIN_SECRET_CHARS = 32

_REQUIRED_KEYS = ("redirect_uri", "cookie_secret")
_PROVIDER_KEYS = ("client_id", "client_secret", "server_metadata_url")
_log = logging.getLogger("warpdeck")


def prepare_server() -> None:
    """Check the settings, configure Streamlit and logging, and log warnings.

    Raises:
        ConfigError: a setting or the section ``[auth]`` is wrong, or roles are set without a login.
        RefusedError: PostgreSQL refuses the user of this server.
    """
    settings = config.load()
    configure_logging(settings.log)
    if settings.database:
        team_database.require_access(settings.database)
    streamlit_private.set_option("server.maxUploadSize", settings.max_upload_mb)
    address = str(st.get_option("server.address") or "")
    if login_cookie.has_login():
        check_login(login_cookie.load_auth_section() or {}, settings)
        _date_tokens(settings)
    elif role_settings := config.list_variables("WARPDECK_LOGIN_"):
        raise ConfigError(
            f"{' and '.join(role_settings)} would limit who may do what, but nobody has to log in: Streamlit's secrets"
            " have no section [auth]."
        )
    elif not is_loopback(address):
        _log.warning(
            "Warpdeck listens on %s WITHOUT A LOGIN: whoever reaches this port can read, upload and delete every"
            " report. Listen on localhost (in a container: publish the port on 127.0.0.1), or set up a login"
            " (docs/team.md, Behind a proxy, with login).",
            address or "all addresses",
        )
    if not st.get_option("server.allowedHosts") or "*" in st.get_option("server.allowedHosts"):
        _log.warning("server.allowedHosts allows every host name: pages of other sites can reach this server.")


def _date_tokens(settings: Settings) -> None:
    """Give tokens of an earlier version an end; if the database is unreachable, the next start does it."""
    try:
        open_tokens(settings).date()
    except WarpdeckError as error:
        _log.error("Tokens of an earlier version have no end yet: %s", error.message)


def configure_logging(form: str) -> None:
    """Log in one of the forms of ``WARPDECK_LOG``, Streamlit's own loggers included."""
    logs.configure(form)
    if form == logs.JSON:
        streamlit_private.set_log_handler(logs.make_handler)


def check_login(auth: Mapping[str, Any], settings: Settings) -> None:
    """Check that a login can work.

    Raises:
        ConfigError: a package or a key is missing, the cookie secret is too short, or no role is given to anybody.
    """
    if not importlib.util.find_spec("authlib") or not importlib.util.find_spec("httpx"):
        raise ConfigError("Streamlit's secrets have a section [auth], but Authlib is missing: pip install '.[auth]'.")
    providers = login_cookie.list_providers(auth)
    missing = [f"auth.{key}" for key in _REQUIRED_KEYS if not auth.get(key)]
    for name in providers or [""]:
        section = auth[name] if name else auth
        missing += [f"auth.{name}.{key}".replace("..", ".") for key in _PROVIDER_KEYS if not section.get(key)]
    if missing:
        raise ConfigError(f"Streamlit's secrets lack {', '.join(missing)}.")
    if len(str(auth["cookie_secret"])) < MIN_SECRET_CHARS:
        raise ConfigError(
            f"auth.cookie_secret has fewer than {MIN_SECRET_CHARS} characters; take for example"
            f" {randoms.token_hex(32)}."
        )
    if not settings.login_editors | settings.login_viewers:
        raise ConfigError("WARPDECK_LOGIN_EDITORS and WARPDECK_LOGIN_VIEWERS name nobody.")


def is_loopback(address: str) -> bool:
    """Return True if only this machine can reach the address; an empty one means all interfaces."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
