"""A bucket of an S3-compatible object storage: list, fetch, put and delete, with errors in words that hold no secret.

Endpoint, region and keys come from the variables that S3 clients have (AWS_ENDPOINT_URL, AWS_REGION,
AWS_ACCESS_KEY_ID ...), which ``obstore`` reads, or from the machine that runs in a cloud.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from profiledb import config, secret
from profiledb.errors import ConfigError, StorageError

if TYPE_CHECKING:
    from obstore.store import S3Store

_ALL_S = timedelta(hours=4)
_READ_S = timedelta(seconds=15)
"""A long transfer is well as long as something arrives."""
_CONNECT_S = timedelta(seconds=3)
_RETRIES = 3
_RETRY_S = timedelta(seconds=10)
_CHUNK = 4 << 20
_DENIED = re.compile(r"status code: 40[13]\b")
"""A list that is refused has no error of its own."""
_HINT = "Try again in a moment."


class GoneError(StorageError):
    """There is no object of this name."""


@dataclass(frozen=True)
class Object:
    """An object as a bucket lists it.

    Args:
        key: its name below the prefix.
        size: its bytes.
        etag: what changes with its content, as the server tells it; empty where it does not.
        time_ns: when it was put, ns since 1970.
    """

    key: str
    size: int
    etag: str
    time_ns: int


class Bucket:
    """Objects below one prefix of a bucket. May be shared by threads. Every call raises StorageError.

    Args:
        url: ``s3://BUCKET/PREFIX`` (config.py checks it).
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.name, _, prefix = url.removeprefix("s3://").partition("/")
        self._store = _store(self.name, prefix)

    def list(self, below: str = "") -> Iterator[Object]:
        """The objects below a name, which is that of a folder, in any order."""
        with self._told(""):
            for part in self._store.list(below or None, chunk_size=1000):
                for one in part:
                    time_ns = int(one["last_modified"].timestamp() * 1e6) * 1000
                    yield Object(one["path"], one["size"], (one["e_tag"] or "").strip('"'), time_ns)

    def read(self, key: str, most: int) -> bytes:
        """The content of an object of at most so many bytes. Raises GoneError where there is none."""
        with self._told(key):
            found = self._store.get(key)
            if found.meta["size"] > most:
                raise StorageError(f"An object of the bucket {self.name} is larger than it may be.")
            return bytes(found.bytes())

    def fetch(self, key: str, target: Path) -> str:
        """Writes an object to a file, and returns its SHA-256, hexadecimal. Raises GoneError where there is none.

        Raises:
            OSError: the file cannot be written.
        """
        digest = hashlib.sha256()
        with target.open("wb") as file:
            with self._told(key):
                pieces = iter(self._store.get(key).stream(_CHUNK))
            while True:
                with self._told(key):
                    piece = next(pieces, None)
                if piece is None:
                    return digest.hexdigest()
                digest.update(piece)
                file.write(piece)

    def put(self, key: str, content: Path | bytes) -> None:
        """Writes an object, which is there whole or not at all.

        Raises:
            OSError: the file cannot be read.
        """
        if isinstance(content, Path):
            content.open("rb").close()
        with self._told(""):
            self._store.put(key, content)

    def delete(self, keys: Iterable[str]) -> None:
        """Removes objects; those that are gone already count as removed."""
        if names := list(keys):
            with self._told(""):
                self._store.delete(names)

    @contextmanager
    def _told(self, key: str) -> Iterator[None]:
        """Puts the errors of the client into words; its own may hold what is secret."""
        from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

        try:
            yield
        except FileNotFoundError as error:
            if key and "NoSuchBucket" not in str(error):
                raise GoneError(f"The bucket {self.name} does not have what the catalog lists.", hint=_HINT) from None
            raise StorageError(f"There is no bucket {self.name}, or not for us.", hint=_HINT) from None
        except (BaseError, OSError) as error:  # also of the connection: what it says may hold addresses with passwords
            denied = isinstance(error, PermissionDeniedError | UnauthenticatedError) or _DENIED.search(str(error))
            if denied:
                hint = "Whoever runs this server has to check its keys (AWS_ACCESS_KEY_ID ...)."
                raise StorageError(f"The bucket {self.name} refuses the keys of this server.", hint=hint) from None
            raise StorageError(f"The bucket {self.name} does not answer.", hint=_HINT) from None


def _store(bucket: str, prefix: str) -> "S3Store":
    try:
        from obstore.store import S3Store
    except ImportError as error:
        raise ConfigError(
            "A library or an inbox in a bucket needs the package obstore.", hint="pip install 'warpdeck[team]'"
        ) from error
    from obstore.exceptions import BaseError

    plain = config.endpoint().startswith("http://")
    key = secret.read("AWS_SECRET_ACCESS_KEY")
    try:
        return S3Store(
            bucket,
            prefix=prefix or None,
            config={"secret_access_key": key} if key else {},
            client_options={
                "allow_http": plain,
                "timeout": _ALL_S,
                "read_timeout": _READ_S,
                "connect_timeout": _CONNECT_S,
            },
            retry_config={"max_retries": _RETRIES, "retry_timeout": _RETRY_S},
        )
    except (BaseError, ValueError):
        raise ConfigError("The settings of the bucket (AWS_ENDPOINT_URL, AWS_REGION ...) make no sense.") from None
