"""What is dropped and cannot become a report: what it is, and what to do with it."""

import gzip
import zipfile
import zlib
from pathlib import Path

from profiledb.errors import ConversionError

_LOOK = 1 << 16
"""Bytes of what is compressed by which it is judged."""
_PICKLE = "Other pickles may run code, so they are not opened."
_KNOWN = (
    (
        ".qdstrm",
        "does not start like raw capture data of Nsight Systems",
        "Copy it again from its source, or import it with QdstrmImporter and drop the .nsys-rep.",
    ),
    (".nsys-rep", "does not start like an Nsight Systems report", "Copy it again from its source."),
    (".qdrep", "does not start like an Nsight Systems report", "Copy it again from its source."),
    (".ncu-rep", "does not start like an Nsight Compute report", "Copy it again from its source."),
    (".trace.json", "does not start like a trace of the PyTorch profiler", "Copy it again from its source."),
    (".trace.json.gz", "does not start like a trace of the PyTorch profiler", "Copy it again from its source."),
    (
        ".pickle",
        "does not start like a memory snapshot of PyTorch",
        _PICKLE,
    ),
    (".pkl", "does not start like a memory snapshot of PyTorch", _PICKLE),
    (".sqlite", "is not an nsys export", "Make one with: nsys export -t sqlite REPORT.nsys-rep"),
)


def error(path: Path) -> ConversionError:
    """Why a file or folder of no known format is refused: by its content, else by its name."""
    if path.is_file() and path.stat().st_size == 0:
        return ConversionError(
            f"{path.name} is empty.", hint="Wait until the profiler has written it, or copy it again."
        )
    if packed := _damaged_archive(path):
        return ConversionError(
            f"{path.name} is damaged: {packed} cannot be unpacked.", hint="Copy it again from its source."
        )
    for suffix, problem, hint in _KNOWN:
        if path.name.lower().endswith(suffix):
            return ConversionError(f"{path.name} {problem}.", hint=hint)
    return ConversionError(
        f"Warpdeck cannot read {path.name}: it is not a known report format.",
        hint="Drop .nsys-rep, .qdrep, .qdstrm, an nsys export (.sqlite or parquetdir), .ncu-rep, the text of ncu --csv,"
        " a trace of the PyTorch profiler, or a memory snapshot of PyTorch.",
    )


def _damaged_archive(path: Path) -> str:
    """Names the archive that a file begins as and cannot be unpacked as, by its first bytes; empty for other files."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic.startswith(b"PK"):
            return "" if zipfile.is_zipfile(file) else "its ZIP archive"
        if magic.startswith(b"\x1f\x8b"):
            try:
                gzip.GzipFile(fileobj=file).read(_LOOK)
            except (OSError, EOFError, zlib.error):
                return "its gzip data"
    return ""
