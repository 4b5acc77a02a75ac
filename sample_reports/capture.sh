#!/usr/bin/env bash
# Captures the sample reports and their oracles again.
#
#   NSYS=/path/to/nsys NCU=/path/to/ncu sample_reports/capture.sh        as root, on a machine with one NVIDIA GPU
source "$(dirname "$0")/common.sh"

workload=(python3 -m workloads run transformer --size medium --precision bf16)

inference() { # inference NAME: GPU metrics, no CPU samples; batches in page-locked memory; caches warm before the window
    "$nsys" profile -o "$here/$1" --force-overwrite true \
        --capture-range=cudaProfilerApi --capture-range-end=stop \
        --trace=cuda,nvtx,osrt --cuda-memory-usage=true --cudabacktrace=none \
        --sample=none --cpuctxsw=none --gpu-metrics-devices=0 --gpu-metrics-frequency=10000 \
        "${workload[@]}" --mode inference --pin-memory
}

training() { # training NAME: CPU samples and thread switches, no GPU metrics; pageable batches; a cold start (--prime 0)
    "$nsys" profile -o "$here/$1" --force-overwrite true \
        --capture-range=cudaProfilerApi --capture-range-end=stop \
        --trace=cuda,nvtx,osrt,cublas --cuda-memory-usage=true --cudabacktrace=none \
        --sample=process-tree --cpuctxsw=process-tree --backtrace=none \
        "${workload[@]}" --mode training --prime 0
}

attention_kernels() { # attention_kernels NAME: everything ncu has, for the four kernels at the heart of one attention
    "$ncu" -o "$here/$1" --force-overwrite --clock-control none --import-sass no --profile-from-start off \
        --nvtx --nvtx-include 'scaled_dot_product_attention/' \
        --kernel-name-base demangled --kernel-name 'regex:nvjet|softmax|masked_fill' --set full \
        "${workload[@]}" --mode inference --layers 1 --prime 2 --warmup 0 --steps 1
}

training_kernels() { # training_kernels NAME: the kernels of one step of a one-layer model, all but casts, sums and sorting
    local tensor=sm__ops_path_tensor_src_bf16_dst_fp32 # bf16 multiply-adds: the tensor roof
    "$ncu" -o "$here/$1" --force-overwrite --clock-control none --import-sass no --profile-from-start off --nvtx \
        --kernel-name-base demangled \
        --kernel-name 'regex:nvjet|[sS]oft[mM]ax|layer_norm|GammaBeta|multi_tensor|masked_fill|Gelu' \
        --section LaunchStats --section Occupancy --section SpeedOfLight --section SpeedOfLight_RooflineChart \
        --section ComputeWorkloadAnalysis --section MemoryWorkloadAnalysis --section MemoryWorkloadAnalysis_Tables \
        --section SchedulerStats --section WarpStateStats --section InstructionStats --section WorkloadDistribution \
        --metrics "$tensor.sum,$tensor.sum.per_second,$tensor.sum.peak_sustained,$tensor.sum.pct_of_peak_sustained_elapsed" \
        "${workload[@]}" --mode training --layers 1 --prime 2 --warmup 0 --steps 1
}

inference transformer_inference
training transformer_training
stats transformer_inference
stats transformer_training
training_kernels transformer_training
pages transformer_training
attention_kernels transformer_inference
pages transformer_inference
pack
