"""What is worked out from the rows of a report, whichever tool they came from.

A reader calls ``stage``, puts its rows into the tables ``staged_*`` (staging.py) and the other tables of the report,
and calls ``complete``. Nothing here knows what tool wrote the file.
"""

from ingest.derive.completion import complete
from ingest.derive.staging import stage

__all__ = ["complete", "stage"]
