"""Nsight Systems reports (.nsys-rep, .qdrep), converted by the newest nsys of the machine."""

import mmap
import os
import re
from pathlib import Path

import duckdb

from ingest import diagnostics, tools
from ingest.formats import nsys_sqlite
from ingest.nsys import load, parquet, sqlite
from profiledb.errors import ConversionError, DiskFullError
from profiledb.library import disk
from profiledb.report.schema import quote
from profiledb.report.store import Access

NAME = "Nsight Systems report"
KIND = "nsys"
RUNS_TOOLS = True
MAGIC = b"NVIDIA Tegra Profiler Report "
END = b"U3w[END]"
EXPORT = "nsys export -t sqlite REPORT.nsys-rep"
"""The command that a hint ends with."""
PARQUET_SINCE = (2023, 3)
"""First version whose export writes a folder of Parquet files: about seven times faster to load than SQLite."""

BLOBS = "--include-blobs"
"""Option of ``nsys export`` since 2024: payloads of NVTX ranges, such as the bytes of an NCCL message."""

_VERSION = re.compile(rb"^NVIDIA Tegra Profiler Report (\d{4})@(\d+)@(\d+)")
_BUILD = re.compile(rb"^NVIDIA Tegra Profiler Report (\d{1,18})(?!\d*@)")
_NEWER = re.compile(r"created in Nsight Systems version \((\d+\.\d+\.\d+)")
_WRITTEN_BY = re.compile(r"written by nsys (\d+\.\d+\.\d+)")
"""What the converter says of an export (nsys_sqlite.py)."""
_UNREADABLE_BY_OLDER = ("missing required fields", "ProtobufParseException")


def matches(path: Path) -> bool:
    """A file that begins as every Nsight Systems report does."""
    return path.is_file() and _read(path, 0, len(MAGIC)) == MAGIC


def access(source: Path) -> Access:
    """What the load needs; see Format.access. The SQLite extension takes 0.2 s, and is for few reports."""
    tool = tools.find_nsys()
    if tool is None or tool.version[:2] < PARQUET_SINCE or export_beside(source):
        return sqlite.access(source.with_suffix(".sqlite"))
    return Access()


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Exports the report with nsys and loads the export; see Format.convert.

    Where nsys cannot read it, or there is none, an SQLite export of the same capture beside the report is loaded.
    """
    _check_complete(source)
    tool = tools.find_nsys()
    try:
        converter = _through_nsys(tool, source, db, work)
    except ConversionError as problem:
        beside = export_beside(source)
        if beside is None:
            raise
        nsys_sqlite.convert(beside, db, work)
        (converter,) = db.execute("SELECT converter FROM report").fetchone() or ("",)
        diagnostics.note(db, "warning", _instead(source, beside, problem, converter))
    db.execute(f"UPDATE report SET converter = {quote(converter)}, tool_version = {quote(_captured_by(source))}")


def _instead(source: Path, beside: Path, problem: ConversionError, converter: str) -> str:
    """Why the export was read. That a newer nsys wrote it tells that the report is not damaged."""
    tool, written = tools.find_nsys(), _WRITTEN_BY.search(converter)
    if tool and written and "newer nsys" in problem.message and _is_newer(written[1], tool):
        label = tool.label.removeprefix("nsys ")
        return (
            f"{source.name} needs a newer nsys than {label} (installed), so its SQLite export {beside.name} was used."
        )
    return f"{problem.message} Its SQLite export {beside.name} was used."


def export_beside(source: Path) -> Path | None:
    """The SQLite export of the same capture beside a report, as ``nsys stats`` leaves it there.

    The capture's identity is in the export, and in plain text in the report. An export without one counts where it
    is not older than the report.
    """
    beside = source.with_suffix(".sqlite")
    if beside == source or not os.path.isfile(beside):  # noqa: PTH113 - no error where the name is too long to exist
        return None
    if not nsys_sqlite.matches(beside):
        return None
    session = sqlite.session(beside)
    if session:
        return beside if _holds(source, session.encode()) else None
    return beside if beside.stat().st_mtime >= source.stat().st_mtime else None


def is_complete(path: Path) -> bool:
    """Whether the file ends as a report does that was written to its end."""
    return _read(path, max(0, path.stat().st_size - len(END)), len(END)) == END


def _through_nsys(tool: tools.Tool | None, source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> str:
    if tool is None:
        none = ConversionError(
            "This machine has no nsys to read the report with.",
            hint=f"Install Nsight Systems, or drop the report's export instead, made where nsys is: {EXPORT}",
        )
        raise tools.absent("nsys", none)
    (work / "report.nsys-rep").symlink_to(source.absolute())  # a plain name: nsys splits paths at spaces
    if tool.version[:2] < PARQUET_SINCE:
        load.load(db, sqlite.export(db, _export(tool, source, work, "sqlite", "export.sqlite")))
        return f"{tool.label}, SQLite"
    folder = _export(tool, source, work, "parquetdir", "export")
    sources = [parquet.export(db, folder)]
    if "META_DATA_CAPTURE" not in sources[0].tables:  # some versions leave the settings out of Parquet
        sources.append(
            sqlite.settings(_export(tool, source, work, "sqlite", "settings.sqlite", "--tables=META_DATA.*"))
        )
    load.load(db, *sources)
    return f"{tool.label}, Parquet"


def _export(tool: tools.Tool, source: Path, work: Path, kind: str, output: str, *options: str) -> Path:
    if tools.knows(tool, "export", BLOBS):
        options = (*options, f"{BLOBS}=true")
    argv: list[str | Path] = [tool.path, "export", "-q", "true", "-t", kind, "-o", output, *options, "report.nsys-rep"]
    export = tools.run(argv, cwd=work)
    target = work / output
    # On a full disk nsys prints an error and exits with 0; on other failures it leaves half a file behind.
    if export.returncode or "rror" in export.words or not target.exists():
        raise _failure(tool, source, export.words)
    return target


def _failure(tool: tools.Tool, source: Path, words: str) -> ConversionError:
    """Says why nsys gave up. Where it only says that it cannot parse, the report's own header decides: a version below
    nsys's own means damage; one that does not say (a build of nsys within another product) leaves both open."""
    if disk.says_full(words):
        return DiskFullError(disk.FULL.message, hint=disk.FULL.hint, detail=words)
    newer = _NEWER.search(words)
    version = newer[1] if newer else _captured_by(source)
    if newer or _is_newer(version, tool):
        return ConversionError(
            f"{source.name} needs a newer nsys than {tool.label.removeprefix('nsys ')} (installed); it was made"
            f" by Nsight Systems {version}.",
            hint=f"Install nsys {version} or newer, or put the report's export beside it: {EXPORT}",
            detail=words,
        )
    if any(sign in words for sign in _UNREADABLE_BY_OLDER) and _of_unknown_version(source):
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


def _of_unknown_version(source: Path) -> bool:
    """Whether the header has the number of a build in place of a version; old versions of nsys write 1."""
    build = _BUILD.match(_read(source, 0, 64))
    return build is not None and int(build[1]) > 1


def _check_complete(source: Path) -> None:
    if not is_complete(source):
        raise ConversionError(
            f"{source.name} is incomplete: it does not end like an Nsight Systems report.",
            hint="Wait until it is copied, or copy it again. It is tried again when it changes.",
        )


def _captured_by(source: Path) -> str | None:
    """The version that wrote the report; older versions do not say."""
    version = _VERSION.match(_read(source, 0, 64))
    return ".".join(part.decode() for part in version.groups()) if version else None


def _holds(path: Path, text: bytes) -> bool:
    if path.stat().st_size == 0:
        return False  # nothing can be mapped
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(text) >= 0


def _read(path: Path, offset: int, length: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(length)
