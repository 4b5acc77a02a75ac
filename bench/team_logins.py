"""Measure pages and logins while the identity provider is lost: ``python -m bench.team_logins``.

A dashboard with a login trusts a real OpenID Connect provider on this machine. The provider is killed, or suspended:
its machine then accepts connections, and nobody answers. Meanwhile a logged-in person views pages, and others try to
log in; afterward they succeed.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from app.web.sign_in_middleware import PROVIDER_UNAVAILABLE
from bench import team_queue
from bench.team_losses import KILLED, STANDS_STILL, Looks, look_at_page
from tests.app.web.provider import guarded, log_in, process_of, provider, way_in
from tests.conftest import run_ingest

PAUSE_S = 0.5
_NAME = "00000.pt.trace.json"


@contextmanager
def take_provider_away(issuer: str, way: str, stack: ExitStack) -> Iterator[None]:
    """Take the provider away for the block; a killed one is started again with the same people."""
    process = process_of(issuer)
    if way == STANDS_STILL:
        process.suspend()
        try:
            yield
        finally:
            process.resume()
        return
    process.kill()
    process.wait()
    yield
    stack.enter_context(provider(int(issuer.rpartition(":")[2])))


def lose_provider(folder: Path, way: str, seconds: float) -> tuple[Looks, Looks]:
    """Let a logged-in person view pages, and others try to log in, while the provider is away for some seconds."""
    folder.mkdir()
    team_queue.write_traces(folder / "inbox", 1)
    run_ingest(folder / "inbox", folder / "library")
    with ExitStack() as stack:
        issuer = stack.enter_context(provider())
        running, _ = stack.enter_context(guarded(issuer, folder, folder / "secrets.toml"))
        address = running.address
        cookies, door = log_in(address, "victor"), way_in(address)
        looks, tries = Looks(), Looks()
        with take_provider_away(issuer, way, stack):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                looks.add(*look_at_page(address, "", "", _NAME, cookies))
                tries.add(*try_login(address + door))
                time.sleep(PAUSE_S)
        assert log_in(address, "edith"), "who logs in afterward does"
        assert look_at_page(address, "", "", _NAME, cookies)[0] == "shown"
        return looks, tries


def try_login(way: str) -> tuple[str, float]:
    """Press "Log in"; return the message and the seconds it took."""
    begun = time.monotonic()
    answer = httpx.get(way, timeout=60)
    result = "said what is missing" if (answer.status_code, answer.text) == (503, PROVIDER_UNAVAILABLE) else "neither"
    return result, time.monotonic() - begun


def main() -> None:
    """Print the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.team_logins", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    print("| way | who is logged in | who logs in |\n|---|---|---|")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        for way in (KILLED, STANDS_STILL):
            looks, tries = lose_provider(Path(folder) / way.replace(" ", "-"), way, options.seconds)
            print(f"| {way}, {options.seconds:.0f} s | {looks} | {tries} |", flush=True)


if __name__ == "__main__":
    main()
