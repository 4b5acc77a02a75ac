"""File upload: sanitize the name, then move the file to the inbox in one step."""

from pathlib import Path

import streamlit as st
from streamlit.typing import UploadedFile

from app import session, streamlit_private
from app.ui import format as fmt
from app.web import access
from app.web.inbox_upload import record_upload, save_file
from app.web.upload_store import RECEIPT_PREFIX, get_upload_store
from profiledb.errors import ConversionError, StorageError, WarpdeckError
from profiledb.library.inbox import Inbox
from profiledb.library.locations import open_inbox
from profiledb.library.spaces import EVERYBODY, get_folder

_TAKEN = "upload-taken"


def draw_uploader(label: str) -> None:
    """Draw the upload field and move uploaded files to the inbox, where the worker finds them.

    Viewers get no upload field. The server rejects uploads from sessions that were not offered one (web.store).
    """
    if not access.may_edit():
        return
    for name in st.session_state.pop(_TAKEN, ()):
        st.toast(f"{fmt.plain(name)} is in the inbox.", icon=":material/check:")
    identity = _register_session()
    turn = st.session_state.setdefault("upload-turn", 0)
    settings = session.get_settings()
    below = _choose_folder()
    files = st.file_uploader(
        label,
        accept_multiple_files=True,
        key=f"upload-{turn}",
        max_upload_size=settings.max_upload_mb,
    )
    if not files:
        return
    st.session_state["upload-turn"] = turn + 1  # the next run shows an empty uploader instead
    wrong: WarpdeckError | None = None
    inbox, audit = open_inbox(settings), session.open_for_changes().catalog.audit
    for file in files:
        try:
            path = _receive_file(file, identity, inbox, below)
            record_upload(audit, path, inbox)
        except (ConversionError, StorageError) as error:
            wrong = error
        except OSError as error:
            wrong = ConversionError(
                f"{fmt.visible(file.name)} could not be written to the inbox.",
                hint=f"Check free space and permissions of {inbox.near}.",
                detail=str(error),
            )
        else:
            st.session_state.setdefault(_TAKEN, []).append(path.name)  # said in the next run, which this one ends with
    if wrong:
        raise wrong
    st.rerun()


def _choose_folder() -> str:
    """Return the inbox folder for uploads; visitors who see any spaces can choose one."""
    spaces = session.library().catalog.spaces.visible_names()
    if not spaces:
        return ""
    chosen: str | None = st.selectbox(
        "Space", spaces, index=None, placeholder="Everybody's", key="upload-space", width=320,
        help="Who sees what you drop here: the people of a space, or everybody who may look at reports",
    )  # fmt: skip
    return get_folder(chosen or EVERYBODY)


# Streamlit alone tells when a session ends, and only to such a cache.
@st.cache_resource(
    scope="session", show_spinner=False, on_release=lambda identity: get_upload_store().close_session(identity)
)
def _register_session() -> str:
    """Return this session's id and register it: the server accepts its uploads until the browser disconnects."""
    session_id = streamlit_private.get_session_id()
    get_upload_store().open_session(session_id)
    return session_id


def _receive_file(file: UploadedFile, identity: str, inbox: Inbox, below: str) -> Path:
    """Move an uploaded file to the inbox and return its path; see ``Inbox.place`` for the errors.

    The file is already on disk, and Streamlit holds only a receipt, unless the server lacks Warpdeck's middleware.
    """
    access.require_editor()
    begin = file.read(len(RECEIPT_PREFIX) + 32)
    file.seek(0)
    if not begin.startswith(RECEIPT_PREFIX):
        return save_file(file, file.name, inbox, below)
    if arrived := get_upload_store().take(identity, begin):
        return inbox.place(arrived, file.name, below)
    raise ConversionError(f"The upload of {fmt.visible(file.name)} was interrupted.", hint="Drop the file again.")
