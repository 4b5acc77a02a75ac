"""``warpdeck sql REPORT "SELECT ..."``: run a SELECT on a report."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.access.cli.params import DEFAULT, OUTPUT, REPORT

if TYPE_CHECKING:
    from profiledb.library.library import Library


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(
        commands, "sql", "ask a report a question in SQL", "my.nsys-rep 'SELECT count(*) FROM kernel'",
        parents=[common],
        description="Runs one SELECT on the tables of a report, read only, in a process of its own with limits on"
        " time, memory and rows. SHOW TABLES lists the tables, DESCRIBE kernel the columns of one.",
    )  # fmt: skip
    command.add_argument("report", metavar="REPORT", help=REPORT)
    command.add_argument("sql", metavar="SQL", help="one SELECT; - reads it from standard input")
    command.add_argument("--format", choices=("csv", "json", "parquet"), default="csv", help=DEFAULT)
    command.add_argument("-o", "--output", type=Path, metavar="FILE", help=OUTPUT)
    command.set_defaults(command=run)


def run(library: "Library", arguments: argparse.Namespace) -> None:
    """Print the rows or write them to a file; report on standard error if the limit cut them."""
    from profiledb import config
    from profiledb.console import answer_file, question_limits
    from profiledb.console.question_process import ask

    report = library.find(arguments.report)
    limits = question_limits.read_file_limits(config.load())
    sql = sys.stdin.read(question_limits.LONGEST + 1) if arguments.sql == "-" else arguments.sql
    answer = ask(library, report.id, sql, limits)
    content = answer_file.encode_rows(answer.rows, arguments.format)
    terminal.write(content, arguments.output)
    if answer.cut:
        terminal.say(f"There are more rows: only {answer.rows.num_rows:,} were read.", sys.stderr)
