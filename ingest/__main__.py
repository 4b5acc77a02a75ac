"""``python -m ingest``: the worker by itself. ``warpdeck ingest`` is the same."""

import argparse
import sys
from contextlib import closing

from ingest import arguments
from profiledb import terminal


def main(argv: list[str] | None = None) -> int:
    """Runs the worker and returns its exit status, see ``command.run``."""
    parser = terminal.Parser(prog="python -m ingest", description=arguments.ABOUT, epilog=arguments.EPILOG)
    arguments.add(parser)
    return execute(parser.parse_args(argv))


def execute(given: argparse.Namespace) -> int:
    """Runs the worker with what ``arguments.add`` let be read."""

    def action() -> int:
        from ingest.conversion import processes
        from ingest.conversion.fork_client import Forks

        processes.adopt()
        with closing(Forks()) as forks:
            forks.warm()  # it imports what it needs while this process does
            from ingest import command  # with the database, which --help does without

            return command.run(given, forks)

    return terminal.guarded(action)


if __name__ == "__main__":
    sys.exit(main())
