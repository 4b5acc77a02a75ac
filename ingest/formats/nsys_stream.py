"""Raw capture data of Nsight Systems (.qdstrm), which nsys leaves where its importer is missing or ended early.

QdstrmImporter, which comes with the host part of Nsight Systems, makes the report of it that nsys would have made.
"""

import re
from pathlib import Path

import duckdb

from ingest import tools
from ingest.formats import nsys_report
from profiledb.errors import ConversionError, DiskFullError
from profiledb.library import disk
from profiledb.report.schema import quote
from profiledb.report.store import Access

NAME = "Nsight Systems raw capture data"
KIND = "nsys"
RUNS_TOOLS = True
END = b"U3w[END]"
"""How such a file begins and ends."""

_BEGIN = re.compile(rb"^U3w\[END\]NVIDIA Nsight Systems Stream (\d{1,4})\.(\d{1,4})\.(\d{1,4})")
_LOOK_BYTES = 128


def matches(path: Path) -> bool:
    """A file that begins as the streams of nsys do."""
    return path.is_file() and captured_by(path) is not None


def access(source: Path) -> Access:
    """What the load needs of the report that is made; see Format.access."""
    return nsys_report.access(source)


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Has the importer make a report, and converts that; see Format.convert."""
    version = captured_by(source) or (0, 0, 0)
    if not _is_complete(source):
        raise ConversionError(
            f"{source.name} is incomplete: it does not end like raw capture data of Nsight Systems.",
            hint="Wait until it is copied, or copy it again. It is tried again when it changes.",
        )
    importer = _importer(source, version)
    report = _imported(importer, source, work)
    nsys_report.convert(report, db, work)
    db.execute(f"UPDATE report SET converter = {quote(importer.label + ', ')} || converter")


def captured_by(path: Path) -> tuple[int, int, int] | None:
    """The version of Nsight Systems that wrote the stream; None where it is none."""
    with path.open("rb") as file:
        begin = _BEGIN.match(file.read(_LOOK_BYTES))
    return (int(begin[1]), int(begin[2]), int(begin[3])) if begin else None


def _is_complete(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(len(END), path.stat().st_size - len(END)))  # not the mark that it begins with
        return file.read(len(END)) == END


def _importer(source: Path, version: tuple[int, int, int]) -> tools.Tool:
    """The importer of the same version, else the newest that is not older."""
    found = sorted(tools.find_importers(), key=lambda tool: (tool.version[:3] == version, tool.version))
    if found and found[-1].version[:3] >= version:
        return found[-1]
    written = ".".join(map(str, version))
    has = f"only {found[-1].label}" if found else f"no {tools.IMPORTER}"
    none = ConversionError(
        f"{source.name} is raw capture data that nsys did not finish, and this machine has {has}.",
        hint=f"Import it with the {tools.IMPORTER} of Nsight Systems {written} (in its folder host-linux-x64), then"
        " drop the .nsys-rep.",
    )
    raise none if found else tools.absent(tools.IMPORTER, none)


def _imported(importer: tools.Tool, source: Path, work: Path) -> Path:
    """The report of a stream, under the stream's name with another ending."""
    folder = work / "imported"
    folder.mkdir()
    (folder / "capture.qdstrm").symlink_to(source.absolute())  # a plain name, whatever the file is called
    done = tools.run([importer.path, "-i", "capture.qdstrm", "-o", "report.nsys-rep"], cwd=folder)
    made = folder / "report.nsys-rep"
    if disk.says_full(done.words):
        raise DiskFullError(disk.FULL.message, hint=disk.FULL.hint, detail=done.words)
    if done.returncode or not made.exists() or not nsys_report.is_complete(made):
        raise ConversionError(
            f"{source.name} is damaged: {importer.label} cannot import it.",
            hint="Copy it again from its source, or capture again.",
            detail=done.words,
        )
    return made.rename(folder / f"{source.stem}.nsys-rep")
