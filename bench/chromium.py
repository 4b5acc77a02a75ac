"""Find the Chromium that browser tests, measurements and screenshots drive."""

import os
from pathlib import Path

VARIABLE = "WARPDECK_CHROMIUM"
_DEFAULT = "/usr/bin/chromium"


def find_chromium() -> Path | None:
    """Return the Chromium that WARPDECK_CHROMIUM names, else Debian's; None if there is none, or it is switched off."""
    named = os.environ.get(VARIABLE, "").strip() or _DEFAULT
    if named.lower() in ("off", "none"):
        return None
    return Path(named) if os.access(named, os.X_OK) else None
