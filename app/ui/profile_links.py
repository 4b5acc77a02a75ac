"""Ways to the page of a launch that ncu measured; each is an address that can be sent."""

from app import pages, session
from app.ui import navigate

LAUNCHES = pages.script("ncu")


def open_launch(report_id: str, launch: int) -> None:
    """Goes to a launch of a Compute report."""
    navigate.to(LAUNCHES, {session.PARAMETER: report_id, "launch": str(launch)})
