"""Arguments of the worker, in a module that a parser can import without the worker's own imports."""

import argparse

SUMMARY = "convert the reports of the inbox"
ABOUT = (
    "Watches the inbox and converts the reports that arrive. The dashboard starts such a worker by itself. This command"
    " runs one without a dashboard, or for one pass (--once)."
)
EXAMPLE = "--once --strict --inbox reports/"
EPILOG = (
    f"Example: %(prog)s {EXAMPLE}\n"
    "Exit status: 0; 1 after an error, or with --strict if a file failed; 2 for a wrong command line;\n"
    "3 if another worker holds the library."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--inbox", metavar="DIR", help="folder or bucket to watch (default: WARPDECK_INBOX)")
    parser.add_argument("--library", metavar="DIR", help="folder of the converted reports (default: WARPDECK_LIBRARY)")
    parser.add_argument(
        "--samples", metavar="DIR", help="folder of sample reports to take in, or 'off' (default: WARPDECK_SAMPLES)"
    )
    parser.add_argument("--once", action="store_true", help="convert the present files, then exit")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a file failed")
    parser.add_argument("--until-stdin-closes", action="store_true", help="stop when standard input closes")
