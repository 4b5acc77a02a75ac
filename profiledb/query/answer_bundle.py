"""Stored answers about one part of a report that are asked together, in one file: those of all rules.

The file lies among the answers of the report (answer_store.py). Its name stands for all that such answers share: the
report with the reports and files that belong to it, the selection, and the code. Each answer in it has a key of its
own: its SQL and its parameters. So a changed rule is asked again without the others, and a hundred answers cost one
file.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from profiledb.library.library import Library
from profiledb.query import answer_store, request
from profiledb.query.request import Request

if TYPE_CHECKING:
    import pyarrow as pa


class Bundle:
    """The answers of a file, and those to be written into it."""

    def __init__(self, library: Library, path: Path | None, stored: Mapping[str, bytes]) -> None:
        self._library = library
        self._path = path
        self._stored = dict(stored)
        self._is_changed = False

    def get(self, asked: Request) -> "pa.Table | None":
        """Return the rows of a request, or None if they are not stored."""
        content = self._stored.get(_make_key(asked))
        return None if content is None else answer_store.decode_table(content)

    def put(self, asked: Request, rows: "pa.Table") -> None:
        """Add the rows of a request; ``write`` stores them."""
        self._stored[_make_key(asked)] = answer_store.encode_table(rows)
        self._is_changed = True

    def write(self) -> None:
        """Store the added answers, unless they exceed the size limit or the settings turn the store off."""
        import pyarrow as pa

        if self._path is None or not self._is_changed:
            return
        rows = pa.table({"key": list(self._stored), "rows": pa.array(self._stored.values(), pa.binary())})
        answer_store.write_file(self._library, self._path, rows)


def read(library: Library, asked: Request) -> Bundle:
    """Return the stored answers about the part of a report that a request is about."""
    path = _find_path(library, asked)
    stored = answer_store.read_file(library, path, asked) if path else None
    if stored is None:
        return Bundle(library, path, {})
    return Bundle(library, path, dict(zip(*(stored[name].to_pylist() for name in ("key", "rows")), strict=True)))


def _find_path(library: Library, asked: Request) -> Path | None:
    partners: dict[str, str] = {"ncu": asked.partner} if asked.partner else {}
    return answer_store.make_path(
        library, asked, request.make_key(library, asked.report_id, "bundle", (asked.selection,), partners)
    )


def _make_key(asked: Request) -> str:
    parts = (asked.analysis.name, request.hash_analysis(asked.analysis), sorted(asked.values.items()))
    return hashlib.sha256(repr(parts).encode(errors="surrogatepass")).hexdigest()
