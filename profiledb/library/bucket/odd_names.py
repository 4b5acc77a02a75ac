"""The list of a bucket whatever its names are, by the client minio: obstore gives up a list at one that is no path.

Such names have an empty part (``runs//a.nsys-rep``, quickly made by a program that puts a slash too many), a part ``.``
or ``..``, or a control character.
"""

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from xml.etree.ElementTree import ParseError

from profiledb import config, secret

_AMAZON = "https://s3.amazonaws.com"


def listed(bucket: str, prefix: str, connect: timedelta, read: timedelta, retries: int) -> Iterator[dict[str, Any]]:
    """The objects whose names begin so, with ``path`` (after the prefix), ``size``, ``e_tag`` and ``last_modified``.

    Args:
        bucket: its name.
        prefix: what the names begin with.
        connect: how long the server may take to answer at all.
        read: how long it may say nothing.
        retries: how often a request is sent again.

    Raises:
        ImportError: minio is not installed.
        OSError: the bucket does not answer; with the status where it refuses.
    """
    import urllib3
    from minio import Minio
    from minio.credentials.providers import IamAwsProvider
    from minio.error import MinioException, S3Error

    server = urlsplit(config.endpoint() or _AMAZON)
    key = os.environ.get("AWS_ACCESS_KEY_ID")
    patience = urllib3.Timeout(connect=connect.total_seconds(), read=read.total_seconds())
    pool = urllib3.PoolManager(timeout=patience, retries=urllib3.Retry(retries, backoff_factor=0.2))
    try:
        client = Minio(
            server.netloc,
            access_key=key,
            secret_key=secret.read("AWS_SECRET_ACCESS_KEY"),
            session_token=secret.read("AWS_SESSION_TOKEN") or None,
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
    # What these say may hold what is secret.
    except (MinioException, urllib3.exceptions.HTTPError, ParseError, ValueError) as error:
        raise OSError(type(error).__name__) from None
