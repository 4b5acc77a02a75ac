"""The files of views and macros that analyses share, each with what it builds on.

``selection/selected.sql`` answers to the name ``selection``, ``report/sidecar.sql`` to ``sidecar``, and a file in
``analyses/<topic>/views`` or ``rules/findings/views`` to its own. A header like that of an analysis says which others
one needs::

    -- Prose, any number of lines.
    -- includes: selection, power
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources

from profiledb.errors import AnalysisError
from profiledb.query import header

_LINE = re.compile(r"^-- ?(?:(?P<key>includes): )?(?P<text>.*)$")


@dataclass(frozen=True)
class Views:
    """A file of views: its name, the SQL that creates them, and the names of those that it builds on."""

    name: str
    sql: str
    includes: tuple[str, ...]


@cache
def files() -> dict[str, Views]:
    """All files of views by name."""
    package = resources.files("profiledb")
    texts = {
        "selection": package.joinpath("selection", "selected.sql"),
        "sidecar": package.joinpath("report", "sidecar.sql"),
    }
    for topic in (*package.joinpath("analyses").iterdir(), package.joinpath("rules", "findings")):
        folder = topic.joinpath("views")
        texts |= {file.name[:-4]: file for file in (folder.iterdir() if folder.is_dir() else ())}
    return {name: _views(name, file.read_text(encoding="utf-8")) for name, file in sorted(texts.items())}


def _views(name: str, text: str) -> Views:
    return Views(name, text, header.listed(header.read(text, _LINE).get("includes", [])))


def needed(names: Iterable[str]) -> tuple[Views, ...]:
    """These files and all that they build on, each after those that it needs.

    Raises:
        AnalysisError: there is none of a name.
    """
    ordered: dict[str, Views] = {}
    for name in names:
        if name not in files():
            raise AnalysisError(f"No views are called {name!r}.")
        ordered |= {one.name: one for one in needed(files()[name].includes)}
        ordered[name] = files()[name]
    return tuple(ordered.values())


def everything() -> tuple[Views, ...]:
    """All files, each after those that it needs."""
    return needed(files())


def sql(names: Iterable[str]) -> str:
    """SQL that creates what these files hold, and all that they build on."""
    return "\n".join(one.sql for one in needed(names))
