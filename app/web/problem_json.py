"""What goes wrong, as programs read it: problem+json of RFC 9457."""

from starlette.responses import JSONResponse, Response

from profiledb.errors import (
    BusyError,
    CatalogError,
    DamagedError,
    NewerLibraryError,
    NotAllowedError,
    NotCapturedError,
    OlderReportError,
    ReportNotFoundError,
    StorageError,
    WarpdeckError,
)

_STATUS_CODES: dict[type[WarpdeckError], int] = {
    BusyError: 429,
    ReportNotFoundError: 404,
    NotCapturedError: 422,
    NotAllowedError: 403,
    OlderReportError: 409,
    NewerLibraryError: 503,
    DamagedError: 500,
    CatalogError: 503,
    StorageError: 503,
}


def get_status(error: WarpdeckError) -> int:
    """The status of an error of ours."""
    return next((number for kind, number in _STATUS_CODES.items() if isinstance(error, kind)), 400)


def make_error_response(error: WarpdeckError) -> Response:
    """What is answered to a program that met an error of ours."""
    told = make_problem_response(get_status(error), error.message, error.hint)
    if isinstance(error, BusyError):
        told.headers["Retry-After"] = str(error.again_s)
    return told


def make_problem_response(number: int, title: str, detail: str = "") -> Response:
    """A sentence that says what is wrong, and one that says what to do."""
    told = {"type": "about:blank", "title": title, "status": number} | ({"detail": detail} if detail else {})
    return JSONResponse(
        told, status_code=number, media_type="application/problem+json", headers={"Cache-Control": "no-store"}
    )
