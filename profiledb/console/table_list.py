"""Tables with their columns, views with their comments, and examples for questions."""

import re
from dataclasses import dataclass
from functools import cache

from profiledb.library.catalog import Manifest
from profiledb.query import views
from profiledb.report import schema
from profiledb.report.schema import Table

_VIEW = re.compile(r"(?P<prose>(?:^-- [^\n]*\n)+)^CREATE OR REPLACE VIEW (?P<name>\w+) AS\b", re.MULTILINE)
_EXAMPLE = re.compile(r"^-- (?P<title>[^\n]+)\n-- needs: (?P<needs>[\w, ]+)\n(?P<sql>.*?);$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class View:
    """A view of the analyses: its name, and the comment above it in its file."""

    name: str
    comment: str


LIBRARY = (
    View("library_summary", "Every report of the library: name, GPU, command, time of capture, driver, profiler."),
    View(
        "library_measure", "Figures of every report, by report_id and measure (wall_ns, kernel_ns ...; docs/trends.md)."
    ),
)
"""Tables about all reports, as far as Trends has summarized them."""


@dataclass(frozen=True)
class Example:
    """An example question: its purpose, its SQL, and the tables that it needs."""

    title: str
    sql: str
    needs: tuple[str, ...]


def list_tables(report: Manifest) -> list[tuple[Table, int]]:
    """Return the tables of the schema with a report's number of rows: non-empty ones first, by name."""
    counted = [(table, report.rows.get(table.name, 0)) for table in schema.read_tables().values()]
    return sorted(counted, key=lambda one: (not one[1], one[0].name))


@cache
def list_views() -> tuple[View, ...]:
    """Return the commented views by name."""
    comments = {}
    for file in views.list_files().values():
        for match in _VIEW.finditer(file.sql):
            prose = " ".join(line.removeprefix("--").strip() for line in match["prose"].splitlines())
            if "includes:" not in prose:
                comments[match["name"]] = View(match["name"], prose)
    return tuple(comments[name] for name in sorted(comments))


@cache
def _load_examples() -> tuple[Example, ...]:
    text = schema.read_sql("examples.sql", "profiledb.console")
    return tuple(
        Example(one["title"], one["sql"].strip(), tuple(name.strip() for name in one["needs"].split(",")))
        for one in _EXAMPLE.finditer(text)
    )


def list_library_examples() -> list[Example]:
    """Return the examples about all reports."""
    names = {view.name for view in LIBRARY}
    return [one for one in _load_examples() if names & {*one.needs}]


def list_examples(report: Manifest) -> list[Example]:
    """Return the examples for which a report has rows."""
    return [one for one in _load_examples() if all(report.rows.get(name) for name in one.needs)]
