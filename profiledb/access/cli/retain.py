"""``warpdeck retain``: remove what the retention rules release; the worker does so every hour."""

import argparse
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from profiledb import config, terminal, words
from profiledb.errors import ConfigError

if TYPE_CHECKING:
    from profiledb.library.library import Library
    from profiledb.studies.retention import Deletion


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "retain", "remove reports and uploads by the rules of retention", "--dry-run", parents=[common],
        description="WARPDECK_RETENTION names the file of rules; docs/team.md has its format, and the rules of a team"
        " without a file. Everything is announced some days before. Reports with a label and samples stay, and Trends"
        " keeps the figures of removed reports. The worker does this every hour.",
    )  # fmt: skip
    command.add_argument("--inbox", metavar="DIR", help="folder or bucket of the uploads (default: WARPDECK_INBOX)")
    command.add_argument("--dry-run", action="store_true", help="list removals with their dates, and remove nothing")
    command.add_argument("--now", action="store_true", help="remove everything that is old enough, without notice")
    command.add_argument("--by-worker", action="store_true", help=argparse.SUPPRESS)  # recorded in the audit
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Announce removals, carry out those announced long enough ago, and print a line for each."""
    from profiledb.library.locations import open_inbox
    from profiledb.library.visitor import WORKER
    from profiledb.monitoring import logs
    from profiledb.rules import retention as rules
    from profiledb.studies import retention

    settings = config.load(inbox=arguments.inbox)
    retention_rules = rules.read_current(settings)
    if retention_rules is None:
        raise ConfigError("No retention rules are set.", hint="Set WARPDECK_RETENTION to their file.")
    logs.configure(settings.log)
    inbox, now = open_inbox(settings), datetime.now(UTC)
    if arguments.by_worker:
        library = library.asked_by(WORKER)
    say = _say_nothing if settings.log == logs.JSON else terminal.say
    if arguments.dry_run:
        known = {(one.what, one.thing): one.announced_at for one in library.catalog.removals.announced()}
        notice = timedelta(days=retention_rules.notice_days)
        coming = retention.plan(library, inbox, retention_rules, settings, now + notice)
        for one in coming:
            at = datetime.fromisoformat(known[one.what, one.thing]) if (one.what, one.thing) in known else now
            say(_format_line(one) + f" from {at + notice:%Y-%m-%d %H:%M} UTC")
        say(f"{words.counted(len(coming), 'thing')} would go: {words.bytes_(sum(one.size for one in coming))}.")
        return
    due, announced = retention.announce(library, inbox, retention_rules, settings, now)
    removed = []
    for one in retention.carry_out(
        library, inbox, retention.plan(library, inbox, retention_rules, settings, now) if arguments.now else due
    ):
        removed.append(one)
        say(_format_line(one))
    say(f"{words.counted(len(removed), 'thing')} removed: {words.bytes_(sum(one.size for one in removed))}.")
    gone = {(one.what, one.thing) for one in removed}
    if waiting := [one for one in announced if (one.what, one.thing) not in gone]:
        size = words.bytes_(sum(one.bytes for one in waiting))
        say(f"{words.counted(len(waiting), 'thing')} announced: {size}. To list: warpdeck retain --dry-run.")


def _say_nothing(_: str) -> None:
    """Leave it to the events of the log."""


def _format_line(one: "Deletion") -> str:
    return f"{one.what:<7} {one.report_id or '-':<16}  {one.name}  ({one.why})"
