"""Names of files that come from elsewhere, made safe for the inbox."""

from pathlib import PurePosixPath

from profiledb.words import visible

NAME_BYTES = 255
FALLBACK = "report"


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
