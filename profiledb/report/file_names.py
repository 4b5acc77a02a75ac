"""Make the names of files from elsewhere safe for the inbox."""

from pathlib import PurePosixPath

from profiledb.errors import ConversionError
from profiledb.words import visible

NAME_BYTES = 255
FALLBACK = "report"
UNFINISHED = (".part", ".partial", ".tmp", ".crdownload", ".filepart", ".swp", "~")
"""Endings of files that another program is still writing."""
COMPANIONS = (".energy.csv",)
"""Endings of tables that ``workloads profile`` leaves beside a report and that no page reads."""
NSYS_ENDINGS = (".nsys-rep", ".qdrep")
NSYS_EXPORT = ".sqlite"
"""Ending of the export of a report of Nsight Systems, which may lie beside it."""
SPACE_SIGN = "@"
"""First character of the folder of a space (library/spaces.py)."""


def is_accepted(name: str) -> bool:
    """Return True if the worker looks at a file or folder of this name: neither hidden nor still being written."""
    return not (name.startswith(".") or name.lower().endswith(UNFINISHED + COMPANIONS))


def require_accepted(name: str) -> None:
    """Raise ConversionError for an uploaded name that the inbox does not accept."""
    safe = make_safe_name(name)
    if safe.startswith(SPACE_SIGN):
        raise ConversionError(
            f"{safe} begins with {SPACE_SIGN}, as only folders of spaces do.", hint="Rename it, then send it again."
        )
    if safe.lower().endswith(COMPANIONS):
        raise ConversionError(f"{safe} is a table that Warpdeck does not read.", hint="Send the report alone.")
    if not is_accepted(safe):
        raise ConversionError(
            f"{safe} has the name of a file that is still written.", hint="Rename it when it is complete."
        )


def make_safe_name(name: str) -> str:
    """Return a file name without folders, control characters or a leading dash or dot, of at most 255 bytes."""
    text = visible(name).encode(errors="replace").decode()
    last = PurePosixPath(text.replace("\\", "/")).name
    cleaned = last.strip().lstrip(".- ").rstrip(". ") or FALLBACK
    return shorten_name(cleaned)


def shorten_name(name: str, extra: str = "") -> str:
    """Return the name with ``extra`` before its suffix, the stem cut to fit."""
    path = PurePosixPath(name)
    suffix = path.suffix if len(path.suffix.encode()) <= 20 else ""
    stem = name.removesuffix(suffix).encode()[: NAME_BYTES - len((extra + suffix).encode())]
    return stem.decode(errors="ignore") + extra + suffix
