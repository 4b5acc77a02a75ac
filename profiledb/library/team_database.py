"""Open the PostgreSQL database of a team; the packages for it are optional."""

import threading
from functools import cache

from profiledb.errors import CatalogError, ConfigError, RefusedError
from profiledb.library.database import Shared

_one_at_a_time = threading.Lock()


def open_database(url: str) -> Shared:
    """Return the database at an address: one object per process, also when threads ask at once.

    Raises:
        ConfigError: the address is malformed, or the packages for PostgreSQL are missing. No password is repeated.
    """
    with _one_at_a_time:
        return _open_database(url)


def require_access(url: str) -> None:
    """Read from a database at the start of a process; one that is away may come back.

    Raises:
        RefusedError: PostgreSQL refuses the user.
    """
    try:
        open_database(url).version()
    except RefusedError:
        raise
    except CatalogError:
        return


@cache
def _open_database(url: str) -> Shared:
    try:
        from profiledb.library.postgres import Postgres
    except ImportError as error:
        raise ConfigError(
            "WARPDECK_DATABASE needs more packages.", hint="Install them: pip install 'warpdeck[team]'"
        ) from error
    return Postgres(url)
