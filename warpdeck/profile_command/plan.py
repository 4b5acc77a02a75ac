"""Choose the profiler and its records, and print the choice."""

import argparse
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from ingest import tools
from profiledb.errors import ConfigError, ConversionError, WarpdeckError
from warpdeck.profiling import launchers, nsys, nvml, python_program, ranks
from warpdeck.profiling.launchers import Launched
from warpdeck.profiling.ranks import Rank
from warpdeck.profiling.recording import Plan

TORCH_OPTIONS = ("with_stack", "with_modules", "with_flops", "profile_memory")
"""Optional records of the PyTorch profiler, by torch.profiler's names."""
_NSYS_COST = " On an H100 a training of short kernels took at most 1.4 times as long."
_TORCH_COST = " On an H100 steps of short kernels took 2.1 times as long, steps of long ones no longer."
_PERF_EVENTS = re.compile(r"CPU Profiling Environment \(process-tree\): OK")
_NO_NSYS = "Install Nsight Systems, or name nsys in WARPDECK_NSYS."


@dataclass(frozen=True)
class Chosen:
    """The plan of a recording.

    Args:
        plan: how; its folder is empty until the recording begins.
        launched: launcher and program.
        program: the whole command line.
        name: name of the files.
        rank: rank that an outer launcher gave this process.
        sentences: what is recorded, and what is missing.
    """

    plan: Plan
    launched: Launched
    program: list[str]
    name: str
    rank: Rank | None
    sentences: list[str] = field(default_factory=list)


def choose(arguments: argparse.Namespace, program: list[str]) -> Chosen:
    """Choose the profiler and the records.

    Raises:
        WarpdeckError: nothing here can record this program as asked.
    """
    launched = require_programs(program)
    python = python_program.find_python(launched.program)
    tool, why = _choose_tool(arguments.tool, python)
    _check_window(arguments, tool, python)
    rank = None if launched.launcher else ranks.read_rank()
    name = arguments.name or _make_name(launched.program)
    window = {"steps": arguments.steps, "after_s": arguments.after, "seconds": arguments.seconds}
    if tool is None:
        options, words = _build_torch_options(arguments)
        plan = Plan("torch", "", options=options, verbose=arguments.verbose, **window)
        label, cost, lacking = "the PyTorch profiler", _TORCH_COST, list[str]()
    else:
        further = [*arguments.further, *(["mpi"] if launched.is_mpi else [])]
        records, lacking = nsys.choose_records(further, arguments.without, cpu=_may_sample(tool), gpu=nvml.has_gpu())
        help_text = tools.run([tool.path, "profile", "--help"], timeout=tools.ANSWER_S).stdout
        plan = Plan(
            "nsys", "", str(tool.path), nsys.make_options(records, help_text), arguments.arg,
            verbose=arguments.verbose, **window,
        )  # fmt: skip
        label, cost, words = tool.label, _NSYS_COST, [one.tells for one in records]
    first = (
        f"Recording with {label}{_describe_window(arguments)}: {', '.join(words)}.{cost if nvml.has_gpu() else ''}{why}"
    )
    return Chosen(plan, launched, program, name, rank, [first, *lacking])


def require_programs(program: list[str]) -> Launched:
    """Return launcher and program of a command line.

    Raises:
        ConfigError: one of them is no program.
    """
    launched = launchers.split_launcher(program)
    for name in (program[0], launched.program[0]):
        if shutil.which(name) is None:
            raise ConfigError(f"There is no program {name!r}.", hint="Is it on PATH, and may it be executed?")
    return launched


def _choose_tool(asked: str, python: str | None) -> tuple[tools.Tool | None, str]:
    """Return nsys, or None for the PyTorch profiler, and a sentence why."""
    tool = None if asked == "torch" else tools.find_nsys()
    if asked == "nsys" and tool is None:
        raise tools.explain_absence("nsys", ConversionError("There is no nsys here.", hint=_NO_NSYS))
    if asked == "nsys" or (tool and nvml.has_gpu()):
        return tool, ""
    if python and python_program.has_torch(python):
        if asked == "torch":
            return None, ""
        if tool is None:
            return None, " There is no nsys here."
        return None, " There is no GPU here; --tool nsys records CPU, NVTX and OS calls."
    if asked == "torch":
        raise ConfigError(
            "The PyTorch profiler needs a Python program whose Python has torch.", hint="Choose --tool nsys."
        )
    if tool is None:
        absent = ConversionError("There is no nsys here, and the program does not use PyTorch.", hint=_NO_NSYS)
        raise tools.explain_absence("nsys", absent)
    return tool, " There is no GPU here."


def _check_window(arguments: argparse.Namespace, tool: tools.Tool | None, python: str | None) -> None:
    if not arguments.steps:
        return
    if arguments.after or arguments.seconds:
        raise ConfigError("--steps goes with neither --after nor --seconds.")
    if python is None:
        raise ConfigError("--steps needs a Python program.", hint="Use --after and --seconds.")
    if tool is not None and not nvml.has_gpu():
        raise ConfigError("--steps under nsys needs a GPU.", hint="Use --tool torch, or --after and --seconds.")


def _describe_window(arguments: argparse.Namespace) -> str:
    if arguments.steps:
        first, end = arguments.steps
        return f", steps {first} to {end - 1}"
    parts = [
        *([f"{arguments.seconds:g} s"] if arguments.seconds else []),
        *([f"after {arguments.after:g} s"] if arguments.after else []),
    ]
    return f", {' '.join(parts)}" if parts else ""


def _build_torch_options(arguments: argparse.Namespace) -> tuple[dict[str, bool], list[str]]:
    """Return the options of torch.profiler.profile, and its records in words."""
    options = {}
    for argument in arguments.arg:
        name = argument.removeprefix("--")
        if name not in TORCH_OPTIONS:
            raise ConfigError(
                f"The PyTorch profiler has no option {argument}.", hint=f"Choose from --{', --'.join(TORCH_OPTIONS)}."
            )
        options[name] = True
    words = ["operators with shapes", *(["CUDA kernels"] if nvml.has_gpu() else [])]
    return options, [*words, *(name.replace("_", " ") for name in options)]


def _may_sample(tool: tools.Tool) -> bool:
    """Return True if nsys may use perf events here."""
    try:
        done = tools.run([tool.path, "status", "--environment"], timeout=tools.ANSWER_S)
    except (WarpdeckError, OSError):
        return False
    return bool(_PERF_EVENTS.search(done.stdout))


def _make_name(program: list[str]) -> str:
    """Return the name of the first Python file, else of the module, else of the program, fit for a file name."""
    script = next((Path(word).stem for word in program if word.endswith(".py")), None)
    module = program[2].rsplit(".", 1)[-1] if program[1:2] == ["-m"] and len(program) > 2 else None
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", script or module or Path(program[0]).stem)[:80].lstrip(".-")
    return name or "program"


def make_folder(beside: Path) -> Path:
    """Return a new folder for the profiler's files, on the disk of the recorded files if nsys can write there."""
    if re.search(r"[\s%]", str(beside.absolute())):
        return Path(tempfile.mkdtemp(prefix="warpdeck-profile-"))
    return Path(tempfile.mkdtemp(prefix=".warpdeck-profile-", dir=beside))
