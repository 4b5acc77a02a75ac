"""The program behind a report: its framework, how it runs, and the features it uses, so that advice fits it.

The analysis ``program`` recognizes these traits by names in the report and returns the evidence for each. Rules select
advice by them (rule.py), so that no advice recommends a feature that is already in use.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from profiledb.library.library import Library
from profiledb.query import answer_store

KINDS = {
    "framework": (
        "PyTorch", "Hugging Face", "Trainer", "Lightning", "DeepSpeed", "vLLM", "SGLang", "JAX", "XLA", "TensorFlow",
        "CuPy", "Numba", "TensorRT", "CUDA C++", "Fortran", "OpenACC", "OpenMP", "OpenMP offload", "MPI", "HIP", "SYCL",
    ),
    "way": ("eager", "torch.compile", "CUDA graphs"),
    "work": ("training", "inference", "prefill", "decode"),
    "sharing": ("DDP", "FSDP", "tensor parallel", "pipeline parallel"),
    "use": (
        "16-bit products", "8-bit products", "TF32 products", "channels last", "checkpointing", "expandable segments",
        "foreach optimizer", "fused attention", "fused GELU", "fused optimizer", "loader workers", "own all-reduce",
        "pinned memory", "TorchRec pipeline",
    ),
    "machine": ("asynchronous copies", "TMA", "old CUDA"),
}  # fmt: skip
"""Traits that the analysis recognizes, in display order. The traits under "use" are features that advice could
recommend, those under "machine" decide what it can recommend: copies of Ampere and Hopper from global to shared memory,
and a CUDA before 11.2, which has no memory pools."""
TRAITS = tuple(trait for traits in KINDS.values() for trait in traits)
_WORDS = {"Trainer": "its Trainer", "CUDA graphs": "CUDA graphs", "HIP": "HIP (ROCm)", "SYCL": "SYCL (Intel GPU)"}
_INSIDE = {"XLA": ("JAX",), "OpenMP": ("OpenMP offload",)}
"""Traits that add nothing if one of the listed traits is present."""


@dataclass(frozen=True)
class Trait:
    """A property of a program, or a feature that it uses.

    ``evidence`` is the kind and name of the event that shows it. ``ranks`` is the number of ranks that share the work
    over several GPUs, if the report shows it.
    """

    trait: str
    evidence: str
    ranks: int | None = None


Program = tuple[Trait, ...]
"""The traits of a program, in the order of TRAITS."""


def recognize(library: Library, report_id: str) -> Program:
    """Recognize the program of a report.

    Raises:
        ReportNotFoundError: the report was deleted.
    """
    rows = answer_store.run(library, report_id, "program")
    columns = (rows["trait"], rows["evidence"], rows["ranks"].fillna(0))
    traits = [
        Trait(str(trait), str(evidence), int(ranks) or None) for trait, evidence, ranks in zip(*columns, strict=True)
    ]
    return tuple(sorted(traits, key=lambda one: TRAITS.index(one.trait)))


def list_names(program: Iterable[Trait]) -> frozenset[str]:
    return frozenset(one.trait for one in program)


def list_records(program: Iterable[Trait]) -> list[dict[str, Any]]:
    """Return the traits as plain data."""
    return [asdict(one) for one in program]


def describe_program(program: Program) -> str:
    """Describe a program in one line, such as "PyTorch, eager, training, DDP over 4 GPUs"; empty without traits."""
    held = list_names(program)
    shown = [one for one in program if one.trait not in (*KINDS["use"], *KINDS["machine"])]
    return ", ".join(_name_trait(one) for one in shown if held.isdisjoint(_INSIDE.get(one.trait, ())))


def _name_trait(one: Trait) -> str:
    return f"{_WORDS.get(one.trait, one.trait)}{f' over {one.ranks} GPUs' if one.ranks else ''}"
