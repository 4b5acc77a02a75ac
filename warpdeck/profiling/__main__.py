"""``python PATH_OF_THIS_FOLDER PLAN PROGRAM ...``: record a rank below a launcher, from any folder and environment."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    from warpdeck.profiling.recording import run_rank

    sys.exit(run_rank(sys.argv[1:]))
