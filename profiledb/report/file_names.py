"""Names of files that come from elsewhere, made safe for the inbox."""

from pathlib import PurePosixPath

from profiledb.errors import ConversionError
from profiledb.words import visible

NAME_BYTES = 255
FALLBACK = "report"
UNFINISHED = (".part", ".partial", ".tmp", ".crdownload", ".filepart", ".swp", "~")
"""Endings of files that another program still writes."""
COMPANIONS = (".energy.csv",)
"""Endings of tables that ``workloads profile`` leaves beside a report and that no page reads."""
SPACE_SIGN = "@"
"""How the name of a folder of a space begins (library/spaces.py)."""


def is_taken(name: str) -> bool:
    """Whether the worker looks at a file or folder of this name: it is neither hidden nor still written."""
    return not (name.startswith(".") or name.lower().endswith(UNFINISHED + COMPANIONS))


def require_taken(name: str) -> None:
    """Raises ConversionError for the name of an upload that the inbox does not take."""
    safe = safe_name(name)
    if safe.startswith(SPACE_SIGN):
        raise ConversionError(
            f"{safe} begins with {SPACE_SIGN}, as only folders of spaces do.", hint="Rename it, then send it again."
        )
    if safe.lower().endswith(COMPANIONS):
        raise ConversionError(f"{safe} is a table that Warpdeck does not read.", hint="Send the report alone.")
    if not is_taken(safe):
        raise ConversionError(
            f"{safe} has the name of a file that is still written.", hint="Rename it when it is complete."
        )


def safe_name(name: str) -> str:
    """A file name without folders, control characters or a leading dash or dot, of at most 255 bytes."""
    text = visible(name).encode(errors="replace").decode()
    last = PurePosixPath(text.replace("\\", "/")).name
    cleaned = last.strip().lstrip(".- ").rstrip(". ") or FALLBACK
    return shortened(cleaned)


def shortened(name: str, extra: str = "") -> str:
    """The name with ``extra`` before its suffix, the stem cut so that it all fits."""
    path = PurePosixPath(name)
    suffix = path.suffix if len(path.suffix.encode()) <= 20 else ""
    stem = name.removesuffix(suffix).encode()[: NAME_BYTES - len((extra + suffix).encode())]
    return stem.decode(errors="ignore") + extra + suffix
