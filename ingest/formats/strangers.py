"""What is dropped and cannot become a report: what it is, and what to do with it."""

import re
import zlib
from pathlib import Path

from profiledb.errors import ConversionError

LOOK_BYTES = 1 << 16

_KNOWN = (
    (
        ".qdstrm",
        "does not start like raw capture data of Nsight Systems",
        "Copy it again from its source, or import it with QdstrmImporter and drop the .nsys-rep.",
    ),
    (".nsys-rep", "does not start like an Nsight Systems report", "Copy it again from its source."),
    (".qdrep", "does not start like an Nsight Systems report", "Copy it again from its source."),
    (".ncu-rep", "does not start like an Nsight Compute report", "Copy it again from its source."),
    (".sqlite", "is not an nsys export", "Make one with: nsys export -t sqlite REPORT.nsys-rep"),
)
_GZIP = b"\x1f\x8b"
_TRACE = re.compile(rb'^\s*(?:\{\s*"[\w ]{1,64}"\s*:|\[\s*\{)')
_MARKS = re.compile(rb'"(?:traceEvents|ph)"\s*:|"schemaVersion"\s*:.{0,400}"deviceProperties"\s*:', re.DOTALL)


def error(path: Path) -> ConversionError:
    """Why a file or folder of no known format is refused: by its content, else by its name."""
    if path.is_file() and path.stat().st_size == 0:
        return ConversionError(
            f"{path.name} is empty.", hint="Wait until the profiler has written it, or copy it again."
        )
    if is_trace(path):
        return ConversionError(
            f"{path.name} is a trace of the PyTorch profiler, or another Chrome trace. Warpdeck does not read these"
            " yet.",
            hint="Open it in Perfetto, or capture the same program with nsys profile --trace=cuda,nvtx,osrt.",
        )
    for suffix, problem, hint in _KNOWN:
        if path.name.lower().endswith(suffix):
            return ConversionError(f"{path.name} {problem}.", hint=hint)
    return ConversionError(
        f"Warpdeck cannot read {path.name}: it is not a known report format.",
        hint="Drop .nsys-rep, .qdrep, .qdstrm, an nsys export (.sqlite or parquetdir), .ncu-rep, or the text of"
        " ncu --csv.",
    )


def is_trace(path: Path) -> bool:
    """Whether a file begins as a trace of Kineto or of Chrome does, compressed by gzip or not; never an error."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(LOOK_BYTES)
        if head.startswith(_GZIP):
            head = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, LOOK_BYTES)
    except (OSError, zlib.error):
        return False
    return bool(_TRACE.match(head) and _MARKS.search(head))
