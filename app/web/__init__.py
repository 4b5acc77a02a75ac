"""The server around the pages: who may ask, what every answer carries, and uploads that go to disk.

``stack`` is the middleware of ``main.py``, the outermost first: every answer is counted and gets its headers, then a
request must name this server, ask for something that is served, come from somebody who may, a login and a logout are
noted, so are downloads, an upload goes to disk, and scripts are compressed.
"""

from starlette.middleware import Middleware

from app.web import (
    closed_paths_middleware,
    compression_middleware,
    download_audit_middleware,
    login_middleware,
    metrics_middleware,
    probe_middleware,
    security_headers_middleware,
    sign_in_middleware,
    trusted_host_middleware,
    upload_middleware,
)


def build_middleware() -> list[Middleware]:
    """The middleware, in the order in which a request meets it."""
    return [
        Middleware(metrics_middleware.MetricsMiddleware),
        Middleware(security_headers_middleware.SecurityHeadersMiddleware),
        Middleware(trusted_host_middleware.TrustedHostMiddleware),
        Middleware(closed_paths_middleware.ClosedPathsMiddleware),
        Middleware(probe_middleware.ProbeMiddleware),
        Middleware(login_middleware.LoginRequiredMiddleware),
        Middleware(sign_in_middleware.SignInMiddleware),
        Middleware(download_audit_middleware.DownloadAuditMiddleware),
        Middleware(upload_middleware.UploadMiddleware),
        Middleware(compression_middleware.CompressionMiddleware),
    ]
