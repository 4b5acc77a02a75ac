"""List a bucket with names that obstore rejects as paths, through the client minio.

Such names have an empty part (``runs//a.nsys-rep``, from a program that adds a slash too many), a part ``.`` or ``..``,
or a control character.
"""

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from xml.etree.ElementTree import ParseError

from profiledb import config, secret

_AMAZON = "https://s3.amazonaws.com"


def list_objects(
    bucket: str, prefix: str, connect: timedelta, read: timedelta, retries: int
) -> Iterator[dict[str, Any]]:
    """Yield the objects below a prefix, with ``path`` (after the prefix), ``size``, ``e_tag`` and ``last_modified``.

    Args:
        bucket: its name.
        prefix: the first part of the names.
        connect: limit for the server to accept a connection.
        read: limit for the server to send nothing.
        retries: times that a request is repeated.

    Raises:
        ImportError: minio is not installed.
        OSError: the bucket does not answer, or refuses; then with the status.
    """
    import urllib3
    from minio import Minio
    from minio.credentials.providers import IamAwsProvider
    from minio.error import MinioException, S3Error

    server = urlsplit(config.read_endpoint() or _AMAZON)
    key = os.environ.get("AWS_ACCESS_KEY_ID")
    patience = urllib3.Timeout(connect=connect.total_seconds(), read=read.total_seconds())
    pool = urllib3.PoolManager(timeout=patience, retries=urllib3.Retry(retries, backoff_factor=0.2))
    try:
        client = Minio(
            server.netloc,
            access_key=key,
            secret_key=secret.read_secret("AWS_SECRET_ACCESS_KEY"),
            session_token=secret.read_secret("AWS_SESSION_TOKEN") or None,
            secure=server.scheme == "https",
            region=os.environ.get("AWS_REGION") or "us-east-1",
            http_client=pool,
            credentials=None if key else IamAwsProvider(),
        )
        for one in client.list_objects(bucket, prefix, recursive=True):
            yield {
                "path": str(one.object_name).removeprefix(prefix), "size": one.size or 0, "e_tag": one.etag,
                "last_modified": one.last_modified,
            }  # fmt: skip
    except S3Error as error:
        raise OSError(f"status code: {error.response.status}") from None
    # Their text may contain secrets.
    except (MinioException, urllib3.exceptions.HTTPError, ParseError, ValueError) as error:
        raise OSError(type(error).__name__) from None
