"""Lists of a team's catalog that go on to be shown while its database cannot be reached."""

from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from typing import Any, TypeVar

from profiledb import config
from profiledb.errors import CatalogError

T = TypeVar("T")


def lasting(maxsize: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """As ``lru_cache``, for a function of a library, its version, and more.

    Where the function cannot read the database it is the last answer for the same library and the same more: the
    version may have changed a moment before. A catalog in a file that cannot be read is damaged, which is told.
    """

    def decorate(read: Callable[..., T]) -> Callable[..., T]:
        cached, last = lru_cache(maxsize=maxsize)(read), dict[Hashable, T]()

        @wraps(read)
        def ask(*given: Any) -> T:
            key = (given[:1], given[2:])
            try:
                found = cached(*given)
            except CatalogError:
                if key not in last or not config.load().database:
                    raise
                return last[key]
            last.pop(key, None)
            last[key] = found
            if len(last) > maxsize:
                last.pop(next(iter(last)), None)
            return found

        return ask

    return decorate
