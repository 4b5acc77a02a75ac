"""Answer several analyses that share intermediate rows, so that a page that shows all of them computes the rows once.

A file in ``analyses/<topic>/once`` materializes the rows on a cursor and redefines the macros that compute them to read
them instead. The analyses then run on that cursor unchanged. The file's header lists them::

    -- Prose, any number of lines.
    -- answers: idle_reasons, idle_gaps
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from profiledb.errors import NotCapturedError
from profiledb.library.library import BROKEN, Library
from profiledb.query import analysis, header, needs, views
from profiledb.query.request import Request
from profiledb.selection import apply

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_LINE = re.compile(r"^-- ?(?:(?P<key>answers): )?(?P<text>.*)$")


@dataclass(frozen=True)
class Group:
    """The names of the analyses of a group, and the SQL that materializes the rows they share."""

    names: tuple[str, ...]
    sql: str


@cache
def groups() -> Mapping[str, Group]:
    """Return the group of each analysis that belongs to one."""
    found = [Group(header.listed(header.read(text, _LINE).get("answers", [])), text) for text in scripts().values()]
    return {name: group for group in found for name in group.names}


@cache
def scripts() -> Mapping[str, str]:
    """Return the SQL that materializes the rows of each group, by file name."""
    folders = [topic.joinpath("once") for topic in resources.files("profiledb").joinpath("analyses").iterdir()]
    files = [file for folder in folders if folder.is_dir() for file in folder.iterdir()]
    return {file.name.removesuffix(".sql"): file.read_text(encoding="utf-8") for file in files}


def members(asked: Request) -> tuple[Request, ...]:
    """Return the requests that are answered together with this one, itself included, or none if it is answered alone.

    A group shares one selection, and all parameters of its analyses have their defaults.
    """
    group = groups().get(asked.analysis.name)
    if group is None or asked.values != header.bind(asked.analysis, {}):
        return ()
    several = [header.get(name) for name in group.names]
    return tuple(Request(asked.report_id, one, header.bind(one, {}), asked.selection, None) for one in several)


def key(library: Library, asked: tuple[Request, ...]) -> tuple[Any, ...]:
    """Return a key that differs whenever one of the answers could differ."""
    sql = groups()[asked[0].analysis.name].sql
    return sql, *(one.key(library) for one in asked)


def answers(library: Library, asked: tuple[Request, ...]) -> "dict[str, pd.DataFrame]":
    """Return the answers to ``members`` by analysis name, with the column types of ``analysis.run``.

    Leaves out analyses for which the report lacks data. Raises the same errors as ``analysis.run``.
    """
    found = zip(asked, rows(library, asked), strict=True)
    return {one.analysis.name: analysis.frame_of(table) for one, table in found if table is not None}


def rows(library: Library, asked: tuple[Request, ...]) -> "list[pa.Table | None]":
    """Return the answer to each request as an Arrow table, or None if the report lacks the data for it."""
    try:
        return _rows(library, asked)
    except BROKEN:  # the library has reconnected
        return _rows(library, asked)


def _rows(library: Library, asked: tuple[Request, ...]) -> "list[pa.Table | None]":
    first = asked[0]
    built_on = views.needed((*needs.INCLUDES, *(name for one in asked for name in one.includes)))
    with library.cursor(first.report_id, None, built_on) as cursor:
        present = [_has_all(cursor, one) for one in asked]
        if not any(present):
            return [None] * len(asked)
        apply.apply(cursor, first.selection)
        cursor.execute(groups()[first.analysis.name].sql)
        return [
            analysis.table(cursor, one.analysis.sql, dict(one.values)) if there else None
            for one, there in zip(asked, present, strict=True)
        ]


def _has_all(cursor: Any, asked: Request) -> bool:
    try:
        needs.check(cursor, asked.analysis)
    except NotCapturedError:
        return False
    return True
