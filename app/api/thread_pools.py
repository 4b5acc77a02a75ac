"""The threads that answer programs: questions in SQL, which take long, keep nobody else waiting."""

from app.web.fair_pool import Pool
from profiledb.access.operations.registry import SQL
from profiledb.console.question_process import AT_ONCE

_OPERATIONS = Pool(at_once=4, each=3, waiting=61, again_s=1)
_QUESTIONS = Pool(at_once=AT_ONCE, each=1, waiting=2, again_s=5)


def of(operation: str) -> Pool:
    """The threads that an operation runs in, over HTTP and for assistants."""
    return _QUESTIONS if operation == SQL else _OPERATIONS
