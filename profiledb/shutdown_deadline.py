"""End a server or a worker a few seconds after it is told to stop, whatever still runs.

uvicorn waits without end for each request at hand: an upload that stalls, a question that runs for minutes. Streamlit
does not pass ``timeout_graceful_shutdown`` on. A worker may hang on a disk or on a process that does not die.
"""

import faulthandler
import signal
import threading
from types import FrameType

SHUTDOWN_S = 8
"""Seconds from the signal to the end. ``docker stop`` kills a container after 10, and leaves no stacks."""


def set_shutdown_deadline() -> None:
    """Start a clock at SIGTERM or SIGINT: at its end the stacks of all threads go to the log, and the process ends.

    Call it once the process has set its own handlers, a server in its lifespan; these run, too.
    """
    if threading.current_thread() is not threading.main_thread():
        return  # a server inside a test: signals are not its own
    for number in (signal.SIGTERM, signal.SIGINT):
        _add_deadline(number)


def _add_deadline(number: signal.Signals) -> None:
    handler = signal.getsignal(number)
    if not callable(handler):
        return  # the signal ends the process at once, or is ignored

    def stop(received: int, frame: FrameType | None) -> None:
        faulthandler.dump_traceback_later(SHUTDOWN_S, exit=True)
        handler(received, frame)

    signal.signal(number, stop)
