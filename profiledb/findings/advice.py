"""Lines of advice, and the choice of those that fit a cause and a program.

A line may start with conditions in brackets, all of which must hold. A condition is a cause that the rule reports, a
trait of the program (program.TRAITS), ``not`` followed by one of these, ``A or B``, or ``else``, which holds if no
earlier line was chosen, back to the last line without ``else``. ``-> NAME`` inserts the lines of that name from
rules/findings/advice.toml, which several rules share; conditions before it apply to each of them.
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib import resources

from profiledb.findings.program import TRAITS

_ELSE, _NOT, _OR = "else", "not ", " or "
_MARKED = re.compile(r"^\[(?P<marks>[^\]]+)\] (?P<text>.+)$")
_SHARED = re.compile(r"^-> (?P<name>\w+)$")
_HIP = {
    "cudaMallocHost": "hipHostMalloc", "cudaHostAlloc": "hipHostMalloc", "CUDA": "HIP", "NCCL": "RCCL",
    "cuBLASLt": "hipBLASLt", "cuBLAS": "hipBLAS", "cuDNN": "MIOpen", "CUTLASS": "Composable Kernel",
    "CUBLAS_COMPUTE_32F": "HIPBLAS_COMPUTE_32F", "CUDA_R_16BF": "HIP_R_16BF", "CUDA_R_16F": "HIP_R_16F",
    "nvtxRangePush": "roctxRangePush", "nvtxRangePop": "roctxRangePop",
}  # fmt: skip
"""AMD's names for these functions and libraries. Other CUDA functions only change their prefix."""
_CUDA = re.compile(rf"\bcuda[A-Z]\w*|\b(?:{'|'.join(sorted(_HIP, key=len, reverse=True))})\b")
_SYCL = {"CUDA": "SYCL", "NCCL": "oneCCL", "cuBLASLt": "oneMKL", "cuBLAS": "oneMKL", "cuDNN": "oneDNN"}
"""Intel's names. A line that names anything else of CUDA says nothing to a program on Intel's GPUs."""
_NVIDIA_TOOL = re.compile(r"\b(nsys|ncu)\b|nvidia-smi|Nsight|--trace=|cudnn_|\bnvtx\b")


@cache
def read_shared() -> Mapping[str, tuple[str, ...]]:
    """Return the shared lines by name."""
    file = resources.files("profiledb").joinpath("rules", "findings", "advice.toml")
    return {name: tuple(lines) for name, lines in tomllib.loads(file.read_text(encoding="utf-8")).items()}


def expand_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """Replace references to shared lines with the lines themselves.

    Raises:
        KeyError: no shared lines have that name.
    """
    expanded: list[str] = []
    for line in lines:
        marks, text = _split_line(line)
        reference = _SHARED.match(text)
        if reference is None:
            expanded.append(line)
            continue
        for further, of_shared in map(_split_line, read_shared()[reference["name"]]):
            every = ", ".join((*marks, *further))
            expanded.append(f"[{every}] {of_shared}" if every else of_shared)
    return tuple(expanded)


def strip_conditions(line: str) -> str:
    """Return a line without its conditions."""
    return _split_line(line)[1]


def list_conditions(lines: Iterable[str]) -> frozenset[str]:
    """Return all causes and traits that the conditions of these lines name."""
    marks = (mark for line in lines for mark in _split_line(line)[0] if mark != _ELSE)
    return frozenset(one.removeprefix(_NOT) for mark in marks for one in mark.split(_OR))


def list_causes(lines: Iterable[str]) -> frozenset[str]:
    """Return the causes that the lines give advice for, that is, all conditions that are not traits."""
    return list_conditions(lines) - set(TRAITS)


def choose(lines: Iterable[str], cause: str | None, traits: Collection[str]) -> tuple[str, ...]:
    """Return the text of the lines whose conditions hold, in the terms of the program's platform."""
    holds = {*traits, cause}
    chosen, given = [], False
    for marks, text in map(_split_line, lines):
        given = given and _ELSE in marks
        fits = not given and all(_holds_mark(mark, holds) for mark in marks)
        if fits and (ours := _in_terms_of(text, traits)) is not None:
            chosen.append(ours)
            given = True
    return tuple(chosen)


def translate(text: str, traits: Collection[str]) -> str:
    """Return a text of ours with the names that the program's platform has for those of CUDA."""
    if "HIP" in traits:
        return _CUDA.sub(_translate_to_hip, text)
    if "SYCL" in traits:
        return _CUDA.sub(lambda match: _SYCL.get(match[0], match[0]), text)
    return text


def _in_terms_of(text: str, traits: Collection[str]) -> str | None:
    """Return a text with the names of the program's platform; None if it is about tools or functions of another."""
    if ("HIP" in traits or "SYCL" in traits) and _NVIDIA_TOOL.search(text):
        return None
    if "SYCL" in traits and any(match[0] not in _SYCL for match in _CUDA.finditer(text)):
        return None
    return translate(text, traits)


def _split_line(line: str) -> tuple[tuple[str, ...], str]:
    match = _MARKED.match(line)
    return (tuple(match["marks"].split(", ")), match["text"]) if match else ((), line)


def _holds_mark(mark: str, holds: Collection[str | None]) -> bool:
    return mark == _ELSE or any(
        one.removeprefix(_NOT) not in holds if one.startswith(_NOT) else one in holds for one in mark.split(_OR)
    )


def _translate_to_hip(match: re.Match[str]) -> str:
    return _HIP.get(match[0]) or f"hip{match[0].removeprefix('cuda')}"
