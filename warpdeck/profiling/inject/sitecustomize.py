"""Runs first in each Python below ``warpdeck profile``: opens and closes the window of steps, or traces PyTorch.

Standard library alone, any Python from 3.8 on; it never fails or stops the program. WARPDECK_CAPTURE is a JSON object:
``tool`` (nsys, ncu, torch), ``steps`` (first, end), ``after_s``, ``seconds``, ``output`` (no ending), ``told``
(file that gets a line when a window opens or closes), and ``options`` of torch.profiler.profile.
"""

import importlib.util
import json
import os
import re
import sys

_STEP = re.compile(r"(?:step|iteration|iter|batch|train_step|ProfilerStep)[ _#:/-]*(\d+)$", re.IGNORECASE)
_LAUNCHERS = ("torchrun", "accelerate", "deepspeed")
_LAUNCHER_MODULES = ("torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch")


def _run_hidden_module():
    """Run the sitecustomize that this one hides."""
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in sys.path:
        path = os.path.join(folder or ".", "sitecustomize.py")
        if os.path.abspath(folder or ".") != here and os.path.isfile(path):
            spec = importlib.util.spec_from_file_location("_warpdeck_hidden_sitecustomize", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return


class Window:
    """The part of the run that is recorded. Opens and closes at most once."""

    def __init__(self, asked):
        self.tool = asked.get("tool")
        self.first, self.end = asked.get("steps") or (None, None)
        self.after_s, self.seconds = asked.get("after_s") or 0, asked.get("seconds") or 0
        self.output = asked.get("output")
        self.window_log = asked.get("told")
        self.options = asked.get("options") or {}
        self.state = "before"
        self.named = False
        self.seen = 0
        self.optimizer = None
        self.profiler = None
        self.range = None
        self.pid = os.getpid()

    def tell(self, text):
        try:
            with open(self.window_log, "a") as file:
                file.write(text + "\n")
        except (OSError, TypeError):
            pass

    def open(self):
        if self.state != "before" or os.getpid() != self.pid:
            return
        self.state = "open"
        self.tell("open %d" % os.getpid())
        if self.tool == "torch":
            self._start_trace()
        else:
            _call_profiler("Start")

    def close(self):
        if self.state != "open" or os.getpid() != self.pid:
            return
        self.state = "closed"
        if self.tool == "torch":
            self._end_trace()
        else:
            _call_profiler("Stop")
        self.tell("closed %d" % os.getpid())
        if self.tool == "ncu":  # the second pass of the program has nothing else to give
            sys.exit(0)

    def _start_trace(self):
        import atexit

        import torch

        activities = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        atexit.register(self.close)
        self.profiler = torch.profiler.profile(activities=activities, **dict({"record_shapes": True}, **self.options))
        self.profiler.start()

    def _end_trace(self):
        self._end_range()
        self.profiler.stop()
        self.profiler.export_chrome_trace(self.output + ".pt.trace.json.gz")

    def step_begins(self, number, is_traced=False):
        """A range of a step opens, with the program's own number; ``is_traced`` if PyTorch's trace shows it."""
        self.named = True
        self._reach_step(number)
        if self.tool == "torch" and self.state == "open" and not is_traced:
            self._begin_range(number)

    def _begin_range(self, number):
        """Show a step in the trace of PyTorch, which has no NVTX ranges, until the next one begins."""
        import torch

        self._end_range()
        self.range = torch.autograd.profiler.record_function("step_%d" % number)
        self.range.__enter__()

    def _end_range(self):
        if self.range is not None:
            self.range.__exit__(None, None, None)
            self.range = None

    def step_ended(self, optimizer):
        """An optimizer has stepped; that of the first one counts."""
        if self.named:
            return
        if self.optimizer is None:
            self.optimizer = id(optimizer)
        if self.optimizer == id(optimizer):
            self.seen += 1
            self._reach_step(self.seen)

    def _reach_step(self, number):
        if self.state == "before" and self.first <= number < self.end:
            self.open()
        elif self.state == "open" and number >= self.end:
            self.close()


def _call_profiler(what):
    """Call cudaProfilerStart or cudaProfilerStop after all work so far."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()
        getattr(torch.cuda.cudart(), "cudaProfiler" + what)()
        return
    import ctypes

    ctypes.CDLL("libcuda.so.1").__getattr__("cuProfiler" + what)()


def _run_safely(action, *arguments):
    try:
        action(*arguments)
    except Exception as error:
        sys.stderr.write("warpdeck profile: %s: %s\n" % (type(error).__name__, error))


def _watch_optimizers(window):
    from torch.optim.optimizer import register_optimizer_step_post_hook

    register_optimizer_step_post_hook(lambda optimizer, *_: _run_safely(window.step_ended, optimizer))


def _watch_ranges(window, owner, name):
    """Let the window see the names of ranges that a function opens."""
    original = getattr(owner, name, None)
    if original is None:
        return

    def watched(*arguments, **named):
        text = arguments[0] if arguments else named.get("msg", named.get("message", named.get("name")))
        match = _STEP.search(text) if isinstance(text, str) else None
        if match:
            _run_safely(window.step_begins, int(match.group(1)))
        return original(*arguments, **named)

    setattr(owner, name, watched)


def _watch_record_functions(window, torch):
    """Watch record_function, too, which is a class and also used as a decorator."""
    owner = torch.autograd.profiler.record_function
    original = owner.__enter__

    def entered(self):
        match = _STEP.search(self.name) if isinstance(self.name, str) and self is not window.range else None
        if match:
            _run_safely(window.step_begins, int(match.group(1)), True)
        return original(self)

    owner.__enter__ = entered


def _start_by_time(window):
    """Open and close on the main thread, by an alarm."""
    import signal

    def alarm(number, frame):
        if window.state == "before":
            _run_safely(window.open)
            if window.seconds:
                signal.setitimer(signal.ITIMER_REAL, window.seconds)
        else:
            _run_safely(window.close)

    if window.after_s or window.seconds:
        signal.signal(signal.SIGALRM, alarm)
        signal.setitimer(signal.ITIMER_REAL, window.after_s or 0.001)
    else:
        _run_safely(window.open)


def _watch_torch(window, torch):
    if window.first is None:
        if window.tool == "torch":
            _start_by_time(window)
        return
    _run_safely(_watch_optimizers, window)
    _run_safely(_watch_record_functions, window, torch)
    _run_safely(_watch_ranges, window, torch.cuda.nvtx, "range_push")


def _watch_nvtx(window, nvtx):
    if window.first is not None:
        for name in ("push_range", "start_range"):
            _run_safely(_watch_ranges, window, nvtx, name)
        original = nvtx.annotate.__enter__

        def entered(self):
            text = getattr(getattr(self, "attributes", None), "message", None) or getattr(self, "message", None)
            text = text or (getattr(self, "init_args", None) or (None,))[0]  # nvtx 0.2.17
            match = _STEP.search(str(text)) if text else None
            if match:
                _run_safely(window.step_begins, int(match.group(1)))
            return original(self)

        _run_safely(setattr, nvtx.annotate, "__enter__", entered)


class _Finder:
    """Calls a function once a module of ours has been imported."""

    def __init__(self, window):
        self.waiting = {"torch": _watch_torch, "nvtx": _watch_nvtx}
        self.window = window

    def find_spec(self, name, path=None, target=None):  # noqa: ARG002 - as importlib calls it
        if name not in self.waiting or _is_launcher():
            return None
        action = self.waiting.pop(name)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        original, window = spec.loader.exec_module, self.window

        def executed(module):
            original(module)
            if name == "torch":
                os.environ.pop("WARPDECK_CAPTURE", None)  # its children are no programs of their own
            _run_safely(action, window, module)

        spec.loader.exec_module = executed
        return spec


def _is_launcher():
    """Tell whether this process starts the ranks and is none."""
    words = list(getattr(sys, "orig_argv", None) or sys.argv or [""])[:8]
    return any(os.path.basename(word) in _LAUNCHERS or word in _LAUNCHER_MODULES for word in words)


def _start_window():
    asked = os.environ.get("WARPDECK_CAPTURE")
    if asked:
        sys.meta_path.insert(0, _Finder(Window(json.loads(asked))))


_run_safely(_start_window)
_run_safely(_run_hidden_module)
