"""What is dropped and cannot become a report: what it is, and what to do with it."""

from pathlib import Path

from profiledb.errors import ConversionError

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
    for suffix, problem, hint in _KNOWN:
        if path.name.lower().endswith(suffix):
            return ConversionError(f"{path.name} {problem}.", hint=hint)
    return ConversionError(
        f"Warpdeck cannot read {path.name}: it is not a known report format.",
        hint="Drop .nsys-rep, .qdrep, .qdstrm, an nsys export (.sqlite or parquetdir), .ncu-rep, the text of ncu --csv,"
        " a trace of the PyTorch profiler, or a memory snapshot of PyTorch.",
    )
