"""Slow down guessing: count refused tokens, logins and links by address, and make further attempts wait longer.

Only refused requests wait. Valid ones are answered at once, also from an address that many people share. The audit
records the 1st, 10th, 100th ... refusal of an address, and a bounded number of entries per hour.
"""

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from anyio import CapacityLimiter, to_thread
from starlette.types import Scope

from app.web import visitors
from profiledb.library.audit import Access
from profiledb.library.visitor import Visitor, Way

FREE_REFUSALS = 5
"""Refusals of an address before it has to wait; each further one doubles the wait."""
MAX_WAIT_S = 300.0
FORGET_AFTER_S = 900.0
"""An address without a refusal for so long starts anew."""
MAX_ADDRESSES = 10_000
"""Addresses in memory; the one whose last refusal is the oldest goes first."""
ENTRIES_PER_HOUR = 100
_IPV6_PREFIX_BITS = 64
"""One customer has a whole IPv6 network of this prefix, so all of its addresses count as one."""
_writers = CapacityLimiter(2)


@dataclass
class _Attempts:
    refused: int = 0
    """All refusals."""
    counted: int = 0
    """Refusals outside of a wait, which lengthen the next one."""
    wait_until: float = 0.0
    last: float = 0.0


class RefusalThrottle:
    """The refusals of a process. Call it from the event loop only.

    Args:
        now: clock in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._attempts: OrderedDict[str, _Attempts] = OrderedDict()
        self._hour_start = 0.0
        self._entries = 0

    def count(self, sender: str) -> tuple[float, int]:
        """Count a refusal.

        Args:
            sender: the action that was refused, with the address.

        Returns:
            Seconds that the sender has to wait (0: none), and the number of refusals so far if the audit should
            record this one (0: it should not).
        """
        now = self._now()
        attempts = self._attempts.pop(sender, None)
        if attempts is None or now - attempts.last > FORGET_AFTER_S:
            attempts = _Attempts()
        self._attempts[sender] = attempts
        if len(self._attempts) > MAX_ADDRESSES:
            self._attempts.popitem(last=False)
        attempts.last = now
        attempts.refused += 1
        recorded = attempts.refused if self._is_recorded(attempts.refused, now) else 0
        if now < attempts.wait_until:
            return attempts.wait_until - now, recorded
        attempts.counted += 1
        if attempts.counted > FREE_REFUSALS:
            attempts.wait_until = now + min(MAX_WAIT_S, 2.0 ** min(attempts.counted - FREE_REFUSALS, 20))
        return 0.0, recorded

    def _is_recorded(self, count: int, now: float) -> bool:
        if now - self._hour_start >= 3600 or not self._hour_start:
            self._hour_start, self._entries = now, 0
        is_power_of_ten = str(count).strip("0") == "1"
        if not is_power_of_ten or self._entries >= ENTRIES_PER_HOUR:
            return False
        self._entries += 1
        return True


_throttle = RefusalThrottle()


async def count_refusal(scope: Scope, action: Access, way: Way, who: str = "", about: str = "") -> dict[str, str]:
    """Count a refusal and record it in the audit if its turn has come.

    Args:
        scope: the request.
        action: the refused action.
        way: how the sender came in.
        who: name of a token that is genuine but refused.
        about: more for the audit.

    Returns:
        Headers of a response 429 if the sender has to wait; empty otherwise.
    """
    address = get_address(scope)
    wait, count = _throttle.count(f"{action}, {address}")
    if count:
        details = ", ".join(filter(None, [about, f"from {address}", f"{count:,} so far" if count > 1 else ""]))
        audit = visitors.get_whole_library().catalog.asked_by(Visitor(who or "unknown", way)).audit
        await to_thread.run_sync(audit.write_or_log, action, "", details, limiter=_writers)
    return {"Retry-After": str(math.ceil(wait))} if wait else {}


def get_address(scope: Scope) -> str:
    """Return the address that a request came from: the client's behind the proxies of FORWARDED_ALLOW_IPS."""
    client = scope.get("client")
    if not client:
        return "unknown"
    try:
        address = ipaddress.ip_address(str(client[0]))
    except ValueError:  # a proxy may forward anything
        return "unknown"
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address.packed, _IPV6_PREFIX_BITS), strict=False))
    return str(address)
