"""Nsight Systems reports (.nsys-rep, .qdrep), exported by the newest nsys of the machine."""

import mmap
import os
import re
from pathlib import Path

import duckdb

from ingest import diagnostics, tools
from ingest.formats import Format, nsys_sqlite
from ingest.nsys import load, parquet, sqlite
from profiledb.errors import ConversionError, DiskFullError
from profiledb.library import disk
from profiledb.report import file_names
from profiledb.report.schema import quote
from profiledb.report.store import Access

MAGIC = b"NVIDIA Tegra Profiler Report "
END = b"U3w[END]"
EXPORT = "nsys export -t sqlite REPORT.nsys-rep"
"""Command at the end of hints."""
PARQUET_SINCE = (2023, 3)
"""First version that can export a folder of Parquet files, which load about seven times faster than SQLite."""

BLOBS = "--include-blobs"
"""Option of ``nsys export`` since 2024: payloads of NVTX ranges, such as the bytes of an NCCL message."""

_VERSION = re.compile(rb"^NVIDIA Tegra Profiler Report (\d{4})@(\d+)@(\d+)")
_BUILD = re.compile(rb"^NVIDIA Tegra Profiler Report (\d{1,18})(?!\d*@)")
_NEWER = re.compile(r"created in Nsight Systems version \((\d+\.\d+\.\d+)")
_WRITTEN_BY = re.compile(r"written by nsys (\d+\.\d+\.\d+)")
"""Version in the ``converter`` of an export (nsys_sqlite.py)."""
_UNREADABLE_BY_OLDER = ("missing required fields", "ProtobufParseException")


def matches(path: Path) -> bool:
    """Return True if a file starts with the magic of Nsight Systems reports."""
    return path.is_file() and _read_bytes(path, 0, len(MAGIC)) == MAGIC


def find_access(source: Path) -> Access:
    """Return the access of an SQLite export only if one will be read: loading the extension takes 0.2 s."""
    tool = tools.find_nsys()
    if tool is None or tool.version[:2] < PARQUET_SINCE or find_export(source):
        return sqlite.get_access(source.with_suffix(".sqlite"))
    return Access()


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Export the report with nsys and load the export.

    If nsys is missing or cannot read the report, load an SQLite export of the same capture beside it instead.
    """
    _check_complete(source)
    tool = tools.find_nsys()
    try:
        converter = _load_by_nsys(tool, source, db, work)
    except ConversionError as problem:
        beside = find_export(source)
        if beside is None:
            raise
        nsys_sqlite.convert(beside, db, work)
        (converter,) = db.execute("SELECT converter FROM report").fetchone() or ("",)
        diagnostics.note(db, "warning", _explain_export(source, beside, problem, converter))
    db.execute(f"UPDATE report SET converter = {quote(converter)}, tool_version = {quote(_read_version(source))}")


def _explain_export(source: Path, beside: Path, problem: ConversionError, converter: str) -> str:
    """Explain why the export was read. If a newer nsys wrote it, the report is not damaged."""
    tool, written = tools.find_nsys(), _WRITTEN_BY.search(converter)
    if tool and written and "newer nsys" in problem.message and _is_newer(written[1], tool):
        label = tool.label.removeprefix("nsys ")
        return (
            f"{source.name} needs a newer nsys than {label} (installed), so its SQLite export {beside.name} was used."
        )
    return f"{problem.message} Its SQLite export {beside.name} was used."


def find_export(source: Path) -> Path | None:
    """Return the SQLite export of the same capture beside a report, as ``nsys stats`` leaves it there.

    Both the export and the report contain the capture's identity in plain text. An export without one counts if it is
    not older than the report.
    """
    beside = source.with_suffix(".sqlite")
    if beside == source or not os.path.isfile(beside):  # noqa: PTH113 - raises no error for a name that is too long
        return None
    if not nsys_sqlite.matches(beside):
        return None
    session = sqlite.read_session(beside)
    if session:
        return beside if _contains_text(source, session.encode()) else None
    return beside if beside.stat().st_mtime >= source.stat().st_mtime else None


def is_complete(path: Path) -> bool:
    """Return True if the file has the end mark of a complete report."""
    return _read_bytes(path, max(0, path.stat().st_size - len(END)), len(END)) == END


def _load_by_nsys(tool: tools.Tool | None, source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> str:
    if tool is None:
        missing = ConversionError(
            "This machine has no nsys to read the report with.",
            hint=f"Install Nsight Systems, or drop the report's export instead, made where nsys is: {EXPORT}",
        )
        raise tools.explain_absence("nsys", missing)
    (work / "report.nsys-rep").symlink_to(source.absolute())  # a plain name: nsys splits paths at spaces
    if tool.version[:2] < PARQUET_SINCE:
        load.load_export(db, sqlite.open_export(db, _export_report(tool, source, work, "sqlite", "export.sqlite")))
        return f"{tool.label}, SQLite"
    folder = _export_report(tool, source, work, "parquetdir", "export")
    sources = [parquet.open_export(db, folder)]
    if "META_DATA_CAPTURE" not in sources[0].tables:  # some versions leave the settings out of Parquet
        sources.append(
            sqlite.open_settings(
                _export_report(tool, source, work, "sqlite", "settings.sqlite", "--tables=META_DATA.*")
            )
        )
    load.load_export(db, *sources)
    return f"{tool.label}, Parquet"


def _export_report(tool: tools.Tool, source: Path, work: Path, kind: str, output: str, *options: str) -> Path:
    if tools.has_option(tool, "export", BLOBS):
        options = (*options, f"{BLOBS}=true")
    argv: list[str | Path] = [tool.path, "export", "-q", "true", "-t", kind, "-o", output, *options, "report.nsys-rep"]
    export = tools.run(argv, cwd=work)
    target = work / output
    # On a full disk nsys prints an error and exits with 0; on other failures it leaves half a file behind.
    if export.returncode or "rror" in export.output or not target.exists():
        raise _explain_failure(tool, source, export.output)
    return target


def _explain_failure(tool: tools.Tool, source: Path, words: str) -> ConversionError:
    """Explain why nsys gave up.

    If its output only says that it cannot parse the report, the report's header decides: an older version than nsys's
    own means damage; no version (a build of nsys within another product) leaves both open.
    """
    if disk.says_full(words):
        return DiskFullError(disk.FULL.message, hint=disk.FULL.hint, detail=words)
    newer = _NEWER.search(words)
    version = newer[1] if newer else _read_version(source)
    if newer or _is_newer(version, tool):
        return ConversionError(
            f"{source.name} needs a newer nsys than {tool.label.removeprefix('nsys ')} (installed); it was made"
            f" by Nsight Systems {version}.",
            hint=f"Install nsys {version} or newer, or put the report's export beside it: {EXPORT}",
            detail=words,
        )
    if any(sign in words for sign in _UNREADABLE_BY_OLDER) and _has_build_number(source):
        return ConversionError(
            f"{source.name} is damaged, or needs a newer nsys than {tool.label.removeprefix('nsys ')} (installed).",
            hint=f"Copy it again, install a newer nsys, or put the report's export beside it: {EXPORT}",
            detail=words,
        )
    return ConversionError(
        f"{source.name} is damaged: {tool.label} cannot read it.",
        hint="Copy it again from its source, or capture again.",
        detail=words,
    )


def _is_newer(version: str | None, tool: tools.Tool) -> bool:
    return version is not None and tuple(map(int, version.split("."))) > tool.version[:3]


def _has_build_number(source: Path) -> bool:
    """Return True if the header has a build number instead of a version; old versions of nsys write 1."""
    build = _BUILD.match(_read_bytes(source, 0, 64))
    return build is not None and int(build[1]) > 1


def _check_complete(source: Path) -> None:
    if not is_complete(source):
        raise ConversionError(
            f"{source.name} is incomplete: it does not end like an Nsight Systems report.",
            hint="Wait until it is copied, or copy it again. It is tried again when it changes.",
        )


def _read_version(source: Path) -> str | None:
    """Return the nsys version that wrote the report; older versions do not record it."""
    version = _VERSION.match(_read_bytes(source, 0, 64))
    return ".".join(part.decode() for part in version.groups()) if version else None


def _contains_text(path: Path, text: bytes) -> bool:
    if path.stat().st_size == 0:
        return False  # mmap refuses empty files
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(text) >= 0


def _read_bytes(path: Path, offset: int, length: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(length)


FORMAT = Format(
    name="Nsight Systems report",
    kind="nsys",
    endings=dict.fromkeys(file_names.NSYS_ENDINGS, 4),
    misnamed=("does not start like an Nsight Systems report", "Copy it again from its source."),
    cost=32,
    matches=matches,
    access=find_access,
    convert=convert,
    runs_tools=True,
)
