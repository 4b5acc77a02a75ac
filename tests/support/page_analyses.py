"""Analyses that each page queries, read from the code: the names in its script and in the modules that it imports."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from app import page_list
from profiledb.query import header

ROOT = Path(__file__).parents[2]
BAR = ROOT / "app/selection/bar.py"
"""Part of every page."""
LEFT_OUT = (
    *("app.page_list", "profiledb.studies.prefetch", "profiledb.studies.html", "profiledb.studies.trace_link"),
    *("profiledb.studies.runs.pace", "profiledb.studies.runs.recipes", "profiledb.studies.runs.utilization_map"),
)
"""Modules that name analyses for other reasons: listing pages, preparing reports, writing one file, linking a trace,
offering recipes of nsys."""
_ROOMS = ("app.", "profiledb.studies.", "profiledb.findings.program.")


def asked(url: str) -> frozenset[str]:
    """Return the analyses that the page at this address queries."""
    found: set[str] = set()
    todo, seen = [page_list.get_script(url), BAR], set()
    while todo:
        file = todo.pop()
        if file in seen:
            continue
        seen.add(file)
        names, imported = _read(file)
        found |= names
        todo += imported
    return frozenset(found)


@cache
def _read(file: Path) -> tuple[frozenset[str], tuple[Path, ...]]:
    """Return the analysis names in a file, and Warpdeck's files that it imports."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return frozenset(texts & header.list_analyses().keys()), tuple(_imported(tree))


def _imported(tree: ast.Module) -> Iterator[Path]:
    for node in ast.walk(tree):
        modules = []
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        elif isinstance(node, ast.Import):
            modules = [one.name for one in node.names]
        for module in modules:
            file = ROOT / f"{module.replace('.', '/')}.py"
            if f"{module}.".startswith(_ROOMS) and not module.startswith(LEFT_OUT) and file.is_file():
                yield file
