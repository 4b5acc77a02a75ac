"""SECURITY.md names a test for every promise, and each is there."""

import ast
import re

from tests.conftest import ROOT


def test_every_promise_names_a_test_that_exists() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    rows = [row for row in text.splitlines() if row.startswith("| ") and not row.startswith(("| **", "| promise"))]
    promises = [row for row in rows if row.strip("| ")]
    named = re.findall(r"(tests/[\w/]+\.py)::(\w+)", text)
    assert len(promises) == len(named) >= 30
    for file, name in named:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{file}::{name}"
