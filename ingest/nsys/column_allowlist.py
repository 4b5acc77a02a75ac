"""Allowlist of the data of an nsys export beyond the columns of export.sql, because any other data may be secret.

nsys records the environment of the program and of the machine, command lines, user and host names, paths and the
program's output. A name that is not on these lists stays outside, whatever a later version of nsys stores under it.
"""

import re

FACTS = ("META_DATA_CAPTURE", "META_DATA_EXPORT", "TARGET_INFO_SYSTEM_ENV")
"""Tables of names and values."""

COMMAND = re.compile(r"(PROCESS_\d+):(COMMAND|ARGUMENT_(\d+))")
"""Name of the command line of a profiled process, with an argument per row."""

_SETTING = re.compile(
    r"(?:PROCESS_\d+:)?(?:COMMAND|ARGUMENT_\d+|PID|HOW_TO_ATTACH|LAUNCH_AS_ROOT|COLLECT_\w+|CUDA_\w+(?::\w+)?)"
    r"|(?:GPU_METRICS|LINUX_PERF|NVTX|OS_RUNTIME|SYMBOL_RESOLUTION)_OPTIONS:[\w:]+"
    r"|PROFILING_SESSION_U?U?ID|CAPTURE_EVENT_TYPE|RUN_DURATION_\w+|START_\w+|STOP_TRIGGER|RATE_HZ|SAMPLE_ALL_TASKS"
    r"|TRACE_\w+|USE_\w+|INCLUDE_CHILDREN|THREAD_STATE_SCAN_FREQ|BANDWIDTH_\w+|POWER_RATE_SCAN_FREQ|DEVICE_TYPE|RESUME"
)
_EXPORT = re.compile(
    r"EXPORT_(?:PRODUCT_\w+|SCHEMA_VERSION\w*|PLATFORM|ARCH|TIME\w*|CONFIG_TIME_SHIFT"
    r"|PARAM_(?:TIME\w*|TABLES_TO_EXPORT|LAZY|APPEND|INCLUDE_\w+|EXPORT_TYPE))"
)
_MACHINE = re.compile(
    r"(?:OsDescription|KernelVersion|SoftwareReleaseVersion|HardwarePlatform|CpuArchitecture|CpuDescription|CpuCores"
    r"|CpuSpeedMhz|CpuEmcSpeedMhz|NvDriverVersion|CudaDriverVersion|OfedDriverVersion|LinuxParanoidLevel"
    r"|(?:Has|Supports)[A-Z]\w*)"
)
NAMES = dict(zip(FACTS, (_SETTING, _EXPORT, _MACHINE), strict=True))
"""Names whose values are stored, by table."""

LONGEST_FACT = 2000
"""Longest value in characters: a list of events that a kernel supports can be a megabyte."""

ENVIRONMENT = re.compile(r"environment", re.IGNORECASE)
"""Names of values that hold an environment: they are searched for secrets and never stored."""

_STRINGS = """
nameId textId jsonTextId demangledName shortName mangledName symbol module srcFile
funcName varName kernelName CpuInstruction
"""
STRING_COLUMNS = frozenset(_STRINGS.split())
"""Columns of export.sql with ids of strings; strings that none of them references stay outside."""

_RAW = """
CUBLAS_EVENTS CUDNN_EVENTS CUDA_GRAPH_EVENTS CUDA_GRAPH_NODE_EVENTS CUPTI_ACTIVITY_KIND_CUDA_EVENT
CUPTI_ACTIVITY_KIND_OVERHEAD FECS_EVENTS GPU_CONTEXT_SWITCH_EVENTS NET_NIC_METRIC NET_IB_SWITCH_METRIC
GPU_MEMORY_USAGE_EVENTS GPU_MEMORY_BUDGET_EVENTS NVVIDEO_DECODER_API NVVIDEO_ENCODER_API NVVIDEO_JPEG_API
TARGET_INFO_CUDA_DEVICE TARGET_INFO_CUDA_STREAM TARGET_INFO_CUDA_NULL_STREAM TARGET_INFO_CUDA_CONTEXT_INFO
TARGET_INFO_NIC_INFO MPI_COMMUNICATORS PMU_EVENTS PMU_EVENT_COUNTERS
VULKAN_API VULKAN_WORKLOAD OPENGL_API OPENGL_WORKLOAD DX12_API DX12_WORKLOAD
"""
RAW = frozenset(_RAW.split())
"""Tables whose numbers go to the schema "raw" under nsys's names; of the tables of export.sql all further numbers do.
"""

_NUMBERS = "TINYINT SMALLINT INTEGER BIGINT UTINYINT USMALLINT UINTEGER UBIGINT FLOAT DOUBLE"
NUMBERS = frozenset(_NUMBERS.split())
"""Types of columns that go there: no texts and blobs."""
MOST_COLUMNS = 200
"""Most columns of a raw table; nsys writes some fifty."""
