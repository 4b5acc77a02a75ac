"""Pack the prepared answers of a report into one file, so that a new server need not compute them."""

import io
import os
import re
import tarfile
from contextlib import suppress
from pathlib import Path

ENDING = ".answers.tar"
MOST_BYTES = 64_000_000
"""Size limit of a report's package in bytes; pages first ask for far less."""
_NAME = re.compile(r"[0-9a-f]{40}\.answer")


def pack_answers(folder: Path, target: Path) -> bool:
    """Write the answers of a folder into one file; return False if there are none."""
    answers, size = [], 0
    for path in sorted(folder.glob("*.answer")):
        size += path.stat().st_size
        if _NAME.fullmatch(path.name) and size <= MOST_BYTES:
            answers.append(path)
    if not answers:
        return False
    with tarfile.open(target, "w") as tar:
        for path in answers:
            entry = tarfile.TarInfo(path.name)  # without times and owners, so that equal answers make equal files
            content = path.read_bytes()
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return True


def unpack(source: Path, folder: Path, most: int) -> int:
    """Write the answers that a folder lacks, up to ``most`` bytes; return the bytes written.

    Each answer has a checksum of its own (query/answer_store.py).
    """
    folder.mkdir(parents=True, exist_ok=True)
    left, written = min(most, MOST_BYTES), 0
    with suppress(tarfile.TarError), tarfile.open(source, "r:") as tar:
        for entry in tar:
            left -= entry.size
            if left < 0:
                break
            path = folder / entry.name
            if not (entry.isreg() and _NAME.fullmatch(entry.name)) or path.exists():
                continue
            if content := tar.extractfile(entry):
                half = folder / f".part-{os.getpid()}-{entry.name}"
                half.write_bytes(content.read())
                half.replace(path)
                written += entry.size
    return written
