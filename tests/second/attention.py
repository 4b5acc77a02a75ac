"""Attention by its parts: scores, softmax and output from ranges, fused from kernels; FLOPs and bytes by textbook."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.second.names import kernel_class
from tests.second.nesting import Held, nest, ran
from tests.second.raw import Capture, Operation

NAMES = {"computing_attention_scores": "scores", "computing_softmax": "softmax", "final_matmul": "output"}
BACKWARD = re.compile("bwd|backward|bprop", re.IGNORECASE)
HELPS = re.compile("combine|convert|dot_do_o|reduce|preprocess", re.IGNORECASE)
PEAK = {"bf16": 989.5e12}
"""Dense FLOP/s of an H200 by its data sheet, on which all samples were captured."""
VECTOR_PEAK = 132 * 128 * 2 * 1.98e9
"""FP32 FLOP/s of its CUDA cores: SMs, lanes, two FLOPs an FMA, highest clock. A softmax uses no tensor core."""
BYTES = {"bf16": 2}


@dataclass
class Size:
    """Sequences, heads, tokens of a sequence, numbers of a head; None where nobody tells."""

    batch: int | None = None
    heads: int | None = None
    tokens: int | None = None
    head_size: int | None = None
    precision: str | None = None
    causal: bool = False


def size(facts: Path) -> Size:
    """The program's facts about its attention. ``shapes.tokens`` has a token more than the model reads: the target."""
    if not facts.exists():
        return Size()
    told = json.loads(facts.read_text())
    shapes = told.get("shapes", {})
    if "context" in shapes:
        width, heads = shapes["d_model"], shapes["heads"]
        return Size(shapes["tokens"][0], heads, shapes["context"], width // heads, told["precision"])
    return Size(**{name: told[name] for name in Size.__dataclass_fields__ if name in told})


@dataclass
class Part:
    """The work of all ranges, or fused kernels, of a part."""

    calls: int = 0
    cpu_ns: int | None = None
    kernels: list[Operation] = field(default_factory=list)

    @property
    def ns(self) -> int:
        return sum(one.ns for one in self.kernels)

    def row(self) -> dict[str, Any]:
        products = [one.ns for one in self.kernels if kernel_class(one.name) == "matmul"]
        return {
            "calls": self.calls,
            "kernels": len(self.kernels),
            "cpu_ns": self.cpu_ns,
            "kernel_ns": self.ns,
            "matmul_ns": sum(products) if products else None,
        }


Key = tuple[str, int | None, str]
"""Variant (the name of the range around), tokens that the names of ranges tell, part."""


def parts(capture: Capture) -> dict[Key, Part]:
    """The parts by variant and by the length that names tell."""
    nesting, held = nest(capture), ran(capture, "thread")
    found: dict[Key, Part] = defaultdict(Part)
    for one in capture.ranges:
        if one.text in NAMES and not any(r.text in NAMES for r in nesting.outer[one]):
            part = found[nesting.outer[one][-1].name, _tokens(nesting.chain(one)), NAMES[one.text]]
            part.calls += 1
            part.cpu_ns = (part.cpu_ns or 0) + one.end - one.start
            part.kernels += [o for o in held[one].operations if o.kind == "kernel"] if one in held else []
    hosts: dict[Key, set[Any]] = defaultdict(set)
    for operation, around in _fused(capture):
        kind = "fused backward" if BACKWARD.search(operation.name) else "fused"
        key = around[-1].name, _tokens(around), kind
        found[key].kernels.append(operation)
        found[key].calls += not HELPS.search(operation.short)
        hosts[key].add(around[-1])
    for key, ranges in hosts.items():
        found[key].cpu_ns = sum(one.end - one.start for one in ranges)
    return dict(found)


def _fused(capture: Capture) -> Iterator[tuple[Operation, Held]]:
    nesting = nest(capture)
    for one in capture.kernels:
        around = nesting.of(one, "thread")
        if kernel_class(one.name) == "attention" and around and not any(r.text in NAMES for r in around):
            yield one, around


def _tokens(chain: Held) -> int | None:
    told = [re.search(r"tokens_(\d+)", one.name) for one in reversed(chain)]
    return next((int(match[1]) for match in told if match), None)


def rows(capture: Capture) -> dict[Key, dict[str, Any]]:
    """The time of each part, which the size does not change."""
    found = parts(capture)
    whole: dict[tuple[str, int | None], int] = defaultdict(int)
    for (variant, tokens, _), part in found.items():
        whole[variant, tokens] += part.ns
    products = {
        lane: sum(found[*lane, name].ns for name in ("scores", "output") if (*lane, name) in found) for lane in whole
    }
    return {
        key: part.row()
        | {
            "share_pct": 100 * part.ns / whole[key[:2]],
            "time_to_matmuls": part.ns / products[key[:2]] if key[2] == "softmax" else None,
        }
        for key, part in found.items()
    }


def work(capture: Capture, told: Size) -> dict[Key, dict[str, Any]]:
    """FLOPs and least bytes of each part, and its share of the peak."""
    found: dict[Key, dict[str, Any]] = {}
    for key, part in parts(capture).items():
        length, rows_ = key[1] or told.tokens or 0, (told.batch or 0) * (told.heads or 0)
        d = told.head_size or 0
        flops = {
            "scores": 2 * d * length**2,
            "softmax": 5 * length**2,
            "output": 2 * d * length**2,
            "fused": 4 * d * length**2 + 5 * length**2,
        }
        numbers = {
            "scores": 2 * length * d + length**2,
            "softmax": 2 * length**2,
            "output": 2 * length * d + length**2,
            "fused": 4 * length * d,
        }
        peak = VECTOR_PEAK if key[2] == "softmax" else PEAK[told.precision or "bf16"]
        done, moved = (part.calls * rows_ * table[key[2]] for table in (flops, numbers))
        useful = done / 2 if told.causal else float(done)  # no token looks at a later one
        found[key] = {
            "batch": told.batch,
            "heads": told.heads,
            "tokens": length,
            "head_size": told.head_size,
            "causal": told.causal,
            "flops": float(done),
            "useful_flops": useful,
            "bytes": moved * BYTES[told.precision or "bf16"],
            "flops_per_s": 1e9 * useful / part.ns,
            "pct_of_peak": 1e11 * useful / part.ns / peak,
        }
    return found
