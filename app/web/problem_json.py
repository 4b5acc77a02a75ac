"""Error responses for programs, as problem+json (RFC 9457)."""

from starlette.responses import JSONResponse, Response

from profiledb.errors import (
    BusyError,
    CatalogError,
    DamagedError,
    NewerLibraryError,
    NotAllowedError,
    NotCapturedError,
    OlderReportError,
    PreparingError,
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
    PreparingError: 503,
    NewerLibraryError: 503,
    DamagedError: 500,
    CatalogError: 503,
    StorageError: 503,
}


def get_status(error: WarpdeckError) -> int:
    """Return the HTTP status of an error; 400 unless its kind is listed."""
    return next((code for kind, code in _STATUS_CODES.items() if isinstance(error, kind)), 400)


def make_error_response(error: WarpdeckError) -> Response:
    """Return the response to a request that failed with one of our errors."""
    response = make_problem_response(get_status(error), error.message, error.hint)
    if isinstance(error, BusyError):
        response.headers["Retry-After"] = str(error.again_s)
    return response


def make_problem_response(status: int, title: str, detail: str = "") -> Response:
    """Return a response with a sentence on what is wrong (``title``) and one on what to do (``detail``)."""
    body = {"type": "about:blank", "title": title, "status": status} | ({"detail": detail} if detail else {})
    return JSONResponse(
        body, status_code=status, media_type="application/problem+json", headers={"Cache-Control": "no-store"}
    )
