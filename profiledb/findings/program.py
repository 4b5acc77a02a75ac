"""The program behind a report: its framework, how it runs, and what it uses already, so that advice fits it.

The analysis ``program`` recognizes it by names in the report, each with its evidence. Advice of rules goes by it
(rule.py): what is in use is not advised.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from profiledb.library.library import Library
from profiledb.query import answer_store

KINDS = {
    "framework": (
        "PyTorch", "Hugging Face", "Trainer", "Lightning", "DeepSpeed", "vLLM", "SGLang", "JAX", "XLA", "TensorFlow",
        "CuPy", "Numba", "TensorRT", "CUDA C++", "Fortran", "OpenACC", "OpenMP", "OpenMP offload", "MPI", "HIP",
    ),
    "way": ("eager", "torch.compile", "CUDA graphs"),
    "work": ("training", "inference", "prefill", "decode"),
    "sharing": ("DDP", "FSDP", "tensor parallel", "pipeline parallel"),
    "use": (
        "16-bit products", "8-bit products", "TF32 products", "channels last", "checkpointing", "expandable segments",
        "foreach optimizer", "fused attention", "fused optimizer", "loader workers", "own all-reduce",
        "pinned memory",
    ),
}  # fmt: skip
"""What the analysis recognizes, in the order in which people read it; "use" are things that advice could name."""
TRAITS = tuple(trait for traits in KINDS.values() for trait in traits)
_WORDS = {"Trainer": "its Trainer", "CUDA graphs": "CUDA graphs", "HIP": "HIP (ROCm)"}
_INSIDE = {"XLA": ("JAX",), "OpenMP": ("OpenMP offload",)}
"""Traits that say nothing beside one of these."""


@dataclass(frozen=True)
class Trait:
    """What a program is or uses; ``evidence`` is the kind and name of what tells it. ``ranks``: of work that several
    GPUs share, how many ranks do, where the report tells."""

    trait: str
    evidence: str
    ranks: int | None = None


Program = tuple[Trait, ...]
"""The traits of a program, in the order of TRAITS."""


def recognize(library: Library, report_id: str) -> Program:
    """Recognize the program of a report.

    Raises:
        ReportNotFoundError: the report is gone.
    """
    rows = answer_store.run(library, report_id, "program")
    columns = (rows["trait"], rows["evidence"], rows["ranks"].fillna(0))
    told = [
        Trait(str(trait), str(evidence), int(ranks) or None) for trait, evidence, ranks in zip(*columns, strict=True)
    ]
    return tuple(sorted(told, key=lambda one: TRAITS.index(one.trait)))


def names(program: Iterable[Trait]) -> frozenset[str]:
    """The names of its traits."""
    return frozenset(one.trait for one in program)


def records(program: Iterable[Trait]) -> list[dict[str, Any]]:
    """The traits as plain data."""
    return [asdict(one) for one in program]


def line(program: Program) -> str:
    """Say in one line what a program is: "PyTorch, eager, training, DDP over 4 GPUs". Empty where nothing tells."""
    held = names(program)
    shown = [one for one in program if one.trait not in KINDS["use"]]
    return ", ".join(_said(one) for one in shown if held.isdisjoint(_INSIDE.get(one.trait, ())))


def _said(one: Trait) -> str:
    return f"{_WORDS.get(one.trait, one.trait)}{f' over {one.ranks} GPUs' if one.ranks else ''}"
