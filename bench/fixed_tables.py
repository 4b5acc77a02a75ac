"""The small tables of a synthetic export: machine, processes, capture settings, enumerations."""

from __future__ import annotations

from bench.kernels import COMPUTE_STREAM, SIDE_STREAM
from bench.writers import Batch

VM = 1 << 48
SESSION_EPOCH_NS = 1_767_225_600_000_000_000  # 2026-01-01T00:00:00Z
# Planted for tests: environment variables of a capture must never reach a reader.
SECRET = "WARPDECK_BENCH_TOKEN=planted-secret-value"

_ENUMS = {
    "ENUM_NSYS_EVENT_TYPE": {33: "NvtxCategory", 34: "NvtxMark", 59: "NvtxPushPopRange", 60: "NvtxStartEndRange",
                             75: "NvtxDomainCreate"},
    "ENUM_NSYS_EVENT_CLASS": {0: "CUDA runtime", 1: "CUDA driver", 26: "CUDA API", 27: "OSRT runtime"},
    "ENUM_CUDA_MEMCPY_OPER": {0: "Unknown", 1: "Host-to-Device", 2: "Device-to-Host", 3: "Host-to-Array",
                              4: "Array-to-Host", 5: "Array-to-Array", 6: "Array-to-Device", 7: "Device-to-Array",
                              8: "Device-to-Device", 9: "Host-to-Host", 10: "Peer-to-Peer",
                              11: "Unified Host-to-Device", 12: "Unified Device-to-Host",
                              13: "Unified Device-to-Device"},
    "ENUM_CUDA_MEM_KIND": {0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed", 5: "Device Static",
                           6: "Managed Static", 7: "Unknown"},
    "ENUM_CUDA_KERNEL_LAUNCH_TYPE": {0: "Unknown", 1: "Regular", 2: "Coop Single Device", 3: "Coop Multi Device"},
    "ENUM_CUDA_FUNC_CACHE_CONFIG": {0: "None", 1: "Shared", 2: "L1", 3: "Equal"},
    "ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG": {0: "Default", 1: "Opt in"},
    "ENUM_CUPTI_STREAM_TYPE": {0: "Unknown stream type", 1: "Default stream", 2: "Non-blocking stream",
                               3: "Null stream"},
    "ENUM_CUPTI_SYNC_TYPE": {0: "Unknown", 1: "Event sync", 2: "Stream wait sync", 3: "Stream sync", 4: "Context sync"},
}  # fmt: skip
_GPU = {
    "vmId": VM, "name": "NVIDIA A100-SXM4-80GB", "isDiscrete": True, "l2CacheSize": 41_943_040,
    "totalMemory": 85_174_583_296, "memoryBandwidth": 2_039_000_000_000, "clockRate": 1_410_000_000, "smCount": 108,
    "luid": 0, "chipName": "GA100", "ctxswDevPath": "", "ctrlDevPath": "", "revision": 161, "nodeMask": 0,
    "constantMemory": 65_536, "maxIPC": 4, "maxRegistersPerBlock": 65_536, "maxShmemPerBlock": 49_152,
    "maxShmemPerBlockOptin": 166_912, "maxShmemPerSm": 167_936, "maxRegistersPerSm": 65_536, "threadsPerWarp": 32,
    "asyncEngines": 8, "maxWarpsPerSm": 64, "maxBlocksPerSm": 32, "maxThreadsPerBlock": 1024, "maxBlockDimX": 1024,
    "maxBlockDimY": 1024, "maxBlockDimZ": 64, "maxGridDimX": 2_147_483_647, "maxGridDimY": 65_535,
    "maxGridDimZ": 65_535, "computeMajor": 8, "computeMinor": 0, "smMajor": 8, "smMinor": 0,
}  # fmt: skip


def _make_pairs(rows: dict[str, str]) -> Batch:
    return {"name": list(rows), "value": list(rows.values())}


def make_enumerations() -> dict[str, Batch]:
    """Return the ENUM_ tables with the values of the generated rows."""
    return {
        table: {
            "id": list(names),
            "name": [name.replace(" ", "_").replace("-", "_").upper() for name in names.values()],
            "label": list(names.values()),
        }
        for table, names in _ENUMS.items()
    }


def make_capture_tables(pids: list[int], duration_ns: int) -> dict[str, Batch]:
    """Return the tables that describe the capture; like real ones they hold environment variables."""
    settings = {
        "DEVICE_ID": "0",
        "PROCESS_0:COMMAND": "python",
        "PROCESS_0:ARGUMENT_0": "train.py",
        "PROCESS_0:PID": str(pids[0]),
        "PROCESS_0:ENVIRONMENT_VARIABLE": SECRET,
        "PROCESS_0:COLLECT_NVTX_TRACE": "true",
        "PROCESS_0:COLLECT_CUDA_TRACE": "true",
        "PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE": "GRAPH",
    }
    export = {
        "EXPORT_PRODUCT_NAME": "NVIDIA Nsight Systems",
        "EXPORT_PRODUCT_VERSION": "2023.4.4.54",
        "EXPORT_SCHEMA_VERSION": "3.7.2",
        "EXPORT_SCHEMA_VERSION_MAJOR": "3",
        "EXPORT_SCHEMA_VERSION_MINOR": "7",
        "EXPORT_SCHEMA_VERSION_MICRO": "2",
        "EXPORT_PLATFORM": "linux-desktop",
        "EXPORT_ARCH": "x64",
        "EXPORT_PARAM_INPUT_FILE": "synthetic.nsys-rep",
    }
    target = {"OsDescription": "Linux", "CudaDriverVersion": "12.4", "Hostname": "bench", "DeviceEnvironment": SECRET}
    utc = "2026-01-01T00:00:00"
    return {
        "META_DATA_CAPTURE": _make_pairs(settings),
        "META_DATA_EXPORT": _make_pairs(export),
        "ANALYSIS_DETAILS": {"globalVid": VM, "duration": duration_ns, "startTime": 0, "stopTime": duration_ns},
        "TARGET_INFO_SESSION_START_TIME": {"utcEpochNs": SESSION_EPOCH_NS, "utcTime": utc, "localTime": utc},
        "TARGET_INFO_SYSTEM_ENV": {
            "globalVid": VM,
            "devStateName": "Local (CLI)",
            "name": list(target),
            "nameEnum": [605, 611, 619, 610],
            "value": list(target.values()),
        },
    }


def make_device_tables(pids: list[int], gpus: int) -> dict[str, Batch]:
    """Return the GPUs, and each process's context and streams on its GPU."""
    ids = list(range(gpus))
    streams = [(pid, stream) for pid in pids for stream in (COMPUTE_STREAM, SIDE_STREAM)]
    return {
        "TARGET_INFO_GPU": _GPU
        | {
            "id": ids,
            "cuDevice": ids,
            "pwGpuId": ids,
            "busLocation": [f"0000:{16 * (gpu + 1):02x}:00.0" for gpu in ids],
            "uuid": [f"00000000-0000-4000-8000-{gpu:012d}" for gpu in ids],
        },
        "TARGET_INFO_CUDA_CONTEXT_INFO": {
            "nullStreamId": 7,
            "hwId": 0,
            "vmId": 1,
            "processId": pids,
            "deviceId": [index % gpus for index in range(len(pids))],
            "contextId": 1,
        },
        "TARGET_INFO_CUDA_STREAM": {
            "streamId": [stream for _, stream in streams],
            "hwId": 0,
            "vmId": 1,
            "processId": [pid for pid, _ in streams],
            "contextId": 1,
            "priority": 0,
            "flag": [3 if stream == COMPUTE_STREAM else 2 for _, stream in streams],
        },
    }
