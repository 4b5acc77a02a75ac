"""A report whose files are in a bucket: its page waits for them, and says so where that takes more than a moment."""

from concurrent.futures import ThreadPoolExecutor, wait

import streamlit as st

from app import script_queue, session
from app.ui import format as fmt
from profiledb.library.catalog import Manifest
from profiledb.words import bytes_

MOMENT_S = 1.0
_LOOK_S = 0.2


def bring(manifest: Manifest) -> None:
    """Returns when the files of a report are on this server; other pages go on meanwhile.

    Raises:
        StorageError: they cannot be had now.
        DamagedError: they are damaged in the bucket.
    """
    shelf = session.library()
    if shelf.is_here(manifest.id):
        return
    shown = st.empty()
    pool = ThreadPoolExecutor(1, "warpdeck-bring")
    coming = pool.submit(shelf.fetch, manifest.id)
    pool.shutdown(wait=False)  # who goes to another page meanwhile does not wait for what comes
    with script_queue.page_scripts.step_aside():
        wait([coming], MOMENT_S)
        while not coming.done():
            done, size = shelf.fetched_bytes(manifest.id)
            part = min(done / size, 1.0) if size else 0.0
            words = f"Fetching {fmt.plain(manifest.name)} from the bucket: {bytes_(done)} of {bytes_(size)}"
            shown.progress(part, words)
            wait([coming], _LOOK_S)
        shown.empty()
        coming.result()
