"""Decides at run time where a task runs: on the CPU, on a GPU, later, or nowhere.

with Scheduler("model.skops", log="run") as scheduler:          # writes run.tasks.csv
    decision = scheduler.schedule("matmul", 1024)               # decision.device: cpu, gpu, wait or none

@scheduler.scheduled("matmul", size=lambda a, b: len(a))        # gets the arguments of the function
def multiply(a, b, *, device):                                  # device: "cpu", "cuda:0"
    return a.to(device) @ b.to(device)
"""

from .decisions import Decision
from .scheduler import Scheduler, TooLargeError

__all__ = ["Decision", "Scheduler", "TooLargeError"]
