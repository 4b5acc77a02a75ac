"""Check advice for features that a program already uses, and for terms of frameworks that it does not use."""

import re
from collections.abc import Collection, Iterable

IN_USE = {
    "torch.compile": r"torch\.compile\(|`torch\.compile`|torch_compile=|--enable-torch-compile|Compile the model"
    r"|\.compile\(\)",
    "CUDA graphs": r"reduce-overhead|torch\.cuda\.graph|GraphLaunch|StreamBeginCapture|begin_capture|useCudaGraph",
    "pinned memory": r"pin_memory=True|MallocHost|HostMalloc|HostAlloc|from pinned memory|empty_pinned"
    r"|from `pin_memory",
    "FSDP": r"DistributedDataParallel|bucket_cap_mb|\bDDP\b|ZeroRedundancy|several GPUs FSDP",
    "loader workers": r"num_workers=4",
    "fused optimizer": r"fused=True|adamw_torch_fused|optim=",
    "foreach optimizer": r"foreach=True",
    "fused attention": r"Fuse the attention|attn_implementation",
    "16-bit products": r"torch\.autocast\(|bf16=True|bf16-mixed|activations in BF16|param_dtype=",
    "channels last": r"channels_last",
    "checkpointing": r"torch\.utils\.checkpoint|gradient_checkpointing=True",
    "expandable segments": r"expandable_segments",
    "TorchRec pipeline": r"TrainPipelineSparseDist",
    "SYCL": r"\bcuda[A-Z]|\bCUDA\b|\bnsys\b|\bncu\b|nvidia-smi|cuBLAS|cuDNN|cudnn_|CUTLASS|\bNCCL\b|nvtx",
    "HIP": r"\bcuda[A-Z]|\bCUDA\b|\bnsys\b|\bncu\b|nvidia-smi|cuBLAS|cuDNN|cudnn_|CUTLASS|\bNCCL\b|nvtx",
}
"""For each trait in use, a pattern of advice that recommends it; for HIP and SYCL, a pattern of CUDA names."""
WORDS = {
    ("PyTorch",): r"(?i)\btorch|DataLoader|pin_memory|\.item\(\)|\.to\(|F\.gelu|past_key_values",
    ("JAX", "XLA"): r"\bjax\b|\blax\b|jnp\.|--xla_",
    ("TensorFlow", "JAX", "XLA"): r"\btf\.|\bkeras\.",
    ("CuPy",): r"(?i)\bcupyx?\b|RawKernel",
    ("Numba",): r"cuda\.jit|cuda\.to_device|pinned_array",
    ("TensorRT",): r"trtexec|BuilderFlag|builderOptimizationLevel",
    ("vLLM",): r"vLLM|--enforce-eager|cudagraph_capture_sizes|--enable-prefix-caching",
    ("SGLang",): r"SGLang|--disable-(cuda-graph|radix-cache)|--mem-fraction",
    ("Trainer",): r"TrainingArguments|dataloader_num_workers",
    ("Lightning",): r"\bTrainer\(|Trainer\.fit|self\.log\(",
    ("FSDP",): r"fully_shard|backward_prefetch|limit_all_gathers|reshard_after_forward",
    ("DDP", "own all-reduce"): r"bucket_cap_mb|comm_hooks",
    ("OpenACC",): r"`update device|`parallel loop`",
    ("OpenMP offload",): r"target teams|target data|target update",
}
"""Patterns of advice that only fits programs with one of these traits."""


def wrong(lines: Iterable[str], traits: Collection[str]) -> list[str]:
    """Return the lines that recommend a feature already in use or mention a framework that the program does not use."""
    banned = [IN_USE[trait] for trait in traits if trait in IN_USE]
    banned += [pattern for owners, pattern in WORDS.items() if not set(owners) & set(traits)]
    if "DDP" in traits and "own all-reduce" not in traits:
        banned.append("wrap the model into")
    return [line for line in lines if any(re.search(pattern, line) for pattern in banned)]
