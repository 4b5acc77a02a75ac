"""The threads that answer programs: questions in SQL, which take long, keep nobody else waiting."""

from app.web.fair_pool import FairPool
from profiledb.access.operations.registry import SQL
from profiledb.console.question_process import AT_ONCE

_OPERATIONS = FairPool(at_once=4, each=3, waiting=61, again_s=1)
_QUESTIONS = FairPool(at_once=AT_ONCE, each=1, waiting=2, again_s=5)


def get_pool(operation: str) -> FairPool:
    """The threads that an operation runs in, over HTTP and for assistants."""
    return _QUESTIONS if operation == SQL else _OPERATIONS
