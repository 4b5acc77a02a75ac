#!/usr/bin/env bash
# Captures the same programs by the PyTorch profiler and by Nsight Systems: training and inference of the transformer, and
# data-parallel training on two GPUs (traces alone). Leaves torch/NAME.pt.trace.json.gz and torch/NAME_nsys.sqlite.
#
#   NSYS=/path/to/nsys sample_reports/capture_torch.sh      as root, on a machine with two NVIDIA GPUs
source "$(dirname "$0")/common.sh"
export NSYS=$nsys
# NVLink multicast stays off: it can take down the GPUs of a host whose other GPUs are in use by others.
export NCCL_NVLS_ENABLE=0 NVSHMEM_DISABLE_NVLS=1 TORCH_SYMM_MEM_DISABLE_MULTICAST=1
folder=$here/torch
everything=(--arg=--with_stack --arg=--with_modules --arg=--with_flops --arg=--profile_memory)
model=(--size medium --layers 2 --precision bf16 --warmup 1 --steps 3)

for mode in training inference; do
    name=torch_$mode
    python3 -m workloads profile transformer -o "$folder" --name "$name" --tool torch "${everything[@]}" --mode "$mode" "${model[@]}"
    python3 -m workloads profile transformer -o "$folder" --name "${name}_nsys" --mode "$mode" "${model[@]}"
    rm "$folder/${name}_nsys.nsys-rep" "$folder/${name}_nsys.nvml.csv"
    # Of the log only the readings of the GPU that the program used.
    awk -F, 'NR == 1 || $3 == 0' "$folder/$name.nvml.csv" > "$folder/log" && mv "$folder/log" "$folder/$name.nvml.csv"
done
python3 -m workloads profile ddp -o "$folder" --name torch_ddp_2 --tool torch --ranks 2 --arg=--profile_memory \
    --batch 64 --overlap "${model[@]}"
rm -f "$folder"/torch_ddp_2.*
python3 scripts/slim_samples.py --without CUDA_GPU_MEMORY_USAGE_EVENTS --own "$folder"/*_nsys.sqlite
ls -l "$folder"
