"""Raw capture data of Nsight Systems (.qdstrm), which nsys leaves if its importer is missing or ended early.

QdstrmImporter, part of the host installation of Nsight Systems, converts it to the report that nsys would have made.
"""

import re
from pathlib import Path

import duckdb

from ingest import tools
from ingest.formats import Format, nsys_report
from profiledb.errors import ConversionError, DiskFullError
from profiledb.library import disk
from profiledb.report.schema import quote

END = b"U3w[END]"
"""Mark at the start and the end of the file."""

_BEGIN = re.compile(rb"^U3w\[END\]NVIDIA Nsight Systems Stream (\d{1,4})\.(\d{1,4})\.(\d{1,4})")

_LOOK_BYTES = 128


def matches(path: Path) -> bool:
    """Return True if a file starts like raw capture data of nsys."""
    return path.is_file() and read_version(path) is not None


def convert(source: Path, db: duckdb.DuckDBPyConnection, work: Path) -> None:
    """Import the data to a report and convert that."""
    version = read_version(source) or (0, 0, 0)
    if not _is_complete(source):
        raise ConversionError(
            f"{source.name} is incomplete: it does not end like raw capture data of Nsight Systems.",
            hint="Wait until it is copied, or copy it again. It is tried again when it changes.",
        )
    importer = _find_importer(source, version)
    report = _import_stream(importer, source, version, work)
    nsys_report.convert(report, db, work)
    db.execute(f"UPDATE report SET converter = {quote(importer.label + ', ')} || converter")


def read_version(path: Path) -> tuple[int, int, int] | None:
    """Return the version of Nsight Systems that wrote the data; None for other files."""
    with path.open("rb") as file:
        begin = _BEGIN.match(file.read(_LOOK_BYTES))
    return (int(begin[1]), int(begin[2]), int(begin[3])) if begin else None


def _is_complete(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(len(END), path.stat().st_size - len(END)))  # skip the mark at the start
        return file.read(len(END)) == END


def _find_importer(source: Path, version: tuple[int, int, int]) -> tools.Tool:
    """Return the importer of the same version, else the newest that is not older."""
    importers = sorted(tools.find_importers(), key=lambda tool: (tool.version[:3] == version, tool.version))
    if importers and importers[-1].version[:3] >= version:
        return importers[-1]
    written = ".".join(map(str, version))
    available = f"only {importers[-1].label}" if importers else f"no {tools.IMPORTER}"
    missing = ConversionError(
        f"{source.name} is raw capture data that nsys did not finish, and this machine has {available}.",
        hint=f"Import it with the {tools.IMPORTER} of Nsight Systems {written} (in its folder host-linux-x64), then"
        " drop the .nsys-rep.",
    )
    raise missing if importers else tools.explain_absence(tools.IMPORTER, missing)


def _import_stream(importer: tools.Tool, source: Path, version: tuple[int, int, int], work: Path) -> Path:
    """Import a stream and return the report, which has the stream's name with another ending."""
    folder = work / "imported"
    folder.mkdir()
    (folder / "capture.qdstrm").symlink_to(source.absolute())  # a plain name for the importer
    done = tools.run([importer.path, "-i", "capture.qdstrm", "-o", "report.nsys-rep"], cwd=folder)
    report = folder / "report.nsys-rep"
    if disk.says_full(done.output):
        raise DiskFullError(disk.FULL.message, hint=disk.FULL.hint, detail=done.output)
    if done.returncode or not report.exists() or not nsys_report.is_complete(report):
        if importer.version[:3] != version:
            written = ".".join(map(str, version))
            raise ConversionError(
                f"{source.name} is raw capture data of Nsight Systems {written}: {importer.label} cannot import it.",
                hint=f"Import it with the {tools.IMPORTER} of Nsight Systems {written}, then drop the .nsys-rep.",
                detail=done.output,
            )
        raise ConversionError(
            f"{source.name} is damaged: {importer.label} cannot import it.",
            hint="Copy it again from its source, or capture again.",
            detail=done.output,
        )
    return report.rename(folder / f"{source.stem}.nsys-rep")


FORMAT = Format(
    name="Nsight Systems raw capture data",
    kind="nsys",
    endings={".qdstrm": 1},
    misnamed=(
        "does not start like raw capture data of Nsight Systems",
        "Copy it again from its source, or import it with QdstrmImporter and drop the .nsys-rep.",
    ),
    cost=_LOOK_BYTES,
    matches=matches,
    access=nsys_report.find_access,
    convert=convert,
    runs_tools=True,
)
