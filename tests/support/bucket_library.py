"""Libraries whose files are in a bucket, and their objects."""

from pathlib import Path

from profiledb.library.bucket.object_store import ObjectStore
from profiledb.library.bucket_storage import BucketStorage
from profiledb.library.catalog import Catalog
from profiledb.library.library import Library


def open_in_bucket(folder: Path, catalog: Catalog, url: str, most_mb: float = 1000) -> Library:
    """Open a library of a bucket on a machine with this folder."""
    return Library(BucketStorage(folder, catalog.object_index, url, most_mb), catalog)


def store_of(library: Library) -> ObjectStore:
    """Return the objects of a library and their copies."""
    assert isinstance(library.storage, BucketStorage)
    return library.storage.store
