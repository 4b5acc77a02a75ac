"""The team services that the deployment tests share."""

from tests.support.compose_services import composed

__all__ = ["composed"]
