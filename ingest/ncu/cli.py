"""Read a Nsight Compute report with ncu itself, which prints its pages as CSV."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

from ingest import scrub, tools
from ingest.ncu import pages
from ingest.ncu.tables import Capture
from profiledb.errors import ConversionError, DiskFullError
from profiledb.library import disk

_RENAME = ("--rename-kernels", "off")
"""ncu shortens names otherwise: ``at::softmax`` for ``at::native::softmax``, which no Systems report has."""
# Options of newer versions of ncu; if ncu refuses one, the page is printed without it.
_EXTRA = {
    "raw": (("--print-metric-instances", "details"), _RENAME),
    "details": (("--print-metric-name", "label-name"), _RENAME),
}


def read_report(tool: tools.Tool, report: Path, work: Path) -> Capture:
    """Print the raw and the details page of an uncompressed report into ``work`` and read them.

    Raises:
        ConversionError: ncu failed, or printed ``==ERROR==`` to standard output within the CSV.
    """
    capture = Capture(converter=f"{tool.label} --csv")
    with ThreadPoolExecutor(2) as pool:
        printed = list(pool.map(lambda page: _print_page(tool, report, work, page), ("raw", "details")))
    pages.read_pages(chain.from_iterable(map(_read_lines, printed)), capture)
    return capture


def _read_lines(printed: Path) -> Iterator[str]:
    with printed.open(encoding="utf-8", errors="replace", newline="") as lines:
        yield from lines


def _print_page(tool: tools.Tool, report: Path, work: Path, page: str) -> Path:
    output = work / f"{page}.csv"
    arguments = [str(tool.path), "--import", str(report), "--csv", "--page", page, "--print-units", "base"]
    extra = list(_EXTRA[page])
    while True:
        printed = tools.run([*arguments, *chain.from_iterable(extra)], stdout=output)
        head = _read_head(output)
        refused = [one for one in extra if one[0].lstrip("-") in head + printed.stderr]
        if not (printed.returncode and refused):
            break
        extra = [one for one in extra if one not in refused]
    if printed.returncode or "==ERROR==" in head:
        if disk.says_full(head + printed.stderr):
            raise DiskFullError(disk.FULL.message, hint=disk.FULL.hint, detail=scrub.scrub_output(printed.stderr))
        raise ConversionError(
            f"{tool.label} cannot read the report.",
            hint="Use an ncu at least as new as the one that captured the report, or install the ncu-report wheel.",
            detail=scrub.scrub_output(head + printed.stderr),
        )
    return output


def _read_head(output: Path) -> str:
    with output.open("rb") as file:
        return file.read(2000).decode("utf-8", "replace")
