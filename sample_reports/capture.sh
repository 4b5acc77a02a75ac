#!/usr/bin/env bash
# Captures the sample reports and their oracles again.
#
#   NSYS=/path/to/nsys NCU=/path/to/ncu sample_reports/capture.sh        as root, on a machine with one NVIDIA GPU
#
# nsys writes the environment of every process it can see into its report, not only that of the program it starts. So
# everything runs with an empty environment and in namespaces of its own: no other process and no real host name is seen.
set -euo pipefail

if [ "${1:-}" != --inside ]; then
    exec env -i PATH="$PATH" HOME=/root LANG=C.UTF-8 \
        unshare --fork --pid --mount-proc --uts \
        bash "$0" --inside "${NSYS:-$(command -v nsys)}" "${NCU:-$(command -v ncu)}"
fi
nsys=$2
ncu=$3
hostname gpu-node
cd "$(dirname "$0")/.."
here=sample_reports
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

stats() { # stats NAME: what `nsys stats` and `nsys analyze` print about a report, one CSV a report; none where it has no data
    local name=$1 directory=$here/oracle/$1 report
    mkdir -p "$directory"
    "$nsys" export --quiet true --type sqlite --force-overwrite true -o "$here/$name.sqlite" "$here/$name.nsys-rep"
    cp "$here/$name.sqlite" "$directory/input.sqlite" # stats may add indexes to its input
    for report in $("$nsys" stats --help-reports | sed -n 's/^  \([a-z0-9_]*\)\[*.* -- .*/\1/p') \
        cuda_gpu_kern_sum:{base,mangled,nvtx-name} cuda_gpu_kern_gb_sum:base cuda_gpu_trace:base nvtx_kern_sum:base; do
        table stats "$report" "$directory/${report/:/_}"
    done
    for report in cuda_api_sync cuda_memcpy_async cuda_memcpy_sync cuda_memset_sync gpu_gaps gpu_time_util; do
        table analyze "$report:rows=-1" "$directory/$report"
    done
    table analyze gpu_gaps:gap=1:rows=-1 "$directory/gpu_gaps_from_1_ms"
    rm "$directory/input.sqlite"
}

table() { # table stats|analyze REPORT FILE: writes FILE.csv
    local scratch=$directory/scratch
    mkdir -p "$scratch"
    "$nsys" "$1" --quiet -r "$2" --format csv -o "$scratch/x" "$directory/input.sqlite"
    find "$scratch" -name '*.csv' -size +0 -exec mv {} "$3.csv" \;
    rm -r "$scratch"
}

pages() { # pages NAME: what ncu prints about a report
    local page directory=$here/oracle/${1}_ncu
    mkdir -p "$directory"
    for page in raw details; do
        "$ncu" --import "$here/$1.ncu-rep" --csv --page $page --print-units base > "$directory/$page.csv"
    done
}

inference transformer_inference
training transformer_training
stats transformer_inference
stats transformer_training
training_kernels transformer_training
pages transformer_training
attention_kernels transformer_inference
pages transformer_inference
find "$here/oracle" -name '*.csv' -size +1M -exec gzip -9nf {} +
