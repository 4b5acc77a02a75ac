"""Thread pools of the API: SQL questions take long, so they have a pool of their own and delay nothing else."""

from app.web.fair_pool import FairPool
from profiledb.access.operations.registry import SQL
from profiledb.console.question_process import AT_ONCE

_OPERATIONS = FairPool(at_once=4, each=3, waiting=61, again_s=1)
_QUESTIONS = FairPool(at_once=AT_ONCE, each=1, waiting=2, again_s=5)


def get_pool(operation: str) -> FairPool:
    """Return the pool that an operation runs in, over HTTP and MCP."""
    return _QUESTIONS if operation == SQL else _OPERATIONS
