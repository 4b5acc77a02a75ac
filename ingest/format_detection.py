"""Detect the format of a dropped file, and explain why a file of no known format is refused."""

import gzip
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from ingest import formats
from ingest.formats import Format
from profiledb.errors import ConversionError

_LOOK_BYTES = 1 << 16
"""Bytes of a compressed file that are unpacked to see whether it is damaged."""


@dataclass(frozen=True)
class _Foreign:
    """A format that cannot become a report, and how to get one that can."""

    name: str
    hint: str
    endings: tuple[str, ...] = ()
    starts: tuple[bytes, ...] = ()


_FOREIGN = (
    _Foreign(
        "a session of the Visual Profiler, which packs what it shows",
        "Drop the file that was opened in it, or capture one: nvprof --export-profile run.nvvp PROGRAM",
        starts=(b'<?xmlversion="1.0"?><sessionversion=',),
    ),
    _Foreign(
        "a CSV of rocprof or rocprofv3",
        "Capture a database or JSON, which say when each kernel ran: rocprofv3 --sys-trace --output-format rocpd",
        starts=(b'"Kind","Agent_Id"', b'"Domain","Function"', b'"Name","Calls","TotalDuration'),
    ),
    _Foreign(
        "a profile of the Radeon GPU Profiler",
        "Capture with: rocprofv3 --sys-trace --output-format rocpd -- PROGRAM",
        (".rgp",),
        (b"B00P",),
    ),
    _Foreign(
        "a result of Intel VTune",
        "Capture with torch.profiler.profile(), or: unitrace --chrome-call-logging --chrome-kernel-logging PROGRAM",
        (".vtune", ".vtune.zip"),
    ),
    _Foreign(
        "a table that TensorBoard made of a profile of XLA",
        "Drop the .xplane.pb from the same folder.",
        (
            ".memory_profile.json.gz", ".overview_page.pb", ".input_pipeline.pb", ".tensorflow_stats.pb",
            ".kernel_stats.pb", ".hlo_proto.pb", ".op_profile.pb", ".profile-empty",
        ),
    ),
    _Foreign(
        "a profile of pprof, such as JAX's of device memory",
        "Record when kernels ran, and drop the .xplane.pb: jax.profiler.trace(folder)",
        (".pb.gz", ".pprof"),
    ),
    _Foreign(
        "a profile of Linux perf, which samples the CPU alone",
        "Record the GPU, too: nsys profile --sample=process-tree PROGRAM",
        ("perf.data",),
        (b"PERFILE2",),
    ),
    _Foreign(
        "a capture of Nsight Graphics",
        "Capture with: nsys profile PROGRAM",
        (".ngfx-gputrace", ".ngfx-capture", ".ngfx-cppcap"),
    ),
    _Foreign(
        "a trace in OTF2",
        "Capture a database or JSON: rocprofv3 --sys-trace --output-format rocpd",
        (".otf2",),
    ),
)  # fmt: skip
"""Formats of other profilers that are told by name."""


def detect(path: Path) -> Format:
    """Return the format of a file or folder, by its content.

    Raises:
        ConversionError: no format that can become a report; the message explains why.
    """
    if not path.is_file() or path.stat().st_size:
        for one in formats.list_formats():
            if one.matches(path):
                return one
    raise _explain_refusal(path)


def _explain_refusal(path: Path) -> ConversionError:
    """Explain by the content, else by the name, why a file or folder of no known format is refused."""
    if path.is_file() and path.stat().st_size == 0:
        return ConversionError(
            f"{path.name} is empty.", hint="Wait until the profiler has written it, or copy it again."
        )
    if archive := _find_damaged_archive(path):
        return ConversionError(
            f"{path.name} is damaged: {archive} cannot be unpacked.", hint="Copy it again from its source."
        )
    if other := _find_foreign(path):
        return ConversionError(f"{path.name} is {other.name}. Warpdeck cannot read it.", hint=other.hint)
    for one in formats.list_formats():
        if path.name.lower().endswith(tuple(one.endings)):
            problem, hint = one.misnamed
            return ConversionError(f"{path.name} {problem}.", hint=hint)
    names = "; ".join(_describe_format(one) for one in sorted(formats.list_formats(), key=lambda one: one.name))
    return ConversionError(
        f"Warpdeck cannot read {path.name}: it is not a known report format.", hint=f"Drop one of these: {names}."
    )


def _find_foreign(path: Path) -> _Foreign | None:
    """Return the format of another profiler, by the content, else by the name."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        head = file.read(_LOOK_BYTES)
    text = b"".join(head.split())[:200]
    by_content = (one for one in _FOREIGN if text.startswith(one.starts))
    return next(by_content, None) or next((one for one in _FOREIGN if path.name.lower().endswith(one.endings)), None)


def _describe_format(one: Format) -> str:
    return f"{one.name} ({', '.join(one.endings)})" if one.endings else one.name


def _find_damaged_archive(path: Path) -> str:
    """Name the damaged archive that a file starts as, by its first bytes; empty for other files."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic.startswith(b"PK"):
            return "" if zipfile.is_zipfile(file) else "its ZIP archive"
        if magic.startswith(b"\x1f\x8b"):
            try:
                gzip.GzipFile(fileobj=file).read(_LOOK_BYTES)
            except (OSError, EOFError, zlib.error):
                return "its gzip data"
    return ""
