"""The server around the pages: who may ask, what every answer carries, and uploads that go to disk.

``stack`` is the middleware of ``main.py``, the outermost first: every answer is counted and gets its headers, then a
request must name this server, ask for something that is served, come from somebody who may, a login and a logout are
noted, so are downloads, an upload goes to disk, and scripts are compressed.
"""

from starlette.middleware import Middleware

from app.web import closed, counted, downloads, headers, hosts, login, packed, probes, sign_in, uploads


def stack() -> list[Middleware]:
    """The middleware, in the order in which a request meets it."""
    return [
        Middleware(counted.Counted),
        Middleware(headers.SecurityHeaders),
        Middleware(hosts.KnownHosts),
        Middleware(closed.Closed),
        Middleware(probes.Probes),
        Middleware(login.LoginGuard),
        Middleware(sign_in.SignIn),
        Middleware(downloads.Downloads),
        Middleware(uploads.UploadsToDisk),
        Middleware(packed.Packed),
    ]
