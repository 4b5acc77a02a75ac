"""The messages of an ``.xplane.pb``, after the public ``xplane.proto`` of XLA (openxla/xla, xla/tsl/profiler/protobuf).

All fields of a profile are listed, so that one of another number tells of damage, or of a later version.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from google.protobuf import (  # type: ignore[import-untyped]
    descriptor_pb2,
    descriptor_pool,
    message_factory,
)

_TYPES = descriptor_pb2.FieldDescriptorProto
_INT, _UINT, _TEXT, _BYTES, _DOUBLE = (
    _TYPES.TYPE_INT64, _TYPES.TYPE_UINT64, _TYPES.TYPE_STRING, _TYPES.TYPE_BYTES, _TYPES.TYPE_DOUBLE,
)  # fmt: skip
_MESSAGES: dict[str, dict[str, tuple[int, Any]]] = {
    "XStat": {
        "metadata_id": (1, _INT), "double_value": (2, _DOUBLE), "uint64_value": (3, _UINT), "int64_value": (4, _INT),
        "str_value": (5, _BYTES), "bytes_value": (6, _BYTES), "ref_value": (7, _UINT),
    },
    "XEvent": {
        "metadata_id": (1, _INT), "offset_ps": (2, _INT), "duration_ps": (3, _INT), "stats": (4, ["XStat"]),
        "num_occurrences": (5, _INT),
    },
    "XLine": {
        "id": (1, _INT), "name": (2, _BYTES), "timestamp_ns": (3, _INT), "events": (4, ["XEvent"]),
        "duration_ps": (9, _INT), "display_id": (10, _INT), "display_name": (11, _BYTES),
    },
    "XEventMetadata": {
        "id": (1, _INT), "name": (2, _BYTES), "metadata": (3, _BYTES), "display_name": (4, _BYTES),
        "stats": (5, ["XStat"]), "child_id": (6, [_INT]),
    },
    "XStatMetadata": {"id": (1, _INT), "name": (2, _BYTES), "description": (3, _BYTES)},
    "EventEntry": {"key": (1, _INT), "value": (2, "XEventMetadata")},
    "StatEntry": {"key": (1, _INT), "value": (2, "XStatMetadata")},
    "XPlane": {
        "id": (1, _INT), "name": (2, _BYTES), "lines": (3, ["XLine"]), "event_metadata": (4, ["EventEntry"]),
        "stat_metadata": (5, ["StatEntry"]), "stats": (6, ["XStat"]),
    },
    "XSpace": {
        "planes": (1, ["XPlane"]), "errors": (2, [_BYTES]), "warnings": (3, [_BYTES]), "hostnames": (4, [_BYTES]),
    },
}  # fmt: skip
"""Fields by message: number and type, a list where repeated. Texts are read as bytes: a damaged one must not refuse
the whole file. A map is a list of entries, as on the wire."""
_HLO: dict[str, dict[str, tuple[int, Any]]] = {
    "Shape": {"element_type": (2, _INT), "dimensions": (3, [_INT]), "tuple_shapes": (4, ["Shape"])},
    "WindowDimension": {"base_dilation": (6, _INT)},
    "Window": {"dimensions": (1, ["WindowDimension"])},
    "Convolution": {"kernel_output_feature_dimension": (4, _INT)},
    "Dot": {"lhs_contracting_dimensions": (1, [_INT])},
    "Instruction": {
        "name": (1, _BYTES), "opcode": (2, _BYTES), "shape": (3, "Shape"), "window": (15, "Window"),
        "convolution_dimension_numbers": (16, "Convolution"), "custom_call_target": (28, _BYTES),
        "dot_dimension_numbers": (30, "Dot"), "id": (35, _INT), "operand_ids": (36, [_INT]),
        "called_computation_ids": (38, [_INT]), "backend_config": (43, _BYTES),
    },
    "Computation": {"instructions": (2, ["Instruction"]), "id": (5, _INT)},
    "Module": {"computations": (3, ["Computation"])},
    "Hlo": {"hlo_module": (1, "Module")},
}  # fmt: skip
"""The fields of xla/service/hlo.proto and xla/xla_data.proto that tell what an operation reads, writes and computes."""


@cache
def get_space_class() -> Any:
    """Return the class of the message that a file holds."""
    return _make_class("xplane", _MESSAGES, "XSpace")


@cache
def get_hlo_class() -> Any:
    """Return the class of the message that holds a module of HLO."""
    return _make_class("hlo", _HLO, "Hlo")


def _make_class(package: str, messages: Mapping[str, Mapping[str, tuple[int, Any]]], wanted: str) -> Any:
    name = f"warpdeck.{package}"
    file = descriptor_pb2.FileDescriptorProto(name=f"warpdeck/{package}.proto", package=name, syntax="proto3")
    for title, fields in messages.items():
        message = file.message_type.add(name=title)
        for field, (number, kind) in fields.items():
            one = kind[0] if isinstance(kind, list) else kind
            label = _TYPES.LABEL_REPEATED if isinstance(kind, list) else _TYPES.LABEL_OPTIONAL
            added = message.field.add(name=field, number=number, label=label)
            if isinstance(one, str):
                added.type, added.type_name = _TYPES.TYPE_MESSAGE, f".{name}.{one}"
            else:
                added.type = one
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{name}.{wanted}"))
