"""``python -m warpdeck`` is the same as ``warpdeck``."""

import sys

from warpdeck.main import main

if __name__ == "__main__":
    sys.exit(main())
