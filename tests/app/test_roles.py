"""The role of a user by the claims of an identity provider."""

from typing import Any

import pytest

from app.web.roles import Standing, get_standing, make_visitor
from profiledb import config
from profiledb.library.visitor import NOBODY, NONE, Visitor

NOW = 1_800_000_000.0


def of(claims: dict[str, Any], **settings: str) -> Standing:
    return get_standing({"is_logged_in": True, "iat": NOW - 60} | claims, config.load(**settings), NOW)


@pytest.mark.parametrize(
    ("roles", "is_"),
    [
        ("editor", Standing.EDITOR),
        (["viewer"], Standing.VIEWER),
        (["viewer", "editor"], Standing.EDITOR),
        (["Editor"], Standing.STRANGER),
        ("editor,viewer", Standing.STRANGER),
        ({"editor": True}, Standing.STRANGER),
        ([["editor"]], Standing.STRANGER),
        ("*", Standing.STRANGER),
        (["*"], Standing.STRANGER),
        (None, Standing.STRANGER),
        (1, Standing.STRANGER),
        ("", Standing.STRANGER),
    ],
)
def test_roles_by_their_claim(roles: Any, is_: Standing) -> None:
    assert of({"roles": roles}) == is_


def test_everybody_who_is_logged_in() -> None:
    assert of({}, login_viewers="*") == Standing.VIEWER
    assert of({"roles": "editor"}, login_viewers="*") == Standing.EDITOR
    assert of({}, login_editors="*") == Standing.EDITOR
    assert of({"is_logged_in": False}, login_editors="*") == Standing.ANONYMOUS


def test_an_admin_is_named() -> None:
    assert of({"roles": "admin"}) == Standing.STRANGER, "nobody is one by default"
    assert of({"roles": ["viewer", "chief"]}, login_admins="chief") == Standing.ADMIN
    assert of({}, login_admins="*") == Standing.STRANGER, "everybody is none"
    assert of({"roles": "*"}, login_admins="*") == Standing.STRANGER


def test_what_the_audit_calls_a_user() -> None:
    everything = {"name": "Edith\n\u202eE", "email": "e@example.com", "sub": "Edith E", "roles": "editor"}
    assert known(everything).name == '"Edith E", "e@example.com", Edith E'
    assert known(everything | {"email_verified": True}).name == '"Edith E", e@example.com, Edith E'
    assert len(known({"name": "x" * 10_000, "sub": 5}).name) == 202
    assert known({"name": "worker", "sub": "9"}).way == "login"


def test_a_name_hides_nobody() -> None:
    name = 'Edith", e@example.com, 1234 \u201c' + "x" * 10_000
    called = known({"name": name, "email": "m@example.com", "email_verified": True, "sub": "77"}).name
    told, _, proven = called.removeprefix('"').partition('"')
    assert (told[:30], proven) == ("Edith', e@example.com, 1234 'x", ", m@example.com, 77")
    assert known({"email": 'e@example.com", 1234', "sub": "77"}).name == '"e@example.com\', 1234", 77'


def known(claims: dict[str, Any], **settings: str) -> Visitor:
    return make_visitor({"is_logged_in": True, "iat": NOW - 60} | claims, config.load(**settings), NOW)


def test_what_spaces_know_a_user_by() -> None:
    assert known({"roles": ["viewer", "kernels", "*", "token:nightly"]}).groups == frozenset({"viewer", "kernels"})
    assert known({"roles": "chief"}, login_admins="chief").groups is None, "an admin sees everything"
    for nothing in (known({"roles": "kernels"}), known({"roles": "kernels", "iat": 0}, login_viewers="*")):
        assert (nothing.groups, nothing.only) == (frozenset(), NONE), "neither without a role nor with an old login"
    assert known({"roles": "kernels"}, login_viewers="*").only == ""
    unproven = {"email": "e@example.com", "email_verified": False}
    assert known(unproven, login_claim="email", login_viewers="*").groups == frozenset()
    proven = unproven | {"email_verified": True}
    assert known(proven, login_claim="email", login_viewers="*").groups == frozenset({"e@example.com"})
    assert make_visitor({}, config.load(), NOW) == NOBODY


@pytest.mark.parametrize("value", [1, "True", "yes", None, [True]])
def test_only_true_is_logged_in(value: Any) -> None:
    assert of({"is_logged_in": value}, login_editors="*") == Standing.ANONYMOUS


@pytest.mark.parametrize("issued", [NOW - 13 * 3600, None, "now", True, float("nan")])
def test_a_login_lasts_some_hours(issued: Any) -> None:
    assert of({"iat": issued}, login_editors="*") == Standing.ANONYMOUS


def test_claims_within_objects_and_with_dots_in_their_names() -> None:
    assert of({"a": {"b": ["editor"]}}, login_claim="a.b") == Standing.EDITOR
    assert of({"https://a.example/roles": ["viewer"]}, login_claim="https://a.example/roles") == Standing.VIEWER
    assert of({"a": "editor"}, login_claim="a.b") == Standing.STRANGER


@pytest.mark.parametrize(
    ("verified", "is_"),
    [(True, Standing.EDITOR), (False, Standing.STRANGER), (None, Standing.STRANGER), ("true", Standing.STRANGER)],
)
def test_an_address_counts_where_it_was_verified(verified: Any, is_: Standing) -> None:
    settings = {"login_claim": "email", "login_editors": "a@example.com"}
    assert of({"email": "a@example.com", "email_verified": verified}, **settings) == is_
