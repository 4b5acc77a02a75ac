"""The provider that all modules of this folder share."""

from collections.abc import Iterator

import pytest

from tests.app.web.provider import provider


@pytest.fixture(scope="session")
def issuer() -> Iterator[str]:
    """The address at which everybody logs in: one provider for each test process, which takes a second to start."""
    with provider() as address:
        yield address
