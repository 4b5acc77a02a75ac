"""Text for ncu's measurements: occupancy limiters, warp states, pipes; and the sections to collect.

The explanations are Warpdeck's own, based on NVIDIA's public Kernel Profiling Guide. ncu's own text is in its rules.
"""

from app.ui import format as fmt

COUNTS = (("G", 1e9), ("M", 1e6), ("", 1.0))
HERTZ = (("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0))

LIMITERS = {
    "registers": "registers",
    "shared_mem": "shared memory",
    "warps": "warps per block",
    "blocks": "blocks per SM",
    "barriers": "barriers",
}
"""Display names of the limiters of ``ncu_occupancy``."""

SECTIONS = {
    "light": "SpeedOfLight",
    "occupancy": "Occupancy",
    "stalls": "WarpStateStats",
    "memory": "MemoryWorkloadAnalysis",
    "tables": "MemoryWorkloadAnalysis_Tables",
    "launch": "LaunchStats",
    "divergence": "WarpStateStats",
    "pipes": "ComputeWorkloadAnalysis",
}
"""The ncu section that collects each part."""

SELECTED = "selected"
"""The one warp state that is not a stall: the warp issues an instruction."""

STALL_TITLES = {
    "barrier": "Barrier",
    "branch_resolving": "Branch resolving",
    "dispatch_stall": "Dispatch stall",
    "drain": "Drain",
    "gmma": "Warpgroup (GMMA)",
    "imc_miss": "Immediate constant miss",
    "lg_throttle": "LG throttle",
    "long_scoreboard": "Long scoreboard",
    "math_pipe_throttle": "Math pipe throttle",
    "membar": "Memory barrier",
    "mio_throttle": "MIO throttle",
    "misc": "Miscellaneous",
    "no_instruction": "No instruction",
    "not_selected": "Not selected",
    "selected": "Selected (issuing)",
    "short_scoreboard": "Short scoreboard",
    "sleeping": "Sleeping",
    "tex_throttle": "TEX throttle",
    "wait": "Wait",
}
"""Display names of the stall reasons of ``ncu_stalls``."""

STALLS = {
    "barrier": "Warps wait at a barrier for others of their block. Smaller blocks, or work that is split more evenly"
    " before the barrier, shorten the wait.",
    "branch_resolving": "Warps wait for the target of a branch. Fewer jumps help: unroll loops, or replace short"
    " branches by arithmetic.",
    "dispatch_stall": "The scheduler had a ready instruction and held it back, mostly because a register file or a"
    " pipe was in use.",
    "drain": "Warps have finished and wait for their last stores to leave. Coalesced stores, and fewer of them at the"
    " end, help.",
    "gmma": "Warps wait for a matrix product of their warpgroup. In a tuned matrix kernel this is the work itself;"
    " else keep more products in flight before waiting for one.",
    "imc_miss": "A constant was not in its cache. Read constants that all threads share, few of them, and use them"
    " again.",
    "lg_throttle": "The queue for global and local memory is full: too many such instructions in a row. Use wider"
    " loads, avoid local memory, and put arithmetic between accesses.",
    "long_scoreboard": "Warps wait for data from global, local, texture or surface memory. Load earlier and more at"
    " once, keep reused data in shared memory, coalesce accesses, or have more warps to hide the wait.",
    "math_pipe_throttle": "The arithmetic pipe that the instruction needs is busy. That is a good sign; another mix of"
    " instructions, or tensor cores, spreads the load.",
    "membar": "Warps wait for a memory fence. Use fewer fences, or of a narrower scope: block instead of GPU or"
    " system.",
    "mio_throttle": "The queue for shared memory, special functions and dynamic branches is full. Fewer and wider"
    " accesses to shared memory help.",
    "misc": "Some other reason of the hardware.",
    "no_instruction": "The next instruction was not in the instruction cache, or the warp had just jumped. Smaller"
    " code and shorter unrolled loops help; very small grids show it too.",
    "not_selected": "Warps were ready and another one was issued. There are more warps than needed: fewer of them with"
    " more registers or reuse each cost nothing.",
    "selected": "Not a stall: the warp issued an instruction.",
    "short_scoreboard": "Warps wait for shared memory or for a special function such as exp. Avoid bank conflicts, and"
    " keep what is used again in registers.",
    "sleeping": "All threads of the warp sleep, as code that polls asks for. Poll less, or sleep for less.",
    "tex_throttle": "The queue of the texture unit is full. Issue fewer texture or surface accesses, or load plainly"
    " through L1.",
    "wait": "Warps wait for the fixed number of cycles between two dependent instructions. More independent"
    " instructions in a thread, or more warps, hide it.",
}
"""Explanation of each warp state and advice on it."""

PIPES = {
    "adu": "ADU: address divergence",
    "alu": "ALU: integer, logic",
    "cbu": "CBU: branches, barriers",
    "cbu_pred_on_any": "CBU: branches, barriers",
    "fma": "FMA: FP32, integer multiply",
    "fmaheavy": "FMA heavy",
    "fmalite": "FMA lite",
    "fma_type_fp16": "FMA with FP16",
    "fp16": "FP16",
    "fp64": "FP64",
    "ipa": "IPA: interpolation",
    "lsu": "LSU: loads, stores",
    "shared": "FP64 and tensor, shared",
    "tensor": "Tensor",
    "tensor_op_dmma": "Tensor FP64",
    "tensor_op_gmma": "Tensor warpgroup",
    "tensor_op_hmma": "Tensor FP16, BF16, TF32",
    "tensor_op_imma": "Tensor integer",
    "tex": "TEX: textures",
    "tma": "TMA: bulk copies",
    "uniform": "Uniform datapath",
    "xu": "XU: special functions",
}
"""Display names of the SM pipes."""


def get_stall_title(reason: str) -> str:
    """Return the display name of a warp state, or a readable form of the raw name for states newer than this table."""
    return STALL_TITLES.get(reason, reason.replace("_", " ").capitalize())


def get_pipe_title(name: str) -> str:
    """Return the display name of a pipe."""
    return PIPES.get(name, name)


def find_unit(metric: str) -> str:
    """Return the unit that a breakdown metric belongs to, without its counting suffix, such as ``sm pipe alu``."""
    return metric.partition(".")[0].removesuffix("_cycles_active").replace("__", " ").replace("_", " ")


def format_count(value: object) -> str:
    """Format a count that may be in the billions: ``131,072``, ``25.6 G``."""
    amount = fmt.number(value) or 0.0
    name, size = fmt.unit_for(amount, COUNTS)
    return f"{fmt.significant(amount / size)} {name}" if name else fmt.count(amount)


def format_quantity(value: object, unit: object, text: object = None) -> str:
    """Format a value of a Compute report, scaled to a larger unit where one exists."""
    amount = fmt.number(value)
    if amount is None:
        return text if isinstance(text, str) else fmt.MISSING
    scaled = {"ns": fmt.duration, "byte": fmt.bytes_, "byte/s": fmt.rate, "byte/second": fmt.rate}
    if unit in scaled:
        return scaled[unit](amount)
    if unit == "%":
        return f"{amount:,.2f} %"
    if unit == "hz":
        name, size = fmt.unit_for(amount, HERTZ)
        return f"{amount / size:,.2f} {name}"
    if unit == "byte/block":
        return f"{fmt.bytes_(amount)} / block"
    shown = f"{amount:,.0f}" if amount == round(amount) else f"{amount:,.2f}"
    return f"{shown} {unit}" if isinstance(unit, str) and unit else shown
