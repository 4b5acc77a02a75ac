"""Convert exports with the real worker under a CPU time limit, and query the resulting reports."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from profiledb.library.library import Library
from profiledb.query import views
from tests.conftest import Ingest
from tests.support import exports

CPU_S = 20
"""CPU time limit of a conversion in seconds. Most take three; some once took minutes."""

Query = Callable[[str], list[tuple[Any, ...]]]
Convert = Callable[[exports.Tables], Query]


@pytest.fixture(name="convert")
def make_convert(ingest: Ingest, inbox: Path, empty_library: Library) -> Convert:
    """Return a function that converts an export of some tables with the real worker and returns a way to query it."""

    def run(tables: exports.Tables) -> Query:
        exports.write(inbox / "made.sqlite", tables)
        return converted(ingest, inbox, empty_library)

    return run


Take = Callable[[str, bytes], Query]


@pytest.fixture(name="take")
def make_take(ingest: Ingest, inbox: Path, empty_library: Library) -> Take:
    """Return a function that converts a file of a name and content and returns a way to query the report."""

    def run(name: str, content: bytes) -> Query:
        (inbox / name).write_bytes(content)
        return converted(ingest, inbox, empty_library, name)

    return run


def converted(ingest: Ingest, inbox: Path, library: Library, name: str = "made.sqlite") -> Query:
    done = ingest(inbox, library.folder)
    assert [line.split()[0] for line in done.lines] == ["ready"], done.errors
    assert done.cpu_s < CPU_S
    report = library.find(name).id

    def query(sql: str) -> list[tuple[Any, ...]]:
        with library.cursor(report, views=views.list_all()) as cursor:
            return cursor.execute(sql).fetchall()

    return query


def notes(query: Query) -> list[str]:
    return [text for (text,) in query("SELECT text FROM diagnostic WHERE source = 'warpdeck' ORDER BY text")]
