"""Read the output of ``ncu --csv``: raw pages (wide, units in the second row) and details pages (long).

Program output may stand before, between and after the rows, and a text may hold several pages: the raw page and the
details page of the same launches, or the output of several runs.
"""

import re
from collections.abc import Collection, Iterable, Iterator

from ingest.ncu import units as ncu_units
from ingest.ncu.columns import Instance, Metrics
from ingest.ncu.csv_tables import METRIC_COLUMN, Page, split_pages
from ingest.ncu.names import find_metric, is_instanced
from ingest.ncu.tables import UNNAMED, Capture, Detail, Launch, Nvtx, Rule
from profiledb.words import counted

_NCU_SAYS = re.compile(r"==(ERROR|WARNING)== *(.*)")
_SEVERITIES = {"ERROR": "error", "WARNING": "warning"}
_KEPT_MESSAGES = 50
_IDENTITY = {
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream", "Block Size",
    "Grid Size", "Device", "CC", "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Type",
    "Rule Description", "Estimated Speedup Type", "Estimated Speedup",
}  # fmt: skip
_LABEL_AND_NAME = re.compile(r"(?P<label>.+) \((?P<name>[A-Za-z]\w*_[\w.:]*)\)")
_INSTANCES = re.compile(r"(?P<value>[^ (]*) ?\((?P<list>(?P<key>\w[^:]*): .+)\)")
_NVTX_COLUMN = "_Range:PL_Type:"
_NVTX_RANGE = re.compile(r'"(?P<domain>[^":]*):(?P<name>.*?)(?::[^":]*){6}"')


def read_pages(lines: Iterable[str], capture: Capture) -> None:
    """Add all pages of a text to a capture.

    Values are converted to base units. If a launch has a raw page, its details page adds no metrics: they are the same
    values, rounded. A page that repeats the numbers of an earlier one of its kind is another run, and its launches are
    numbered on.
    """
    texts = list(split_pages(_collect_messages(lines, capture)))
    raw: set[int] = set()
    offsets: list[int] = []
    for page in (page for page in texts if not page.is_details):
        offsets.append(_find_offset(page, raw))
        launches = _find_launches(page, offsets[-1], capture)
        raw.update(launches)
        _read_raw(page, launches, capture.metrics)
    seen: set[int] = set()
    for index, page in enumerate(page for page in texts if page.is_details):
        launches = _find_launches(page, offsets[index] if index < len(offsets) else _find_offset(page, seen), capture)
        seen.update(launches)
        _read_details(page, launches, capture, raw)
    if skipped := sum(page.skipped for page in texts):
        have = "row of the text has" if skipped == 1 else "rows of the text have"
        text = f"{skipped:,} {have} no number of a launch, or more or fewer cells than the header: excluded."
        capture.diagnostics.append(("warning", "warpdeck", text))


def _collect_messages(lines: Iterable[str], capture: Capture) -> Iterator[str]:
    """Store ncu's messages between the rows."""
    for line in lines:
        message = _NCU_SAYS.match(line)
        if message and len(capture.diagnostics) < _KEPT_MESSAGES:
            capture.diagnostics.append((_SEVERITIES[message[1]], "ncu", message[2].strip()))
        yield line


def _parse_numbers(page: Page) -> list[int | None]:
    key = page.header.index("ID") if "ID" in page.header else page.header.index("") if "" in page.header else -1
    return [_parse_integer(row[key]) if key >= 0 else index for index, row in enumerate(page.rows)]


def _find_offset(page: Page, seen: set[int]) -> int:
    """Return the offset that keeps a page's numbers apart from those of an earlier run."""
    return max(seen) + 1 if seen.intersection(n for n in _parse_numbers(page) if n is not None) else 0


def _find_launches(page: Page, offset: int, capture: Capture) -> list[int]:
    """Return the launch of each row, -1 if it has none; new launches are added to the capture."""
    column = {name: index for index, name in enumerate(page.header)}
    known = {launch.launch_id for launch in capture.launches}
    rows = [-1 if number is None else number + offset for number in _parse_numbers(page)]
    for launch_id, row in zip(rows, page.rows, strict=True):
        if launch_id >= 0 and launch_id not in known:
            known.add(launch_id)
            ranges = list(_parse_nvtx(launch_id, row, column))
            capture.nvtx += ranges
            capture.launches.append(_make_launch(launch_id, row, column, "/".join(entry.name for entry in ranges)))
    return rows


def _make_launch(launch_id: int, row: list[str], column: dict[str, int], nvtx: str) -> Launch:
    def get(name: str) -> str:
        return row[column[name]].strip() if name in column else ""

    grid, block = _parse_size(get("Grid Size")), _parse_size(get("Block Size"))
    return Launch(
        launch_id,
        pid=_parse_integer(get("Process ID")),
        process_name=get("Process Name") or None,
        device_id=_parse_integer(get("Device")),
        context_id=_parse_integer(get("Context")),
        stream_id=_parse_integer(get("Stream")),
        kernel=get("Kernel Name") or UNNAMED,
        nvtx=nvtx or None,
        launched_at=get("Kernel Time") or None,
        cc=get("CC") or None,
        grid_x=grid[0], grid_y=grid[1], grid_z=grid[2],
        block_x=block[0], block_y=block[1], block_z=block[2],
    )  # fmt: skip


def _parse_nvtx(launch_id: int, row: list[str], column: dict[str, int]) -> Iterator[Nvtx]:
    """Return ranges, which ncu lists as ``1 "domain:name:none:none:none:none:none:none" "domain:..."``."""
    for title, index in column.items():
        style = "push_pop" if "Push/Pop" in title else "start_end"
        for level, named in enumerate(_NVTX_RANGE.finditer(row[index]) if _NVTX_COLUMN in title else ()):
            yield Nvtx(launch_id, named["domain"], style, level, named["name"])


def _parse_integer(text: str) -> int | None:
    value = ncu_units.parse_number(text)
    return int(value) if value is not None and value.is_integer() else None


def _parse_size(text: str) -> tuple[int | None, int | None, int | None]:
    """Parse a size such as ``(256, 1, 1)``. Ranges have no size: ncu prints zeros."""
    digits = re.findall(r"\d+", text)
    if len(digits) != 3 or not any(map(int, digits)):
        return None, None, None
    return int(digits[0]), int(digits[1]), int(digits[2])


def _read_raw(page: Page, launches: list[int], metrics: Metrics) -> None:
    """Read a wide page column by column: one unit a column."""
    has_units = bool(page.rows) and launches[0] < 0
    units = page.rows[0] if has_units else [""] * len(page.header)
    page.skipped += sum(launch_id < 0 for launch_id in launches[has_units:])
    columns = list(zip(*page.rows[has_units:], strict=True)) or [()] * len(page.header)
    for name, printed, cells in zip(page.header, units, columns, strict=True):
        if name in _IDENTITY or name == "" or _NVTX_COLUMN in name:
            continue
        titled = METRIC_COLUMN.fullmatch(name)
        factor, unit = ncu_units.to_base_unit(printed or (titled["unit"] or "" if titled else ""))
        metric = titled["name"] if titled else name
        _read_column(metrics, metric, metrics.name(metric, unit), factor, zip(launches[has_units:], cells, strict=True))


def _read_column(metrics: Metrics, name: str, metric_id: int, factor: float, cells: Iterable[tuple[int, str]]) -> None:
    instanced = is_instanced(name)
    for launch_id, text in cells:
        if launch_id < 0:
            continue
        value, words = ncu_units.parse_cell(text, factor)
        listed = _INSTANCES.fullmatch(words) if words and "(" in words else None
        if listed and (listed["key"].isdigit() or ncu_units.parse_cell(listed["value"])[1] is None):
            value, words = ncu_units.parse_cell(listed["value"], factor)
            if instanced:
                metrics.instances.add(_parse_instances(launch_id, metric_id, listed["list"], factor))
        metrics.add(launch_id, metric_id, value, words)


def _parse_instances(launch_id: int, metric_id: int, text: str, factor: float) -> Iterator[Instance]:
    """Parse instance values such as ``1: 16; 32: 48``, by opcode, or by time as ``1757186208 (+960): 0``."""
    for position, entry in enumerate(text.split("; ")):
        key, _, printed = entry.rpartition(": ")
        value, _ = ncu_units.parse_cell(printed, factor)
        number = re.match(r"\d+(?= \(|$)", key)
        yield launch_id, metric_id, position, int(number[0]) if number else None, None if number else key, value


def _read_details(page: Page, launches: list[int], capture: Capture, raw: set[int]) -> None:
    column = {name: index for index, name in enumerate(page.header)}
    _note_skipped(column, capture)
    place: dict[tuple[int, bool], int] = {}
    for launch_id, row in zip(launches, page.rows, strict=True):
        cells = {name: row[index] for name, index in column.items()}
        is_rule = bool(cells.get("Rule Name"))
        if launch_id < 0 or not (is_rule or cells["Metric Name"]):
            page.skipped += 1
            continue
        position = place[launch_id, is_rule] = place.get((launch_id, is_rule), -1) + 1
        if is_rule:
            capture.rules.append(_read_rule(launch_id, position, cells))
            continue
        detail = _read_detail(launch_id, position, cells)
        capture.details.append(detail)
        if detail.metric and launch_id not in raw:
            metric_id = capture.metrics.name(detail.metric, detail.unit)
            capture.metrics.add(launch_id, metric_id, detail.value, detail.text)


def _note_skipped(names: Collection[str], capture: Capture) -> None:
    missing = [name for name in ("Section Name", "Metric Value") if name not in names]
    texts = [f"The details page has no column `{name}`, so values are missing in this report." for name in missing]
    if unknown := sum(name not in _IDENTITY and _NVTX_COLUMN not in name for name in names):
        texts.append(f"The details page has {counted(unknown, 'column')} that no version of ncu writes: not read.")
    capture.diagnostics += [("warning", "warpdeck", text) for text in texts]


def _read_detail(launch_id: int, position: int, cells: dict[str, str]) -> Detail:
    section, label = cells.get("Section Name", ""), cells["Metric Name"]
    both = _LABEL_AND_NAME.fullmatch(label)
    metric = both["name"] if both else find_metric(section, label)
    factor, unit = ncu_units.to_base_unit(cells.get("Metric Unit", ""))
    value, text = ncu_units.parse_cell(cells.get("Metric Value", ""), factor)
    return Detail(launch_id, position, section, both["label"] if both else label, metric, unit, value, text)


def _read_rule(launch_id: int, position: int, cells: dict[str, str]) -> Rule:
    return Rule(
        launch_id,
        position,
        cells.get("Section Name", ""),
        cells["Rule Name"],
        cells.get("Rule Type", ""),
        cells.get("Rule Description", ""),
        cells.get("Estimated Speedup Type") or None,
        ncu_units.parse_number(cells.get("Estimated Speedup", "")),
    )
