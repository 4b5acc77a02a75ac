"""Every change that a page makes to the library requires an editor."""

import ast
from pathlib import Path

import pytest

from app import session
from app.web import access
from app.web.login_middleware import get_required_standing
from app.web.roles import Standing
from profiledb.errors import NotAllowedError
from tests.conftest import ROOT

CHANGES = {
    "delete",
    "link",
    "unlink",
    "set_labels",
    "rename",
    "name_columns",
    "forget_job",
    "dismiss",
    "set_link",
    "remove",
    "change",
}


def owner(node: ast.expr) -> str:
    """The object of a method call, as text."""
    return ast.unparse(node)


def test_pages_change_the_library_as_editors_only() -> None:
    found = 0
    for path in sorted((ROOT / "app").rglob("*.py")):
        if path.is_relative_to(ROOT / "app" / "web") or path.is_relative_to(ROOT / "app" / "api"):
            continue  # there the middleware asks for an editor, below
        text = path.read_text(encoding="utf-8")
        editing = "session.open_for_changes()" in text or "session.open_for_admin()" in text
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
                of = owner(node.func.value)
                if not ("library" in of or "catalog" in of or "shelf" in of or "open_for" in of):
                    continue
                found += 1
                assert editing, f"{path}: {ast.unparse(node)}"
                assert "session.library()" not in of, f"{path}: {ast.unparse(node)}"
    assert found >= 6


def test_a_request_that_changes_something_needs_an_editor() -> None:
    for method in ("PUT", "POST", "DELETE", "PATCH"):
        assert get_required_standing(method, "/api/v1/reports/one/title") == Standing.EDITOR
    assert get_required_standing("GET", "/api/v1/reports") == Standing.VIEWER


def test_the_library_is_for_editors_to_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPDECK_DATA", str(tmp_path))
    for standing in (Standing.ANONYMOUS, Standing.STRANGER, Standing.VIEWER):
        monkeypatch.setattr(access, "get_standing", lambda standing=standing: standing)
        with pytest.raises(NotAllowedError):
            session.open_for_changes()
    for standing in set(Standing) - {Standing.ADMIN}:
        monkeypatch.setattr(access, "get_standing", lambda standing=standing: standing)
        with pytest.raises(NotAllowedError):
            session.open_for_admin()
    monkeypatch.setattr(access, "get_standing", lambda: Standing.EDITOR)
    assert session.open_for_changes().folder == tmp_path / "library"
