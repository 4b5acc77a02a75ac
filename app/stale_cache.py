"""A cache of the latest version of lists. A team's lists stay on screen while its database cannot be reached."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar

from profiledb import config
from profiledb.errors import CatalogError

T = TypeVar("T")


def lasting(maxsize: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Cache a function of a library, its version, and more: the latest version for each library and more.

    Every report that arrives makes a new version, so older ones would only hold memory. Where the function cannot read
    the database, it answers as before: the version may have changed a moment ago. A catalog in a file that cannot be
    read is damaged, and the error says so.
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
                found = read(*given)
            except CatalogError:
                if known is None or not config.load().database:
                    raise
                return known[1]
            latest.pop(key, None)
            latest[key] = (version, found)
            if len(latest) > maxsize:
                latest.pop(next(iter(latest)), None)
            return found

        return ask

    return decorate
