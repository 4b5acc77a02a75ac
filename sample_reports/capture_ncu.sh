#!/usr/bin/env bash
# Captures the sample reports of the workloads `kernels` and `attention`: NAME.ncu-rep, NAME.nsys-rep and NAME.sqlite.
#
#   NSYS=/path/to/nsys NCU=/path/to/ncu sample_reports/capture_ncu.sh    as root, on a machine with one NVIDIA GPU
source "$(dirname "$0")/common.sh"

sections=()
for section in SpeedOfLight SpeedOfLight_RooflineChart \
    SpeedOfLight_Hierarchical{Single,Double,Half,Tensor}RooflineChart \
    ComputeWorkloadAnalysis MemoryWorkloadAnalysis MemoryWorkloadAnalysis_Tables MemoryWorkloadAnalysis_Chart \
    Occupancy LaunchStats SchedulerStats WarpStateStats SourceCounters InstructionStats WorkloadDistribution; do
    sections+=(--section "$section")
done
metrics=
for tensor in bf16_dst_fp32 fp16 fp64 tf32_dst_fp32; do # multiply-adds of the tensor cores
    sum=sm__ops_path_tensor_src_$tensor.sum
    metrics+=,$sum,$sum.peak_sustained,$sum.per_second
done

timeline() { # timeline NAME PROGRAM...: nsys, the export for machines without it, and what nsys says of it
    local name=$1
    shift
    "$nsys" profile -o "$here/$name" --force-overwrite true \
        --capture-range=cudaProfilerApi --capture-range-end=stop \
        --trace=cuda,nvtx --cudabacktrace=none --sample=none --cpuctxsw=none "$@"
    stats "$name"
}

measurements() { # measurements NAME REGEX PROGRAM...: ncu, the kernels whose names match
    local name=$1 regex=$2
    shift 2
    "$ncu" -o "$here/$name" --force-overwrite --clock-control none --import-sass no --profile-from-start off --nvtx \
        --kernel-name-base demangled --kernel-name "regex:$regex" "${sections[@]}" --metrics "${metrics#,}" "$@"
    pages "$name"
}

matrix_products='nvjet|gemm|cutlass|xmma'
own='vector_add|reduction|compute_heavy|coalesced|low_occupancy|divergent' # coalesced is in uncoalesced
kernels=(python3 -m workloads run kernels --device cuda)
attention=(python3 -m workloads run attention --device cuda)

timeline kernels "${kernels[@]}"
timeline attention "${attention[@]}"
measurements kernels "$own|$matrix_products" "${kernels[@]}"
# Everything but the fused kernel is a matrix product, the scaling of the scores (an elementwise kernel) or the softmax.
measurements attention "$matrix_products|[sS]oft[mM]ax|elementwise|flash|fmha|sdpa|attention" \
    "${attention[@]}" --tokens 2048 --only naive,fused
pack
ls -l "$here"/{kernels,attention}.*
