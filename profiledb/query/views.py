"""Files of SQL views and macros that analyses share, and the dependencies between them.

``selection/selected.sql`` has the name ``selection`` and ``report/sidecar.sql`` the name ``sidecar``. A file in
``analyses/<topic>/views`` or ``rules/findings/views`` has its own name. A header like that of an analysis lists the
files that it depends on::

    -- Prose, any number of lines.
    -- includes: selection, power
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from profiledb.errors import AnalysisError
from profiledb.query import header
from profiledb.report import stored_views

_LINE = re.compile(r"^-- ?(?:(?P<key>includes): )?(?P<text>.*)$")


@dataclass(frozen=True)
class Views:
    """A view file: its name, its SQL, and the names of the files that it depends on."""

    name: str
    sql: str
    includes: tuple[str, ...]


@cache
def list_files() -> dict[str, Views]:
    """Return all view files by name."""
    return {name: _parse_views(name, text) for name, text in stored_views.read_texts().items()}


def _parse_views(name: str, text: str) -> Views:
    return Views(name, text, header.split_names(header.read_header(text, _LINE).get("includes", [])))


def list_needed(names: Iterable[str]) -> tuple[Views, ...]:
    """Return these files and their dependencies, each after the files that it depends on.

    Raises:
        AnalysisError: no file has one of the names.
    """
    ordered: dict[str, Views] = {}
    for name in names:
        if name not in list_files():
            raise AnalysisError(f"No views are called {name!r}.")
        ordered |= {one.name: one for one in list_needed(list_files()[name].includes)}
        ordered[name] = list_files()[name]
    return tuple(ordered.values())


def list_all() -> tuple[Views, ...]:
    """Return all view files, each after the files that it depends on."""
    return list_needed(list_files())


def build_sql(names: Iterable[str]) -> str:
    """Return the SQL that creates the views of these files and of their dependencies."""
    return "\n".join(one.sql for one in list_needed(names))
