"""No two files import each other, not even through others; import-linter checks only the layers."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.project_files import walk_statements

PACKAGES = ("app", "bench", "ingest", "profiledb", "scripts", "warpdeck", "workloads")


def name_modules(folder: Path) -> dict[str, Path]:
    files = (path for package in PACKAGES for path in (folder / package).rglob("*.py"))
    return {".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__"): path for path in files}


def list_imports(path: Path, modules: dict[str, Path]) -> Iterator[str]:
    """Yield the modules that a file imports, including imports inside functions and for type checking only."""
    for node in walk_statements(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in modules)
        elif isinstance(node, ast.ImportFrom):
            folder = path.relative_to(ROOT).parts[: -node.level] if node.level else ()
            module = ".".join([*folder, *([node.module] if node.module else [])])
            for name in node.names:
                full = f"{module}.{name.name}"
                if full in modules or module in modules:
                    yield full if full in modules else module


def find_circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Return groups of modules that reach each other."""
    reached = {name: reach(imports, name) for name in imports}
    groups = {frozenset(other for other in names if name in reached[other]) for name, names in reached.items()}
    return sorted(sorted(group) for group in groups if group)


def reach(imports: dict[str, set[str]], start: str) -> set[str]:
    found, pending = set[str](), [start]
    while pending:
        new = imports[pending.pop()] - found
        found |= new
        pending += new
    return found


@pytest.mark.parametrize(
    ("imports", "circles"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, [["b", "c"]]),
        ({"a": {"b"}, "b": {"a"}, "c": {"a", "d"}, "d": {"c"}}, [["a", "b"], ["c", "d"]]),
    ],
)
def test_circles_are_found(imports: dict[str, set[str]], circles: list[list[str]]) -> None:
    assert find_circles(imports) == circles


def test_no_files_import_each_other_in_a_circle() -> None:
    modules = name_modules(ROOT)
    assert len(modules) > 500
    imports = {name: set(list_imports(path, modules)) - {name} for name, path in modules.items()}
    assert find_circles(imports) == []
