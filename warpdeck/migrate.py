"""``warpdeck migrate``: create or migrate the tables of a team's database without a worker."""

from typing import Any

from profiledb import config, terminal
from profiledb.errors import ConfigError


def add_command(commands: Any) -> None:
    command = terminal.add(
        commands, "migrate", "make or change the tables of a team's database", "--down 0001",
        description="Brings the tables of WARPDECK_DATABASE to this version, as each worker does when it starts.",
    )  # fmt: skip
    command.add_argument(
        "--down", metavar="REVISION", help="go back to an older revision; 'base' removes all tables with what they hold"
    )
    command.set_defaults(execute=lambda arguments: terminal.run_guarded(lambda: _migrate_tables(arguments.down)))


def _migrate_tables(down: str | None) -> None:
    settings = config.load()
    if not settings.database:
        raise ConfigError(
            "WARPDECK_DATABASE names no database.", hint="SQLite's tables are made where a library is opened."
        )
    from profiledb.library import migrations

    migrations.move(settings.database, down or migrations.LATEST)
    terminal.say("The tables are in place." if down is None else f"The tables are those of {down}.")
