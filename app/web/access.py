"""Who looks at a page, and what they may do: without a login everybody who reaches the server may do everything.

Pages leave out what a viewer may not do; what changes the library asks ``require_editor`` besides, so that a button
that is not shown cannot be pressed either. Downloads and uploads pass ``web.login`` instead, which reads the cookie.
"""

import time

import streamlit as st

from app.web import login_cookie, login_state, roles, sharing_route
from app.web.roles import Standing
from profiledb import config
from profiledb.errors import NotAllowedError
from profiledb.library.sharing_links import Share
from profiledb.library.visitor import LOCAL, Visitor


def get_standing() -> Standing:
    """What the user of this session may do."""
    if not login_cookie.has_login():
        return Standing.EDITOR
    now = roles.get_standing(login_state.read_page_claims(), config.load(), time.time())
    return Standing.GUEST if now < Standing.VIEWER and _find_share() else now


def _find_share() -> Share | None:
    """The link that the user of this session came with."""
    return sharing_route.find_share(st.context.cookies)


def get_visitor() -> Visitor:
    """Who looks at this session."""
    if not login_cookie.has_login():
        return LOCAL
    user, settings, now = login_state.read_page_claims(), config.load(), time.time()
    if roles.get_standing(user, settings, now) < Standing.VIEWER and (share := _find_share()):
        return sharing_route.make_visitor(share)
    return roles.make_visitor(user, settings, now)


def is_guest() -> bool:
    """Whether the user of this session has a link and nothing else: they see the pages of its report alone."""
    return get_standing() == Standing.GUEST


def may_edit() -> bool:
    """Whether the user of this session may change something."""
    return get_standing() >= Standing.EDITOR


def require_editor() -> None:
    """Stops what a viewer may not do.

    Raises:
        NotAllowedError: the user may not change anything.
    """
    if not may_edit():
        raise NotAllowedError("You can view reports but not change anything.", hint="Ask for the editor role.")


def may_administer() -> bool:
    """Whether the user of this session is an admin; without a login nobody is, and the command line does it."""
    return get_standing() >= Standing.ADMIN


def require_admin() -> None:
    """Stops what only an admin may do.

    Raises:
        NotAllowedError: the user is none.
    """
    if not may_administer():
        raise NotAllowedError("Only an admin may do this.", hint="Ask for the admin role.")


def admit_visitor() -> bool:
    """Whether the user may see reports; says what to do where not. Nothing of any report may be drawn before."""
    now = get_standing()
    if now >= Standing.GUEST:
        return True
    st.header("Warpdeck", anchor=False)
    if now == Standing.ANONYMOUS:
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
    """The buttons to log in."""
    for name in login_cookie.list_providers(login_cookie.load_auth_section() or {}) or [""]:
        label = f"Log in with {name}" if name else "Log in"
        icon = ":material/login:"
        st.button(label, key=f"login-{name}", type="primary", icon=icon, on_click=st.login, args=(name or None,))


def draw_logout_button() -> None:
    """The button to log out."""
    st.button("Log out", key="logout", icon=":material/logout:", on_click=_log_out)


def _log_out() -> None:
    """Ends the login on the server first: the browser's way to the provider clears its cookies then (sign_in)."""
    login_state.end_login(login_state.read_page_claims())
    st.logout()


def draw_account() -> None:
    """Who is logged in and as what, with the way out, at the foot of the menu; nothing without a login."""
    if not login_cookie.has_login():
        return
    if share := _find_share() if is_guest() else None:
        with st.sidebar.container(key="who"):
            st.text(f"This link shows one report, until {share.ends_at[:16].replace('T', ' ')} UTC.")
            _draw_login_buttons()
        return
    user = login_state.read_page_claims()
    name = next((str(user[key]) for key in ("name", "email", "sub") if user.get(key)), "")
    with st.sidebar.container(key="who"):
        st.text(f"{name}, {get_standing().name.lower()}")
        draw_logout_button()
