"""A cache for the latest version of lists, which keeps a team's lists on screen while its database is unreachable."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar

from profiledb import config
from profiledb.errors import CatalogError

T = TypeVar("T")


def cache_by_version(maxsize: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Cache a function of (library, version, ...): keep the latest version for each library and remaining arguments.

    Every new report makes a new version, so keeping old ones would waste memory. If the database is unreachable, the
    function returns the last result, which may be slightly out of date. An unreadable catalog file, in contrast, is
    damaged, so that error is raised.
    """

    def decorate(read: Callable[..., T]) -> Callable[..., T]:
        latest = dict[Hashable, tuple[Hashable, T]]()

        @wraps(read)
        def ask(*given: Any) -> T:
            key, version = (given[:1], given[2:]), given[1]
            known = latest.get(key)
            if known is not None and known[0] == version:
                return known[1]
            try:
                result = read(*given)
            except CatalogError:
                if known is None or not config.load().database:
                    raise
                return known[1]
            latest.pop(key, None)
            latest[key] = (version, result)
            if len(latest) > maxsize:
                latest.pop(next(iter(latest)), None)
            return result

        return ask

    return decorate
