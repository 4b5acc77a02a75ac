"""Keep a GPU busy beside another program: `python -m workloads.competitor [GPU]`.

The program obeys the words GO and STOP, one per line, and ends with its input, and so with its parent. Between STOP and
GO it holds memory on the GPU and uses no time. `Competitor` starts it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from types import TracebackType

from . import PARENT
from .errors import WorkloadError

READY, GO, STOP = "ready", "go", "stop"
WIDTH = 8192
BATCH = 8
"""Products between two synchronizations, each of some milliseconds."""
LONGEST_S = 900.0


class Competitor:
    """Runs the program while it is entered; the program waits for ``say(GO)``."""

    def __init__(self, gpu: int = 0) -> None:
        self.gpu = gpu

    def __enter__(self) -> Competitor:
        """Start the program and wait until it is ready.

        Raises:
            WorkloadError: it sees no GPU.
        """
        path = os.pathsep.join(filter(None, (str(PARENT), os.environ.get("PYTHONPATH"))))
        command = [sys.executable, "-m", f"{__package__}.competitor", str(self.gpu)]
        environment = {**os.environ, "PYTHONPATH": path}
        self._other = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self._await_answer(READY)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._other.stdin
        assert self._other.stdout
        self._other.stdin.close()
        self._other.wait()
        self._other.stdout.close()

    def say(self, word: str) -> None:
        """Make the program start or stop, and wait until it has."""
        assert self._other.stdin
        self._other.stdin.write(f"{word}\n")
        self._other.stdin.flush()
        self._await_answer(word)

    def _await_answer(self, word: str) -> None:
        assert self._other.stdout
        if self._other.stdout.readline().strip() != word:
            raise WorkloadError("The competing program ended: it needs a GPU that PyTorch sees. Leave out --compete.")


def main(gpu: int) -> None:
    """Multiply matrices between GO and STOP, until the input ends."""
    import torch

    a, b = (torch.randn(WIDTH, WIDTH, device=f"cuda:{gpu}", dtype=torch.bfloat16) for _ in range(2))
    out = torch.mm(a, b)
    going, ended = threading.Event(), threading.Event()

    def multiply() -> None:
        while not ended.is_set():
            going.wait()
            for _ in range(BATCH):
                torch.mm(a, b, out=out)
            torch.cuda.synchronize(gpu)
            batch_done.set()

    batch_done = threading.Event()
    threading.Thread(target=multiply, daemon=True).start()
    watchdog = threading.Timer(LONGEST_S, lambda: os._exit(1))
    watchdog.daemon = True
    watchdog.start()
    print(READY, flush=True)
    for line in sys.stdin:
        word = line.strip()
        batch_done.clear()
        if word == GO:
            going.set()
        else:
            going.clear()
        batch_done.wait(1.0 if word == STOP else None)  # the running batch, or the first one
        print(word, flush=True)
    ended.set()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
