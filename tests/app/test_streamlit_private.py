"""One module holds Streamlit's private parts, so that an upgrade has one file to check."""

import ast
from collections.abc import Iterator
from pathlib import Path

APP = Path(__file__).parents[2] / "app"
PRIVATE = "streamlit_private.py"
STABLE = {"streamlit", "streamlit.typing"}


def imported(path: Path) -> Iterator[str]:
    """The modules of Streamlit that a file imports anywhere, ``from streamlit import name`` counting as one."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "streamlit":
            names = [f"streamlit.{alias.name}" for alias in node.names]
        else:
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        yield from (name for name in names if name.split(".")[0] == "streamlit")


def test_one_file_imports_private_modules() -> None:
    users = {path.relative_to(APP): set(imported(path)) - STABLE for path in APP.rglob("*.py")}
    assert users.pop(Path(PRIVATE)), "nothing is private any more: the file can go"
    assert {path: names for path, names in users.items() if names} == {}
