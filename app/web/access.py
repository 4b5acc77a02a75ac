"""Check the permissions of a page session's user. Without a login everybody who reaches the server may edit.

Pages hide what a viewer may not do, and every change calls ``require_editor`` besides: a browser can send the click on
a button that it was never shown. HTTP requests pass ``login_middleware`` instead, which reads the cookies itself.
"""

import time

import streamlit as st

from app.web import login_cookie, login_state, roles, sharing_route
from app.web.roles import Standing
from profiledb import config, words
from profiledb.errors import NotAllowedError
from profiledb.library.sharing_links import Share
from profiledb.library.visitor import LOCAL, Visitor


def get_standing() -> Standing:
    """Return the standing of this session's user."""
    if not login_cookie.has_login():
        return Standing.EDITOR
    standing = roles.get_standing(login_state.read_page_claims(), config.load(), time.time())
    return Standing.GUEST if standing < Standing.VIEWER and _find_share() else standing


def _find_share() -> Share | None:
    """Return the sharing link that this session's user opened before."""
    return sharing_route.find_share(st.context.cookies)


def get_visitor() -> Visitor:
    """Return this session's user as the library and the audit know them."""
    if not login_cookie.has_login():
        return LOCAL
    claims, settings, now = login_state.read_page_claims(), config.load(), time.time()
    if roles.get_standing(claims, settings, now) < Standing.VIEWER and (share := _find_share()):
        return sharing_route.make_visitor(share)
    return roles.make_visitor(claims, settings, now)


def is_guest() -> bool:
    """Return True if the user came by a sharing link, which opens the pages of one report and nothing else."""
    return get_standing() == Standing.GUEST


def may_edit() -> bool:
    """Return True if the user may change the library."""
    return get_standing() >= Standing.EDITOR


def require_editor() -> None:
    """Refuse users who may only look.

    Raises:
        NotAllowedError: the user is no editor.
    """
    if not may_edit():
        raise NotAllowedError("You can view reports but not change anything.", hint="Ask for the editor role.")


def may_administer() -> bool:
    """Return True if the user is an admin. Without a login nobody is: the command line administers then."""
    return get_standing() >= Standing.ADMIN


def require_admin() -> None:
    """Refuse everybody but admins.

    Raises:
        NotAllowedError: the user is no admin.
    """
    if not may_administer():
        raise NotAllowedError("Only an admin may do this.", hint="Ask for the admin role.")


def admit_visitor() -> bool:
    """Return True if the user may see reports; otherwise draw the way to log in. Call it before drawing anything."""
    standing = get_standing()
    if standing >= Standing.GUEST:
        return True
    st.header("Warpdeck", anchor=False)
    if standing == Standing.ANONYMOUS:
        st.text("Log in to see the reports.")
        _draw_login_buttons()
    else:
        st.text(
            "You are logged in but have no role here. Ask the person who runs this dashboard for one, then log in"
            " again."
        )
        draw_logout_button()
    return False


def _draw_login_buttons() -> None:
    for name in login_cookie.list_providers(login_cookie.load_auth_section() or {}) or [""]:
        label = f"Log in with {name}" if name else "Log in"
        icon = ":material/login:"
        st.button(label, key=f"login-{name}", type="primary", icon=icon, on_click=st.login, args=(name or None,))


def draw_logout_button() -> None:
    """Draw the button that logs the user out in every browser."""
    st.button("Log out", key="logout", icon=":material/logout:", on_click=_log_out)


def _log_out() -> None:
    """End the login on the server first: once the browser leaves for the provider, no callback runs any more."""
    login_state.end_login(login_state.read_page_claims())
    st.logout()


def draw_account() -> None:
    """Draw who is logged in, their role and the logout button below the menu; nothing without a login."""
    if not login_cookie.has_login():
        return
    if share := _find_share() if is_guest() else None:
        with st.sidebar.container(key="who"):
            st.text(f"This link shows one report, until {words.when(share.ends_at)}.")
            _draw_login_buttons()
        return
    claims = login_state.read_page_claims()
    name = next((str(claims[key]) for key in ("name", "email", "sub") if claims.get(key)), "")
    with st.sidebar.container(key="who"):
        st.text(f"{name}, {get_standing().name.lower()}")
        draw_logout_button()
