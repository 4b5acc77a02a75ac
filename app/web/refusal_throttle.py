"""Counts refused tokens, logins and links by address: whoever goes on trying waits longer each time.

Only refusals wait: what is good is answered at once, also from an address that many people share. The audit has the
first refusal of an address and then the tenth, the hundredth ..., and at most so many entries an hour.
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

FREE = 5
"""Refusals of an address before it has to wait; the wait then doubles with each."""
LONGEST_S = 300.0
FORGOTTEN_S = 900.0
"""An address that was refused nothing for so long begins anew."""
MOST = 10_000
"""Addresses that are known; the one that was refused longest ago goes first."""
ENTRIES_AN_HOUR = 100
_IPV6_HOME = 64
"""Bits of an IPv6 address that tell networks apart: whoever has one address has all of its network."""
_writers = CapacityLimiter(2)


@dataclass
class _Tries:
    refused: int = 0
    counted: int = 0
    until: float = 0.0
    last: float = 0.0


class Refusals:
    """The refusals of a process. Used by the thread that answers requests alone.

    Args:
        now: the time in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._known: OrderedDict[str, _Tries] = OrderedDict()
        self._hour = 0.0
        self._entries = 0

    def count(self, sender: str) -> tuple[float, int]:
        """Counts a refusal.

        Args:
            sender: what was refused to which address.

        Returns:
            The seconds that the sender has to wait for the next try (0: none), and how many refusals that were, where
            the audit shall say so (0: it need not).
        """
        now = self._now()
        tries = self._known.pop(sender, None)
        if tries is None or now - tries.last > FORGOTTEN_S:
            tries = _Tries()
        self._known[sender] = tries
        if len(self._known) > MOST:
            self._known.popitem(last=False)
        tries.last = now
        tries.refused += 1
        told = tries.refused if self._is_told(tries.refused, now) else 0
        if now < tries.until:
            return tries.until - now, told
        tries.counted += 1
        if tries.counted > FREE:
            tries.until = now + min(LONGEST_S, 2.0 ** min(tries.counted - FREE, 20))
        return 0.0, told

    def _is_told(self, count: int, now: float) -> bool:
        if now - self._hour >= 3600 or not self._hour:
            self._hour, self._entries = now, 0
        if str(count).strip("0") != "1" or self._entries >= ENTRIES_AN_HOUR:
            return False
        self._entries += 1
        return True


_refusals = Refusals()


async def refuse(scope: Scope, action: Access, way: Way, who: str = "", about: str = "") -> dict[str, str]:
    """Counts a refusal, and has the audit say so now and then.

    Args:
        scope: the request.
        action: what was refused.
        way: how its sender came in.
        who: the name of a token that is genuine all the same.
        about: what else the audit says.

    Returns:
        Headers of an answer 429 where the sender has to wait, else nothing.
    """
    address = address_of(scope)
    wait, count = _refusals.count(f"{action}, {address}")
    if count:
        words = ", ".join(filter(None, [about, f"from {address}", f"{count:,} so far" if count > 1 else ""]))
        audit = visitors.whole().catalog.asked_by(Visitor(who or "unknown", way)).audit
        await to_thread.run_sync(audit.write_or_log, action, "", words, limiter=_writers)
    return {"Retry-After": str(math.ceil(wait))} if wait else {}


def address_of(scope: Scope) -> str:
    """Where a request comes from, as the web server has it: that of a proxy counts as FORWARDED_ALLOW_IPS says."""
    client = scope.get("client")
    if not client:
        return "unknown"
    try:
        address = ipaddress.ip_address(str(client[0]))
    except ValueError:  # what a proxy says may be anything
        return "unknown"
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address.packed, _IPV6_HOME), strict=False))
    return str(address)
