"""The second computation shares no code with the first, or it would prove nothing."""

import ast
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COMPUTATION = sorted(path.name for path in HERE.glob("*.py") if not path.name.startswith(("test_", "conftest")))
OF_OTHERS = {"profiledb", "ingest", "app", "duckdb", "pandas", "numpy"}


def imported(path: Path) -> set[str]:
    """The modules that a file imports, by their full names."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("name", COMPUTATION)
def test_nothing_of_the_product_is_imported(name: str) -> None:
    modules = imported(HERE / name)
    assert not {module.partition(".")[0] for module in modules} & OF_OTHERS
    assert all(module.startswith("tests.second") for module in modules if module.startswith("tests"))
