"""Find the report that a person means by a name."""

from collections.abc import Iterable

from profiledb import words
from profiledb.errors import ReportNotFoundError
from profiledb.report.manifest import Manifest


def find(reports: Iterable[Manifest], name: str) -> Manifest:
    """Return the report with this id, unique prefix of an id, file name, or name that somebody gave it.

    Raises:
        ReportNotFoundError: none matches, or several do.
    """
    known = list(reports)
    exact = [r for r in known if r.id == name] or [r for r in known if name and name in (r.name, r.title)]
    if len(exact) == 1:
        return exact[0]
    if exact:
        listing = ", ".join(f"{r.id} ({_describe_time(r)})" for r in exact[:5]) + (" ..." if exact[5:] else "")
        raise ReportNotFoundError(f"{len(exact)} reports are called {name!r}: {listing}.", hint="Name one by its id.")
    begins = [r for r in known if name and r.id.startswith(name)]
    if len(begins) == 1:
        return begins[0]
    if begins:
        ids = ", ".join(r.id for r in begins[:5])
        raise ReportNotFoundError(f"{name!r} matches the start of {len(begins)} report ids: {ids}.")
    raise ReportNotFoundError(f"No report is called {name!r}.", hint="warpdeck list shows the reports of this library.")


def _describe_time(report: Manifest) -> str:
    """Return when a report was captured, or imported if that is unknown."""
    if report.captured_at:
        return f"captured {words.when(report.captured_at)}"
    return f"taken in {words.when(report.ingested_at)}"
