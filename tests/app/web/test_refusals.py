"""Refused tokens, logins and links: each address waits longer, valid ones do not wait, and the audit counts them."""

from starlette.types import Scope

from app.web import refusal_throttle
from app.web.refusal_throttle import FREE_REFUSALS, RefusalThrottle, get_address


class Clock:
    """A time that only a test moves."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_each_try_waits_longer_up_to_a_limit() -> None:
    clock = Clock()
    known = RefusalThrottle(clock)
    assert [known.count("a")[0] for _ in range(FREE_REFUSALS + 1)] == [0.0] * (FREE_REFUSALS + 1)
    waits = []
    for _ in range(12):
        wait, _ = known.count("a")
        assert wait > 0
        waits.append(wait)
        clock.now += wait
        assert known.count("a")[0] == 0, "the next try counts"
    assert waits[:4] == [2.0, 4.0, 8.0, 16.0]
    assert waits[-1] == refusal_throttle.MAX_WAIT_S
    assert known.count("b")[0] == 0, "another address does not wait"
    clock.now += refusal_throttle.FORGET_AFTER_S + 1
    assert [known.count("a")[0] for _ in range(FREE_REFUSALS)] == [0.0] * FREE_REFUSALS


def test_a_flood_is_few_entries_and_little_memory() -> None:
    clock = Clock()
    known = RefusalThrottle(clock)
    assert [count for count in (known.count("a")[1] for _ in range(2_000)) if count] == [1, 10, 100, 1_000]
    told = sum(bool(known.count(f"{number}")[1]) for number in range(2 * refusal_throttle.MAX_ADDRESSES))
    assert told == refusal_throttle.ENTRIES_PER_HOUR - 4
    assert len(known._attempts) == refusal_throttle.MAX_ADDRESSES
    clock.now += 3_600
    assert known.count("c")[1] == 1


def test_an_address_is_that_of_a_network() -> None:
    def told(host: str) -> str:
        scope: Scope = {"client": (host, 1)}
        return get_address(scope)

    assert told("203.0.113.9") == told("::ffff:203.0.113.9") == "203.0.113.9"
    assert told("2001:db8:1:2:3::4") == told("2001:db8:1:2::") == "2001:db8:1:2::/64"
    assert told("<script>") == "unknown"
    assert get_address({}) == "unknown"
