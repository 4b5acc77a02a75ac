"""Rows that several analyses and rules share, computed once for all questions about the same part of a report.

A file in ``analyses/<topic>/once`` materializes the rows on a cursor and redefines the views and macros that compute
them to read them instead. Analyses then run on that cursor unchanged. Its header may say what the rows hold for::

    -- Prose, any number of lines.
    -- defaults: min_ns          analyses read these rows only with their default for this parameter
    -- once: steps, names unless finding_step   files that it builds on, the second one only if a view has no rows
    -- of: finding_communication     nothing is made unless this table has rows
    -- whole: program_sign       the view that it materializes, whose few texts are the same for all parts of a report
    -- tells: finding_step       views of which a macro, has_finding_step(), is a constant from then on

Analyses and rules list the files that they build on (``once:``). All that is asked of one part of a report, one after
the other, has one cursor, on which the selection is applied and each file runs once.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources

import duckdb

from profiledb import config
from profiledb.errors import NotCapturedError, NotLinkedError
from profiledb.library.library import Library
from profiledb.library.report_links import Partner
from profiledb.query import captures, filled_tables, header, needs, views
from profiledb.query.header import Analysis
from profiledb.report.attachments import Opened
from profiledb.report.schema import quote
from profiledb.rules import phases
from profiledb.selection import apply
from profiledb.selection.model import Selection

ALWAYS = ("active",)
"""Files that all that asks of a part of a report builds on."""
_FEW = 500
"""Most rows that a statement has as literals."""
_LINE = re.compile(r"^-- ?(?:(?P<key>defaults|once|of|whole|tells): )?(?P<text>.*)$")


@dataclass(frozen=True)
class Shared:
    """SQL that materializes rows, the parameters whose defaults they hold for, and the rows that they build on; some
    of these only ``unless`` a view has rows.

    If ``of`` names a table, nothing is made unless it has rows. ``whole`` names the view that is read if its rows are
    the same for all parts of a report, ``tells`` those whose macros then say as constants
    whether they have rows.
    """

    sql: str
    defaults: tuple[str, ...]
    once: tuple[str, ...]
    unless: Mapping[str, str]
    tells: tuple[str, ...]
    of: str
    whole: str


@cache
def list_files() -> Mapping[str, Shared]:
    """Return the files of shared rows by name."""
    folders = [topic.joinpath("once") for topic in resources.files("profiledb").joinpath("analyses").iterdir()]
    texts = [(file.name, file.read_text(encoding="utf-8")) for one in folders if one.is_dir() for file in one.iterdir()]
    return {name.removesuffix(".sql"): _parse_shared(text) for name, text in sorted(texts)}


def _parse_shared(text: str) -> Shared:
    lines = header.read_header(text, _LINE)
    defaults, once, tells = (header.split_names(lines.get(key, [])) for key in ("defaults", "once", "tells"))
    unless = dict(one.split(" unless ") for one in once if " unless " in one)
    once = tuple(one.partition(" unless ")[0] for one in once)
    return Shared(text, defaults, once, unless, tells, *("".join(lines.get(key, [])) for key in ("of", "whole")))


def fit(analysis: Analysis, values: Mapping[str, object], selection: Selection) -> bool:
    """Return True if an analysis may run where shared rows are: they hold for one mode, and for some defaults."""
    defaults = header.bind(analysis, {})
    fixed = {name for one in analysis.once for name in list_files()[one].defaults}
    return selection.mode == "process" and all(values[name] == defaults[name] for name in fixed)


class Part:
    """A part of a report on a cursor, with the rows that were made of it."""

    def __init__(self, opened: Opened, selection: Selection, *, alone: bool) -> None:
        self.cursor: duckdb.DuckDBPyConnection = opened.cursor
        self._made = opened.made
        self._known = opened.known
        self._facts: captures.Facts = opened.made.get("facts") or self._learn_facts(opened)
        self._selection = selection
        self._alone = alone

    def _learn_facts(self, opened: Opened) -> captures.Facts:
        """Look up which tables have rows, once for a report, and tell the cursor."""
        if "tables" not in self._known:
            alone = len(opened.catalogs) == 1
            self._known["tables"] = filled_tables.read(self.cursor, opened.catalogs[0], alone=alone)
        facts = opened.made["facts"] = captures.Facts(self.cursor, self._known["tables"])
        filled_tables.declare(self.cursor, facts.tables)
        return facts

    def check(self, analysis: Analysis) -> None:
        """Raise NotCapturedError or NotLinkedError if the report lacks what an analysis needs."""
        needs.check(self._facts, analysis, alone=self._alone)

    def prepare(self, analysis: Analysis) -> None:
        """Create the selection, the phases and the shared rows that an analysis builds on, unless they exist."""
        self.select()
        if analysis.by_phases:
            self._do_first("phases", lambda: phases.apply(self.cursor))
        self._make_once((*(ALWAYS if analysis.by_part else ()), *analysis.once), {})

    def select(self) -> None:
        """Apply the selection. Raises the errors of ``selection.apply``."""
        self._do_first("selection", lambda: apply.apply(self.cursor, self._selection))

    def _make_once(self, once: Iterable[str], unless: Mapping[str, str]) -> None:
        for name in once:
            if name not in unless or not captures.has_rows(self._facts, unless[name]):
                self._do_first(name, partial(self._make_rows, list_files()[name]))

    def _make_rows(self, one: Shared) -> None:
        self._make_once(one.once, one.unless)
        if one.of and not captures.has_rows(self._facts, one.of):
            return
        self.cursor.execute(self._known.get(one.whole, one.sql))
        if one.whole and one.whole not in self._known:
            self._known[one.whole] = self._write_rows(one)
        for view in one.tells:
            has = captures.has_rows(self._facts, view)
            self.cursor.execute(f"CREATE OR REPLACE TEMP MACRO has_{view}() AS {has}")

    def _write_rows(self, one: Shared) -> str:
        """Return SQL for another cursor that has the rows of a file, which was run, as literals; its own if they are
        many or no texts."""
        rows = self.cursor.execute(f"FROM {one.whole} LIMIT {_FEW + 1}")
        names, texts = ", ".join(name for name, *_ in rows.description or ()), rows.fetchall()
        if not texts:
            return one.sql.replace(f"AS FROM {one.whole};", f"AS FROM {one.whole} WHERE false;", 1)
        if len(texts) > _FEW or not isinstance(texts[0][0], str):
            return one.sql
        values = ", ".join(f"({', '.join(map(quote, row))})" for row in texts)
        return one.sql.replace(f"AS FROM {one.whole};", f"AS FROM (VALUES {values}) AS given ({names});", 1)

    def run(self, name: str, sql: str) -> None:
        """Run SQL unless it has run by this name."""
        self._do_first(name, lambda: self.cursor.execute(sql))

    def _do_first(self, name: str, do: Callable[[], object]) -> None:
        if name not in self._made:
            do()
            self._made[name] = True


@contextmanager
def opened(
    library: Library,
    report_id: str,
    selection: Selection,
    includes: Iterable[str],
    *,
    partner: str | None = None,
    joins: Partner = "ncu",
    alone: bool = True,
) -> Iterator[Part]:
    """Open a part of a report, ``alone`` if nothing that analyses may join belongs to it (needs.py).

    Raises the errors of ``Library.cursor``, and of ``Part`` in the block.
    """
    own = config.load().phases
    key = (selection, str(own), own.stat().st_mtime_ns if own and own.exists() else 0)
    lacks: NotCapturedError | NotLinkedError | None = None
    built_on = views.list_needed(dict.fromkeys((*needs.INCLUDES, *includes)))
    with library.kept_cursor(report_id, partner, built_on, joins, key) as one:
        try:
            yield Part(one, selection, alone=alone)
        except (NotCapturedError, NotLinkedError) as error:  # the cursor stays good
            lacks = error
    if lacks is not None:
        raise lacks
