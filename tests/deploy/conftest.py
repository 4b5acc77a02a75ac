"""The team services that the deployment tests share."""

from tests.support.composed import composed

__all__ = ["composed"]
