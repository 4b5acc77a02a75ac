"""``python -m profiledb``: the library from the command line."""

import sys

from profiledb.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
