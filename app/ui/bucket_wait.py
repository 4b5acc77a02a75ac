"""Wait for the files of a report in a bucket, with a progress bar if the download takes more than a moment."""

from concurrent.futures import ThreadPoolExecutor, wait

import streamlit as st

from app import script_queue, session
from app.ui import format as fmt
from profiledb.library.catalog import Manifest
from profiledb.words import bytes_

MOMENT_S = 1.0
_LOOK_S = 0.2


def bring(manifest: Manifest) -> None:
    """Return once the files of a report are on this server; other pages run meanwhile.

    Raises:
        StorageError: the bucket cannot be read right now.
        DamagedError: the files in the bucket are damaged.
    """
    shelf = session.library()
    if shelf.is_here(manifest.id):
        return
    shown = st.empty()
    pool = ThreadPoolExecutor(1, "warpdeck-bring")
    coming = pool.submit(shelf.fetch, manifest.id)
    pool.shutdown(wait=False)  # leaving the page must not block on the download
    with script_queue.page_scripts.step_aside():
        wait([coming], MOMENT_S)
        while not coming.done():
            done, size = shelf.fetched_bytes(manifest.id)
            part = min(done / size, 1.0) if size else 0.0
            words = f"Fetching {fmt.plain(manifest.shown_name)} from the bucket: {bytes_(done)} of {bytes_(size)}"
            shown.progress(part, words)
            wait([coming], _LOOK_S)
        shown.empty()
        coming.result()
