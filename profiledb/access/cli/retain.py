"""``warpdeck retain``: remove what the retention rules release; the worker does so every hour."""

import argparse
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from profiledb import config, terminal, words
from profiledb.errors import ConfigError

if TYPE_CHECKING:
    from profiledb.library.library import Library


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "retain", "remove reports and uploads by the rules of retention", "--dry-run", parents=[common],
        description="WARPDECK_RETENTION names the file of rules; docs/team.md has its format. Reports with a label and"
        " samples stay. The worker does this every hour.",
    )  # fmt: skip
    command.add_argument("--inbox", metavar="DIR", help="folder or bucket of the uploads (default: WARPDECK_INBOX)")
    command.add_argument("--dry-run", action="store_true", help="say what would go, and remove nothing")
    command.add_argument("--by-worker", action="store_true", help=argparse.SUPPRESS)  # recorded in the audit
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Remove it and print a line for each thing removed."""
    from profiledb.library.locations import open_inbox
    from profiledb.library.visitor import WORKER
    from profiledb.monitoring import logs
    from profiledb.rules import retention as rules
    from profiledb.studies import retention

    settings = config.load(inbox=arguments.inbox)
    if settings.retention is None:
        raise ConfigError("No retention rules are set.", hint="Set WARPDECK_RETENTION to their file.")
    logs.configure(settings.log)
    inbox = open_inbox(settings)
    if arguments.by_worker:
        library = library.asked_by(WORKER)
    planned = retention.plan(library, inbox, rules.load(settings.retention), settings, datetime.now(UTC))
    count, size = 0, 0
    for one in planned if arguments.dry_run else retention.carry_out(library, inbox, planned):
        count, size = count + 1, size + one.size
        if settings.log != logs.JSON:
            terminal.say(f"{one.what:<7} {one.report_id or '-':<16}  {one.name}  ({one.why})")
    if settings.log != logs.JSON:
        outcome = "would go" if arguments.dry_run else "removed"
        terminal.say(f"{words.counted(count, 'thing')} {outcome}: {words.bytes_(size)}.")
