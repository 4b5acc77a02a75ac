"""The server around the pages: who may ask, what every answer carries, and uploads that go to disk.

``stack`` is the middleware of ``main.py``, the outermost first: every answer is counted and gets its headers, then a
request must name this server, ask for something that is served, come from somebody who may, a login and a logout are
noted, so are downloads, an upload goes to disk, and scripts are compressed.
"""

from starlette.middleware import Middleware

from app.web import (
    closed_paths_middleware,
    compression_middleware,
    download_audit,
    headers_middleware,
    login_middleware,
    metrics_middleware,
    probe_middleware,
    sign_in_middleware,
    trusted_host_middleware,
    upload_middleware,
)


def stack() -> list[Middleware]:
    """The middleware, in the order in which a request meets it."""
    return [
        Middleware(metrics_middleware.Counted),
        Middleware(headers_middleware.SecurityHeaders),
        Middleware(trusted_host_middleware.KnownHosts),
        Middleware(closed_paths_middleware.Closed),
        Middleware(probe_middleware.Probes),
        Middleware(login_middleware.LoginGuard),
        Middleware(sign_in_middleware.SignIn),
        Middleware(download_audit.Downloads),
        Middleware(upload_middleware.UploadsToDisk),
        Middleware(compression_middleware.Packed),
    ]
