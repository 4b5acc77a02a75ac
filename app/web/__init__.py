"""The server around the pages: access, headers, uploads to disk, compression."""

from starlette.middleware import Middleware

from app.web.closed_paths_middleware import ClosedPathsMiddleware
from app.web.compression_middleware import CompressionMiddleware
from app.web.download_audit_middleware import DownloadAuditMiddleware
from app.web.login_middleware import LoginRequiredMiddleware
from app.web.metrics_middleware import MetricsMiddleware
from app.web.page_head_middleware import PageHeadMiddleware
from app.web.probe_middleware import ProbeMiddleware
from app.web.security_headers_middleware import SecurityHeadersMiddleware
from app.web.sign_in_middleware import SignInMiddleware
from app.web.trusted_host_middleware import TrustedHostMiddleware
from app.web.upload_middleware import UploadMiddleware


def build_middleware() -> list[Middleware]:
    """Return the middleware of the server, outermost first.

    Metrics and headers come first, so that refusals are counted and carry the headers, too. Everything after the login
    knows who sent the request.
    """
    return [
        Middleware(MetricsMiddleware),
        Middleware(SecurityHeadersMiddleware),
        Middleware(TrustedHostMiddleware),
        Middleware(ClosedPathsMiddleware),
        Middleware(ProbeMiddleware),
        Middleware(LoginRequiredMiddleware),
        Middleware(SignInMiddleware),
        Middleware(DownloadAuditMiddleware),
        Middleware(UploadMiddleware),
        Middleware(CompressionMiddleware),
        Middleware(PageHeadMiddleware),
    ]
