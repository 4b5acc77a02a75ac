#!/usr/bin/env bash
# Captures data-parallel training on 1, 2 and 4 GPUs, as many as there are: ddp_SCALING_RANKS_rankN.nsys-rep, a report a
# rank, each with its .sqlite, .meta.json and .timings.csv. Oracles are those of rank 0.
#
#   NSYS=/path/to/nsys sample_reports/capture_ddp.sh      as root, on a machine with NVIDIA GPUs
source "$(dirname "$0")/common.sh"
export NSYS=$nsys
# NVLink multicast stays off: it can take down the GPUs of a host whose other GPUs are in use by others.
export NCCL_NVLS_ENABLE=0 NVSHMEM_DISABLE_NVLS=1 TORCH_SYMM_MEM_DISABLE_MULTICAST=1

gpus=$(nvidia-smi --list-gpus | wc -l)

capture() { # capture NAME RANKS [options]
    local name=$1 ranks=$2
    shift 2
    [ "$ranks" -le "$gpus" ] || return 0
    python3 -m workloads profile ddp -o "$here" --name "$name" --ranks "$ranks" \
        --size medium --layers 2 --precision bf16 --batch 64 --warmup 1 --steps 4 "$@"
    if [ "$ranks" -gt 1 ]; then name=${name}_rank0; fi
    stats "$name"
}

capture ddp_1 1
capture ddp_strong_2 2 --scaling strong
capture ddp_weak_2 2 --scaling weak
capture ddp_overlap_2 2 --scaling strong --overlap
capture ddp_strong_4 4 --scaling strong
capture ddp_weak_4 4 --scaling weak
capture ddp_overlap_4 4 --scaling strong --overlap
pack
ls -l "$here"/ddp_*
