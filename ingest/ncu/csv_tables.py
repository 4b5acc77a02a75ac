"""Finds the tables in a text that ncu printed with ``--csv`` among whatever else stands there."""

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_ROW = re.compile(r'"[\d,]*","')
_STARTS = ("==", '"ID","')
# A column of metrics: its name alone, or with its unit as tables saved from pandas have it.
METRIC_COLUMN = re.compile(r"(?P<name>[\w.:]+__[\w.:]+)(?: \((?P<unit>.*)\))?")
# The list of a metric's instances outgrows the csv module's usual limit.
csv.field_size_limit(1 << 30)


@dataclass
class Page:
    """One table of a text: its header and its rows, all of the header's width.

    ``skipped`` counts rows of another width, and what is neither a row nor looks like program output.
    """

    header: list[str]
    is_quoted: bool = True
    rows: list[list[str]] = field(default_factory=list)
    skipped: int = 0

    @property
    def is_details(self) -> bool:
        """Whether it is a details page: a row a metric or rule."""
        return "Metric Name" in self.header


def is_header(line: str) -> bool:
    """Whether a line is the header of a page: ncu's own, or that of a table of metrics made from one."""
    if "Kernel Name" not in line and "__" not in line:
        return False
    return _is_header(_cells(_cut(line)))


def _is_header(cells: list[str]) -> bool:
    if "Kernel Name" in cells:
        return "Metric Name" in cells or any("__" in cell for cell in cells)
    names = [cell for cell in cells[1:] if METRIC_COLUMN.fullmatch(cell)]
    return len(cells) > 1 and cells[0] in ("", "ID") and len(names) == len(cells) - 1


def _cells(line: str) -> list[str]:
    """The cells of a record; none where it is no CSV."""
    try:
        return next(csv.reader([line.rstrip("\r\n")]), [])
    except csv.Error:
        return []


def _cut(line: str) -> str:
    """A header that follows program output on the same line, without that output."""
    start = line.find('"ID","')
    return line[start:].rstrip("\r\n") if start > 0 else line.rstrip("\r\n")


def pages(lines: Iterable[str]) -> Iterator[Page]:
    """Splits a text into pages; whatever is neither header nor row is program output and left out."""
    page: Page | None = None
    for line in _records(lines):
        if is_header(line):
            if page:
                yield page
            page = Page(_cells(_cut(line)), is_quoted=_cut(line).startswith('"'))
        elif page:
            _add_row(page, line)
    if page:
        yield page


def _records(lines: Iterable[str]) -> Iterator[str]:
    """Lines, with those joined that a line break inside a quoted cell has split."""
    open_row = ""
    for line in lines:
        starts = _ROW.match(line) is not None
        if open_row and (starts or line.startswith(_STARTS)):
            yield open_row
            open_row = ""
        if not open_row and not starts:
            yield line
            continue
        open_row += line
        if open_row.count('"') % 2 == 0:
            yield open_row
            open_row = ""
    if open_row:
        yield open_row


def _add_row(page: Page, line: str) -> None:
    start = _ROW.search(line) if page.is_quoted else None
    if line.startswith("=="):
        return
    if page.is_quoted and start is None:
        page.skipped += line.count('","') > len(page.header) // 2  # more cells than any program prints so
        return
    if page.is_quoted and line.count('"') % 2:  # the text ends within a cell
        page.skipped += 1
        return
    row = _cells(line[start.start() :] if start else line)
    if page.is_details and start and len(row) in _widths_of_metrics(page.header):
        # ncu leaves out the columns of rules in the rows of metrics.
        row += [""] * (len(page.header) - len(row))
    if len(row) == len(page.header):
        page.rows.append(row)
    else:
        page.skipped += start is not None or len(row) > len(page.header) // 2


def _widths_of_metrics(header: list[str]) -> tuple[int, ...]:
    """How many cells a metric's row has: all before those of rules, and one more after the comma that ends it."""
    first = header.index("Rule Name") if "Rule Name" in header else len(header)
    return first, first + 1
