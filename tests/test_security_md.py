"""SECURITY.md names a test for every promise, which `make test` runs."""

import ast
import re

from tests.conftest import ROOT


def test_make_test_holds_every_promise() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    rows = [row for row in text.splitlines() if row.startswith("| ") and not row.startswith(("| **", "| promise"))]
    promises = [row for row in rows if row.strip("| ")]
    named = re.findall(r"(tests/[\w/]+\.py)::(\w+)", text)
    assert len(promises) == len(named) >= 30
    for file, name in named:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
        assert len(found) == 1, f"{file}::{name}"
        marks = [*found[0].decorator_list, *(node for node in tree.body if "pytestmark" in ast.unparse(node))]
        assert "slow" not in " ".join(map(ast.unparse, marks)), f"make test leaves {file}::{name} out"
