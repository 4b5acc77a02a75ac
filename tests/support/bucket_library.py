"""Libraries that store their files in a bucket, and their object stores."""

from pathlib import Path

from profiledb.library.bucket.object_store import ObjectStore
from profiledb.library.bucket_storage import BucketStorage
from profiledb.library.catalog import Catalog
from profiledb.library.library import Library


def open_in_bucket(folder: Path, catalog: Catalog, url: str, most_mb: float = 1000) -> Library:
    """Open a library in a bucket, with this folder for its local files."""
    return Library(BucketStorage(folder, catalog.object_index, url, most_mb), catalog)


def store_of(library: Library) -> ObjectStore:
    """Return the object store of a library."""
    assert isinstance(library.storage, BucketStorage)
    return library.storage.store
