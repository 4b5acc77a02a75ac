"""A bucket of an S3-compatible object storage: list, fetch, put and delete, with error messages that hold no secret.

Endpoint, region and keys come from the usual variables of S3 clients (AWS_ENDPOINT_URL, AWS_REGION,
AWS_ACCESS_KEY_ID ...), which ``obstore`` reads, or from the cloud machine that runs this.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiledb import config, secret
from profiledb.errors import ConfigError, ConversionError, StorageError
from profiledb.library.bucket import odd_names
from profiledb.words import visible

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import S3Store

_ALL_S = timedelta(hours=4)
_READ_S = timedelta(seconds=15)
"""Limit between two pieces of data: a long transfer is healthy as long as something arrives."""
_CONNECT_S = timedelta(seconds=3)
_RETRIES = 3
_RETRY_S = timedelta(seconds=10)
_CHUNK = 4 << 20
_DENIED = re.compile(r"status code: 40[13]\b")
"""Matches a refused listing, which has no error class of its own."""
_NO_LIST = re.compile(r"invalid path|invalid list response|status code: 5\d\d")
"""Matches a listing that failed, perhaps because of a name: some servers break at a control character."""
_NAMED = re.compile(r'Path "(.*?)" contained|parsing Path "(.*?)": ', re.DOTALL)
_HINT = "Try again in a moment."
_LARGER = "Capture a shorter window, or raise WARPDECK_CONVERT_DISK_MB."


class GoneError(StorageError):
    """The object does not exist."""


@dataclass(frozen=True)
class Object:
    """An object as a bucket lists it.

    Args:
        key: name below the prefix.
        size: size in bytes.
        etag: the server's mark of the content; empty if it sends none.
        time_ns: time of the last put, ns since 1970.
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
        self.name, _, self._prefix = url.removeprefix("s3://").partition("/")
        self._store = _open_store(self.name, self._prefix)

    def list(self, below: str = "", after: str = "") -> Iterator[Object]:
        """Yield the objects below a folder in any order; their names may be impossible for a file.

        ``after`` leaves out names up to this one.
        """
        from obstore.exceptions import BaseError

        seen = set[str]()
        with self._translate_errors(""):
            try:
                for part in self._store.list(below or None, offset=after or None, chunk_size=1000):
                    for one in map(_make_object, part):
                        seen.add(one.key)
                        yield one
            except BaseError as error:
                if not _NO_LIST.search(str(error)):
                    raise
                for one in self._list_odd_names(below, error):
                    if one.key not in seen and one.key > after:
                        yield one

    def _list_odd_names(self, below: str, error: Exception) -> Iterator[Object]:
        """Yield the objects through another client, if a name is too unusual for the first one."""
        folder = f"{below}/" if below else ""
        start = f"{self._prefix}/{folder}" if self._prefix else folder
        try:
            for one in odd_names.list_objects(self.name, start, _CONNECT_S, _READ_S, _RETRIES):
                yield _make_object(one | {"path": folder + one["path"]})
        except ImportError:
            raise error from None

    def head(self, key: str) -> Object | None:
        """Return an object as it is now; None if there is none."""
        try:
            with self._translate_errors(key):
                return _make_object(self._store.head(key))
        except GoneError:
            return None

    def read(self, key: str, most: int) -> bytes:
        """Return the content of an object of at most ``most`` bytes. Raises GoneError if there is none."""
        with self._translate_errors(key):
            answer = self._store.get(key)
            if answer.meta["size"] > most:
                raise StorageError(f"An object of the bucket {self.name} is too large.")
            return bytes(answer.bytes())

    def fetch(self, key: str, target: Path, most: int | None = None) -> str:
        """Write an object to a file with the object's time; return its SHA-256, hexadecimal.

        Args:
            key: name of the object.
            target: the file.
            most: size limit in bytes; None for no limit.

        Raises:
            GoneError: the object does not exist.
            ConversionError: it exceeds the limit.
            OSError: the file cannot be written.
        """
        digest = hashlib.sha256()
        with target.open("wb") as file:
            with self._translate_errors(key):
                answer = self._store.get(key)
                pieces = iter(answer.stream(_CHUNK))
            if most is not None and answer.meta["size"] > most:
                raise ConversionError(f"{target.name} is larger than {most >> 20:,} MB.", hint=_LARGER)
            while True:
                with self._translate_errors(key):
                    piece = next(pieces, None)
                if piece is None:
                    break
                digest.update(piece)
                file.write(piece)
            if file.tell() != answer.meta["size"]:
                raise StorageError(f"The bucket {self.name} sent half of an object.", hint=_HINT)
        time_ns = _make_object(answer.meta).time_ns
        os.utime(target, ns=(time_ns, time_ns))
        return digest.hexdigest()

    def put(self, key: str, content: Path | bytes) -> None:
        """Write an object atomically.

        Raises:
            OSError: the file cannot be read.
        """
        if isinstance(content, Path):
            content.open("rb").close()
        with self._translate_errors(""):
            self._store.put(key, content)

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects; one that is gone already counts as removed."""
        if names := list(keys):
            with self._translate_errors(""):
                self._store.delete(names)

    @contextmanager
    def _translate_errors(self, key: str) -> Iterator[None]:
        """Translate errors of the client, whose own text may contain secrets."""
        from obstore.exceptions import BaseError, InvalidPathError, PermissionDeniedError, UnauthenticatedError

        try:
            yield
        except InvalidPathError as error:
            named = _NAMED.search(str(error))
            shown = visible((named[1] or named[2])[:200]) if named else ""
            raise StorageError(
                f"The bucket {self.name} holds a name that cannot be read: {shown}",
                hint="Names with '//', '..' or a control character stop all of it: remove or rename that object.",
            ) from None
        except FileNotFoundError as error:
            if key and "NoSuchBucket" not in str(error):
                raise GoneError(f"The bucket {self.name} does not have what the catalog lists.", hint=_HINT) from None
            raise StorageError(
                f"The bucket {self.name} does not exist, or this server may not see it.", hint=_HINT
            ) from None
        except (
            BaseError,
            OSError,
        ) as error:  # includes connection errors, whose text may contain addresses with passwords
            denied = isinstance(error, PermissionDeniedError | UnauthenticatedError) or _DENIED.search(str(error))
            if denied:
                hint = "Ask the server's operator to check its keys (AWS_ACCESS_KEY_ID ...)."
                raise StorageError(f"The bucket {self.name} refuses the keys of this server.", hint=hint) from None
            raise StorageError(f"The bucket {self.name} does not answer.", hint=_HINT) from None


def _make_object(meta: "ObjectMeta | dict[str, Any]") -> Object:
    time_ns = int(meta["last_modified"].timestamp() * 1e6) * 1000
    return Object(meta["path"], meta["size"], (meta["e_tag"] or "").strip('"'), time_ns)


def _open_store(bucket: str, prefix: str) -> "S3Store":
    try:
        from obstore.store import S3Store
    except ImportError as error:
        raise ConfigError(
            "A library or an inbox in a bucket needs the package obstore.", hint="pip install 'warpdeck[team]'"
        ) from error
    from obstore.exceptions import BaseError

    plain = config.read_endpoint().startswith("http://")
    key = secret.read_secret("AWS_SECRET_ACCESS_KEY")
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
        raise ConfigError("The settings of the bucket (AWS_ENDPOINT_URL, AWS_REGION ...) are invalid.") from None
