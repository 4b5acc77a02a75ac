"""Work of HLO operations, from the modules that a profile holds: sizes of operands and results, and FLOPs.

FLOPs are those of matrix products and convolutions, also within a fusion, as for operators of PyTorch; padding counts.
"""

import json
from collections.abc import Iterator
from math import prod
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from ingest.xplane.messages import get_hlo_class

RESULT_LAST = "sizes end with the results"
"""Marks an operation whose sizes are those of its operands and its results; operator_model.sql asks for it."""
_TYPES = {
    1: "bool", 2: "signed char", 3: "short", 4: "int", 5: "long", 6: "unsigned char", 7: "unsigned short",
    8: "unsigned int", 9: "unsigned long", 10: "c10::Half", 11: "float", 12: "double", 15: "c10::complex<float>",
    16: "c10::BFloat16", 18: "c10::complex<double>", 19: "c10::Float8_e5m2", 20: "c10::Float8_e4m3fn",
    24: "c10::Float8_e5m2fnuz", 25: "c10::Float8_e4m3fnuz",
}  # fmt: skip
"""XLA's types of elements under PyTorch's names."""
_TUPLE = 13
_WHOLE = frozenset({"fusion", "custom-call", "dot", "convolution", "copy", "transpose", "reduce"})
"""Operations that read their operands and write their results whole."""
_PARTLY = frozenset(
    {"gather", "scatter", "slice", "dynamic-slice", "dynamic-update-slice", "all-reduce", "all-gather", "while"}
)
"""Operations that a fusion may hold and that read or write a part of their operands, or more than that."""
_CONVOLUTIONS = {
    "__cudnn$convForward": ("first", "second"), "__cudnn$convBiasActivationForward": ("first", "second"),
    "__cudnn$convBackwardInput": ("result", "second"), "__cudnn$convBackwardFilter": ("first", "result"),
}  # fmt: skip
"""Input and filter of the forward convolution that a call belongs to; its output is the third of the arrays."""
_MOST_NESTED = 16
_MOST_ELEMENTS = 1 << 40
_MOST_FLOPS = 1 << 60
Array = tuple[int, tuple[int, ...]]
"""Type of the elements and sizes."""


class Module:
    """A module of HLO, as a profile holds it; one that cannot be read has no operations."""

    def __init__(self, data: bytes) -> None:
        held = get_hlo_class()()
        try:
            held.ParseFromString(data)
        except DecodeError:
            held.Clear()
        self._computations = {one.id: one for one in held.hlo_module.computations}
        every = [one for computation in self._computations.values() for one in computation.instructions]
        self._named = {one.name: one for one in every}
        self._numbered = {one.id: one for one in every}
        self._flops: dict[int, tuple[float, frozenset[int]] | None] = {}

    def describe(self, name: str) -> dict[str, Any]:
        """Return sizes, types and FLOPs of an operation under the names of a trace; empty if they are not known."""
        instruction = self._named.get(name.encode())
        if instruction is None or _parse_text(instruction.opcode) not in _WHOLE:
            return {}
        operands, results = self._list_operands(instruction), _list_results(instruction)
        work = self._work(instruction, 0)
        if work is None or not results or any(kind not in _TYPES for kind, _ in (*operands, *results)):
            return {}
        flops, factors = work
        if flops and not any(kind in factors for kind, _ in operands):
            return {}  # converted on the way: the precision is not that of an operand
        arrays = [*sorted(operands, key=lambda one: bool(flops) and one[0] not in factors), *results]
        return {
            "Input Dims": json.dumps([list(sizes) for _, sizes in arrays]),
            "Input type": json.dumps([_TYPES[kind] for kind, _ in arrays]),
            "Concrete Inputs": json.dumps([RESULT_LAST]), "flops": int(flops) if 0 < flops < _MOST_FLOPS else None,
        }  # fmt: skip

    def repeats(self, name: str) -> bool:
        """Return True if one execution of an operation may launch the same kernel several times."""
        instruction = self._named.get(name.encode())
        return (
            instruction is None
            or _parse_text(instruction.opcode) not in ("fusion", "custom-call")
            or (_parse_text(instruction.custom_call_target) in _CONVOLUTIONS)
        )

    def _work(self, instruction: Any, depth: int) -> tuple[float, frozenset[int]] | None:
        """Return FLOPs and the types of the factors; None if they are not known, or if it reads a part of something."""
        opcode, target = _parse_text(instruction.opcode), _parse_text(instruction.custom_call_target)
        if opcode == "fusion":
            return self._add_up(instruction.called_computation_ids, depth)
        operands, results = self._list_operands(instruction), _list_results(instruction)
        if opcode == "dot" or target.startswith("__cublas$"):
            return _multiply(_list_contracted(instruction, opcode), operands, results)
        if opcode == "convolution" or target in _CONVOLUTIONS:
            return _convolve(instruction, target, operands, results)
        return None if opcode in _PARTLY or opcode == "custom-call" else (0.0, frozenset())

    def _add_up(self, computations: Any, depth: int) -> tuple[float, frozenset[int]] | None:
        flops, factors = 0.0, frozenset[int]()
        for number in computations:
            if number not in self._flops:
                self._flops[number] = None  # also for a computation that calls itself
                if depth < _MOST_NESTED and number in self._computations:
                    called = self._computations[number]
                    parts = [self._work(one, depth + 1) for one in called.instructions]
                    known = [part for part in parts if part is not None]
                    if len(known) == len(parts):
                        kinds = (kinds for _, kinds in known)
                        self._flops[number] = sum(part for part, _ in known), frozenset[int]().union(*kinds)
            part = self._flops[number]
            if part is None:
                return None
            flops, factors = flops + part[0], factors | part[1]
        return flops, factors

    def _list_operands(self, instruction: Any) -> list[Array]:
        instructions = (self._numbered.get(number) for number in instruction.operand_ids)
        return [array for one in instructions if one is not None for array in _list_arrays(one.shape, 0)]


def _multiply(
    contracted: list[int], operands: list[Array], results: list[Array]
) -> tuple[float, frozenset[int]] | None:
    """Return 2 · result · contracted sizes of the first factor."""
    if not operands or not results or not contracted or max(contracted) >= len(operands[0][1]):
        return None
    kind, sizes = operands[0]
    return 2.0 * prod(results[0][1]) * prod(sizes[at] for at in contracted), frozenset({kind})


def _convolve(
    instruction: Any, target: str, operands: list[Array], results: list[Array]
) -> tuple[float, frozenset[int]] | None:
    """Return 2 · output · filter / output channels: each element of the output is one product of a filter's size."""
    if len(operands) < 2 or not results or any(one.base_dilation > 1 for one in instruction.window.dimensions):
        return None
    arrays = {"first": operands[0], "second": operands[1], "result": results[0]}
    names = _CONVOLUTIONS.get(target, ("first", "second"))
    (output,) = (array for name, array in arrays.items() if name not in names)
    filters, channel = arrays[names[1]][1], instruction.convolution_dimension_numbers.kernel_output_feature_dimension
    if not 0 <= channel < len(filters) or not filters[channel]:
        return None
    return 2.0 * prod(output[1]) * prod(filters) / filters[channel], frozenset({operands[0][0]})


def _list_contracted(instruction: Any, opcode: str) -> list[int]:
    """Return the axes of the first factor that a matrix product sums over."""
    if opcode == "dot":
        return [at for at in instruction.dot_dimension_numbers.lhs_contracting_dimensions if at >= 0]
    try:
        config = json.loads(instruction.backend_config)
        numbers = config.get("gemm_backend_config", config)["dot_dimension_numbers"]["lhs_contracting_dimensions"]
        return [at for at in map(int, numbers) if at >= 0]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return []


def _list_results(instruction: Any) -> list[Array]:
    """Return the results; the calls of a library have a second one, their workspace."""
    results = list(_list_arrays(instruction.shape, 0))
    return results[:1] if _parse_text(instruction.custom_call_target).startswith("__cu") else results


def _list_arrays(shape: Any, depth: int) -> Iterator[Array]:
    """Yield the arrays of a shape; a tuple has several."""
    if shape.element_type == _TUPLE and depth < _MOST_NESTED:
        for one in shape.tuple_shapes:
            yield from _list_arrays(one, depth + 1)
    elif all(0 <= size < _MOST_ELEMENTS for size in shape.dimensions):
        yield shape.element_type, tuple(shape.dimensions)


def _parse_text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
