"""``python -m profiledb``: the library from the command line."""

import sys

from profiledb.access.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
