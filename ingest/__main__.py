"""Run the worker by itself: ``python -m ingest`` is the same as ``warpdeck ingest``."""

import argparse
import sys
from contextlib import closing

from ingest import arguments
from profiledb import terminal


def main(argv: list[str] | None = None) -> int:
    """Run the worker and return its exit status (``command.run``)."""
    parser = terminal.Parser(prog="python -m ingest", description=arguments.ABOUT, epilog=arguments.EPILOG)
    arguments.add_arguments(parser)
    return execute(parser.parse_args(argv))


def execute(given: argparse.Namespace) -> int:
    """Run the worker with the parsed arguments of ``arguments.add_arguments``."""

    def action() -> int:
        from ingest.conversion import processes
        from ingest.conversion.fork_client import ForkClient

        processes.adopt()
        with closing(ForkClient()) as forks:
            if given.once:
                forks.fork_server()  # before this process opens anything
            else:
                forks.warm()  # the server imports its modules while this process imports its own
            from ingest import command  # imports the database, which --help does without

            return command.run(given, forks)

    return terminal.run_guarded(action)


if __name__ == "__main__":
    sys.exit(main())
