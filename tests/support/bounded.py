"""Conversions by the real worker that may take no longer than a bound, and questions to what they made."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from profiledb.library.library import Library
from profiledb.query import views
from tests.conftest import Ingest
from tests.support import exports

CPU_S = 20
"""What the conversion of each may take, in seconds of CPU time: most take three, and took minutes once."""

Query = Callable[[str], list[tuple[Any, ...]]]
Convert = Callable[[exports.Tables], Query]


@pytest.fixture(name="convert")
def make_convert(ingest: Ingest, inbox: Path, empty_library: Library) -> Convert:
    """Converts an export of these tables with the real worker, in bounded time; returns a way to query the report."""

    def run(tables: exports.Tables) -> Query:
        exports.write(inbox / "made.sqlite", tables)
        return converted(ingest, inbox, empty_library)

    return run


def converted(ingest: Ingest, inbox: Path, library: Library, name: str = "made.sqlite") -> Query:
    done = ingest(inbox, library.folder)
    assert [line.split()[0] for line in done.lines] == ["ready"], done.errors
    assert done.cpu_s < CPU_S
    report = library.find(name).id

    def query(sql: str) -> list[tuple[Any, ...]]:
        with library.cursor(report, views=views.everything()) as cursor:
            return cursor.execute(sql).fetchall()

    return query


def notes(query: Query) -> list[str]:
    return [text for (text,) in query("SELECT text FROM diagnostic WHERE source = 'warpdeck' ORDER BY text")]
