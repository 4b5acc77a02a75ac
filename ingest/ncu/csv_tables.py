"""Find the tables of ``ncu --csv`` in a text, between any other output."""

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_ROW = re.compile(r'"[\d,]*","')
_STARTS = ("==", '"ID","')
# A column of metrics: its name alone, or with its unit, as tables saved from pandas have it.
METRIC_COLUMN = re.compile(r"(?P<name>[\w.:]+__[\w.:]+)(?: \((?P<unit>.*)\))?")
# The list of a metric's instances exceeds the csv module's default limit.
csv.field_size_limit(1 << 30)


@dataclass
class Page:
    """One table of a text: its header and its rows, all as wide as the header.

    ``skipped`` counts rows of another width, and lines that are neither rows nor look like program output.
    """

    header: list[str]
    is_quoted: bool = True
    rows: list[list[str]] = field(default_factory=list)
    skipped: int = 0

    @property
    def is_details(self) -> bool:
        """Return True for a details page, which has a row per metric or rule."""
        return "Metric Name" in self.header


def is_header(line: str) -> bool:
    """Return True if a line is the header of a page of ncu, or of a table of metrics made from one."""
    if "Kernel Name" not in line and "__" not in line:
        return False
    return _is_header(_split_cells(_cut_line(line)))


def _is_header(cells: list[str]) -> bool:
    if "Kernel Name" in cells:
        return "Metric Name" in cells or any("__" in cell for cell in cells)
    names = [cell for cell in cells[1:] if METRIC_COLUMN.fullmatch(cell)]
    return len(cells) > 1 and cells[0] in ("", "ID") and len(names) == len(cells) - 1


def _split_cells(line: str) -> list[str]:
    """Return the cells of a record; none if it is no CSV."""
    try:
        return next(csv.reader([line.rstrip("\r\n")]), [])
    except csv.Error:
        return []


def _cut_line(line: str) -> str:
    """Return a header without the program output in front of it on the same line."""
    start = line.find('"ID","')
    return line[start:].rstrip("\r\n") if start > 0 else line.rstrip("\r\n")


def split_pages(lines: Iterable[str]) -> Iterator[Page]:
    """Split a text into pages; all other lines are program output and ignored."""
    page: Page | None = None
    for line in _join_records(lines):
        if is_header(line):
            if page:
                yield page
            page = Page(_split_cells(_cut_line(line)), is_quoted=_cut_line(line).startswith('"'))
        elif page:
            _add_row(page, line)
    if page:
        yield page


def _join_records(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines, with those joined that a line break inside a quoted cell has split."""
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
        page.skipped += line.count('","') > len(page.header) // 2  # more cells than any program prints by chance
        return
    if page.is_quoted and line.count('"') % 2:  # the text ends within a cell
        page.skipped += 1
        return
    row = _split_cells(line[start.start() :] if start else line)
    if page.is_details and start and len(row) in _compute_metric_widths(page.header):
        # ncu omits the columns of rules in the rows of metrics.
        row += [""] * (len(page.header) - len(row))
    if len(row) == len(page.header):
        page.rows.append(row)
    else:
        page.skipped += start is not None or len(row) > len(page.header) // 2


def _compute_metric_widths(header: list[str]) -> tuple[int, ...]:
    """Return the numbers of cells of a metric's row: all before the columns of rules, and one more after the final
    comma."""
    first = header.index("Rule Name") if "Rule Name" in header else len(header)
    return first, first + 1
