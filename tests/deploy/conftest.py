"""The services of a team, which the tests here share."""

from tests.support.composed import composed

__all__ = ["composed"]
