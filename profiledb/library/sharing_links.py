"""Sharing links: each opens one report to its holder for some days; the catalog keeps hashes of them."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from profiledb.errors import AnalysisError
from profiledb.library.access_check import Visibility
from profiledb.library.audit import Audit
from profiledb.library.database import Connect
from profiledb.library.visitor import Visitor

MOST = 1_000
"""Links of a library at a time."""
_SECRET = re.compile(r"ws_([0-9a-f]{12})_([0-9a-f]{64})")
_COLUMNS = "id, report_id, made_by, made_at, ends_at"


@dataclass(frozen=True)
class Share:
    """A link without its secret; times are ISO 8601 in UTC."""

    id: str
    report_id: str
    made_by: str
    made_at: str
    ends_at: str

    @property
    def seconds(self) -> float:
        """Seconds until it expires; negative if it has."""
        return (datetime.fromisoformat(self.ends_at) - datetime.now(UTC)).total_seconds()


class SharingLinks:
    """The links of a library. Every call opens its own connection and raises as ``Catalog`` does."""

    def __init__(self, connect: Connect, audit: Audit, visibility: Visibility, visitor: Visitor) -> None:
        self._connect = connect
        self._audit = audit
        self._visibility = visibility
        self._visitor = visitor

    def create(self, report_id: str, days: int, most_days: float) -> str:
        """Make a link and return its secret part, which cannot be retrieved later.

        Raises:
            AnalysisError: links are not allowed, or not for so long, or there are too many.
            ReportNotFoundError: the report does not exist or is hidden from the visitor.
        """
        self._visibility.require_reports(report_id)
        if not 1 <= days <= most_days:
            raise AnalysisError(
                f"A link lasts from 1 to {most_days:g} days." if most_days else "Links are not allowed."
            )
        number, secret, now = secrets.token_hex(6), secrets.token_hex(32), datetime.now(UTC)
        share = Share(
            number, report_id, self._visitor.name, _format_moment(now), _format_moment(now + timedelta(days=days))
        )
        with self._connect() as db:
            db.execute("DELETE FROM share WHERE ends_at <= ?", [_format_moment(now)])
            ((count,),) = db.execute("SELECT count(*) FROM share").fetchall()
            if count >= MOST:
                raise AnalysisError(f"A library has at most {MOST:,} links.", hint="End some first.")
            values = vars(share) | {"digest": _digest_secret(secret)}
            names = ", ".join(f":{name}" for name in _COLUMNS.split(", "))
            db.execute(f"INSERT INTO share ({_COLUMNS}, digest) VALUES ({names}, :digest)", values)
            self._audit.note(db, "shared", report_id, f"link {number}, {days} days")
        return f"ws_{number}_{secret}"

    def all(self) -> list[Share]:
        """Return the active links to visible reports, newest first."""
        with self._connect() as db:
            query = f"SELECT {_COLUMNS} FROM share WHERE ends_at > ? ORDER BY made_at DESC, id"
            links = [_make_share(row) for row in db.execute(query, [_format_moment(datetime.now(UTC))])]
        return self._visibility.filter_items(links, lambda share: share.report_id)

    def end(self, number: str) -> None:
        """End a link at once. Raises AnalysisError if no link has this number."""
        self._visibility.require_all()
        with self._connect() as db:
            row = db.execute("SELECT report_id FROM share WHERE id = ?", [number]).fetchone()
            if row is None:
                raise AnalysisError("There is no such link.")
            self._audit.note(db, "ended link", row["report_id"], f"link {number}")
            db.execute("DELETE FROM share WHERE id = ?", [number])

    def find(self, text: str) -> Share | None:
        """Return the link with this secret; None if it is unknown, has expired, or its report is gone."""
        match = _SECRET.fullmatch(text)
        if not match:
            return None
        with self._connect() as db:
            query = (
                f"SELECT {_COLUMNS}, digest FROM share"
                " WHERE id = ? AND ends_at > ? AND report_id IN (SELECT id FROM report)"
            )
            row = db.execute(query, [match[1], _format_moment(datetime.now(UTC))]).fetchone()
        return _make_share(row) if row and hmac.compare_digest(row["digest"], _digest_secret(match[2])) else None


def _make_share(row: Any) -> Share:
    return Share(*(row[name] for name in _COLUMNS.split(", ")))


def _format_moment(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


def _digest_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
