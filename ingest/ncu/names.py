"""Names of ncu: labels of the details page by metric, and the metrics of the columns of ``ncu_launch``."""

import re

# Labels whose metric is the same in every version of ncu from 2020 to 2026. LABELS_IN_SECTION has the two others.
LABELS = {
    "Duration": "gpu__time_duration.sum",
    "DRAM Frequency": "dram__cycles_elapsed.avg.per_second",
    "Memory Frequency": "dram__cycles_elapsed.avg.per_second",
    "Compute (SM) Throughput": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "Compute (SM) [%]": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "SM [%]": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "SOL SM": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "Memory [%]": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "SOL Memory": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "DRAM Throughput": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "SOL DRAM": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "SOL FB": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "L1/TEX Cache Throughput": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "SOL L1/TEX Cache": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "SOL TEX": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "L2 Cache Throughput": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "SOL L2 Cache": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "SOL L2": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "SM Active Cycles": "sm__cycles_active.avg",
    "Executed Ipc Active": "sm__inst_executed.avg.per_cycle_active",
    "Executed Ipc Elapsed": "sm__inst_executed.avg.per_cycle_elapsed",
    "Issued Ipc Active": "sm__inst_issued.avg.per_cycle_active",
    "L1/TEX Hit Rate": "l1tex__t_sector_hit_rate.pct",
    "L1 Hit Rate": "l1tex__t_sector_hit_rate.pct",
    "L2 Hit Rate": "lts__t_sector_hit_rate.pct",
    "Active Warps Per Scheduler": "smsp__warps_active.avg.per_cycle_active",
    "Eligible Warps Per Scheduler": "smsp__warps_eligible.avg.per_cycle_active",
    "Issued Warp Per Scheduler": "smsp__issue_active.avg.per_cycle_active",
    "Warp Cycles Per Issued Instruction": "smsp__average_warp_latency_per_inst_issued.ratio",
    "Avg. Active Threads Per Warp": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "Avg. Not Predicated Off Threads Per Warp": "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
    "Executed Instructions": "smsp__inst_executed.sum",
    "Issued Instructions": "smsp__inst_issued.sum",
    "Grid Size": "launch__grid_size",
    "Block Size": "launch__block_size",
    "Threads": "launch__thread_count",
    "Registers Per Thread": "launch__registers_per_thread",
    "Static Shared Memory Per Block": "launch__shared_mem_per_block_static",
    "Dynamic Shared Memory Per Block": "launch__shared_mem_per_block_dynamic",
    "Driver Shared Memory Per Block": "launch__shared_mem_per_block_driver",
    "Shared Memory Configuration Size": "launch__shared_mem_config_size",
    "Function Cache Configuration": "launch__func_cache_config",
    "Waves Per SM": "launch__waves_per_multiprocessor",
    "Theoretical Occupancy": "sm__maximum_warps_per_active_cycle_pct",
    "Theoretical Active Warps per SM": "sm__maximum_warps_avg_per_active_cycle",
    "Achieved Occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "Achieved Active Warps Per SM": "sm__warps_active.avg.per_cycle_active",
    "Block Limit SM": "launch__occupancy_limit_blocks",
    "Block Limit Registers": "launch__occupancy_limit_registers",
    "Block Limit Shared Mem": "launch__occupancy_limit_shared_mem",
    "Block Limit Warps": "launch__occupancy_limit_warps",
    "Branch Efficiency": "smsp__sass_average_branch_targets_threads_uniform.pct",
}

# A label that means one thing in one section and another elsewhere.
LABELS_IN_SECTION = {
    ("GPU Speed Of Light Throughput", "Memory Throughput"): LABELS["Memory [%]"],
    ("GPU Speed Of Light", "Memory Throughput"): LABELS["Memory [%]"],
    ("Memory Workload Analysis", "Memory Throughput"): "dram__bytes.sum.per_second",
    # Up to 2021 the section's title lacks "Throughput", and its clock is that of another unit.
    ("GPU Speed Of Light Throughput", "SM Frequency"): "gpc__cycles_elapsed.avg.per_second",
    ("GPU Speed Of Light Throughput", "Elapsed Cycles"): "gpc__cycles_elapsed.max",
}

# Columns of ncu_launch, each with the metrics that can fill it; the first one of a launch is used. "label:" is a row of
# the details page whose metric depends on the version of ncu.
HEADLINES = {
    "device_id": ("launch__device_id",),
    "context_id": ("launch__context_id",),
    "stream_id": ("launch__stream_id",),
    "grid_x": ("launch__grid_dim_x",),
    "grid_y": ("launch__grid_dim_y",),
    "grid_z": ("launch__grid_dim_z",),
    "block_x": ("launch__block_dim_x",),
    "block_y": ("launch__block_dim_y",),
    "block_z": ("launch__block_dim_z",),
    "grid_size": ("launch__grid_size",),
    "block_size": ("launch__block_size",),
    "registers_per_thread": ("launch__registers_per_thread",),
    "shared_static_bytes": ("launch__shared_mem_per_block_static",),
    "shared_dynamic_bytes": ("launch__shared_mem_per_block_dynamic",),
    "shared_driver_bytes": ("launch__shared_mem_per_block_driver",),
    "duration_ns": ("gpu__time_duration.sum", "gpu__time_duration.max", "gpu__time_duration.avg"),
    # The metrics of the two clock rows on ncu's details page come first.
    "elapsed_cycles": (
        "gpc__cycles_elapsed.max",
        "sm__cycles_elapsed.max",
        "smsp__cycles_elapsed.max",
        "label:Elapsed Cycles",
    ),
    "sm_frequency_hz": (
        "gpc__cycles_elapsed.avg.per_second",
        "smsp__cycles_elapsed.avg.per_second",
        "sm__cycles_elapsed.avg.per_second",
        "label:SM Frequency",
    ),
    "dram_frequency_hz": ("dram__cycles_elapsed.avg.per_second",),
    "sm_throughput_pct": ("sm__throughput.avg.pct_of_peak_sustained_elapsed",),
    "memory_throughput_pct": ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",),
    "dram_throughput_pct": (
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
        "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    "l2_throughput_pct": ("lts__throughput.avg.pct_of_peak_sustained_elapsed",),
    "l1_throughput_pct": (
        "l1tex__throughput.avg.pct_of_peak_sustained_active",
        "l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    "l1_hit_pct": ("l1tex__t_sector_hit_rate.pct",),
    "l2_hit_pct": ("lts__t_sector_hit_rate.pct",),
    "dram_bytes_per_s": ("dram__bytes.sum.per_second",),
    "occupancy_pct": ("sm__warps_active.avg.pct_of_peak_sustained_active",),
    "theoretical_occupancy_pct": ("sm__maximum_warps_per_active_cycle_pct",),
    "waves_per_sm": ("launch__waves_per_multiprocessor",),
    "issue_active_per_cycle": ("smsp__issue_active.avg.per_cycle_active",),
}

# Columns of gpu, each with the attribute (device__attribute_...) that fills it and the factor to the column's unit.
ATTRIBUTES = {
    "sm_count": ("multiprocessor_count", 1),
    "clock_hz": ("clock_rate", 1000),
    "memory_bytes": ("total_memory", 1),
    "l2_bytes": ("l2_cache_size", 1),
    "max_warps_per_sm": ("max_warps_per_multiprocessor", 1),
    "max_blocks_per_sm": ("max_blocks_per_multiprocessor", 1),
    "max_threads_per_block": ("max_threads_per_block", 1),
    "max_registers_per_sm": ("max_registers_per_multiprocessor", 1),
    "max_registers_per_block": ("max_registers_per_block", 1),
    "max_shared_per_sm_bytes": ("max_shared_memory_per_multiprocessor", 1),
    "max_shared_per_block_bytes": ("max_shared_memory_per_block", 1),
    "max_shared_per_block_optin_bytes": ("max_shared_memory_per_block_optin", 1),
    "threads_per_warp": ("warp_size", 1),
    "async_engines": ("async_engine_count", 1),
}


def find_metric(section: str, label: str) -> str | None:
    """Return the metric of a row of the details page; None if it is not certain."""
    if "__" in label and " " not in label:
        return label
    return LABELS_IN_SECTION.get((section, label)) or LABELS.get(label)


_INSTANCED = re.compile(r"launch__occupancy_per_|derived__.*occupancy_per_|sass__.*_per_opcode|.*Triage|pmsampling:")


def is_instanced(name: str) -> bool:
    """Return True if a metric's instance values are stored: all except those by code address, of which a kernel has
    thousands."""
    return _INSTANCED.match(name) is not None
