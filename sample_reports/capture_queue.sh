#!/usr/bin/env bash
# Captures a queue of tasks that a scheduler works off: first the tasks alone with their energy, of which a model is
# learned; then 500 tasks three times under every policy, and 40 of them once more for the report `queue`. What belongs to
# no report goes to queue_measured/. Some 7 minutes on one H100 with 16 cores.
#
#   NSYS=/path/to/nsys sample_reports/capture_queue.sh      as root, on a machine with one NVIDIA GPU; python3 has
#                                                           PyTorch, pandas, scikit-learn, skops and nvtx
#   sample_reports/capture_queue.sh trial                   the same with tiny numbers and no GPU, to queue_measured/
source "$(dirname "$0")/common.sh"
shift 3
export NSYS=$nsys PYTHONPATH=$PWD
results=queue_measured
mkdir -p "$results"
# No task of the queue has a size that was learned, and none a larger one. The matrices of the largest take 134 MB.
learned=32,48,64,96,128,192,256,384,512,768,1024,1536,2048,3072,4096
steps=3 energy=0.3 sizes=() count=500 shown=40 repeats=3 block=125 device=()
if [ "${1:-}" = trial ]; then
    learned=8,12,16,24,32 steps=2 sizes=(--sizes 10,14,20) count=12 shown=2 repeats=2 block=3 device=(--device cpu) here=$results
fi

measured() { # measured NAME WORKLOAD [options]: without a profiler; NAME.tasks.csv, .meta.json, .nvml.csv in $results
    local name=$1 workload=$2
    shift 2
    if [ ${#device[@]} -gt 0 ]; then # without a GPU there is no power log
        WORKLOADS_RECORD=$results/$name python3 -m workloads run "$workload" "$@" "${device[@]}"
    else
        python3 -m workloads profile "$workload" --tool nvml -o "$results" --name "$name" "$@"
    fi
    echo "$name: $SECONDS s since the start"
}

for precision in fp32 fp64; do
    measured "learn_$precision" tasks --tasks all --precision $precision --sizes $learned --warmup 0 --steps $steps \
        --energy-seconds $energy
done
model=$results/model.skops
python3 -m workloads learn "$results"/learn_fp{32,64}.tasks.csv -o $model | tee "$results/learned.txt"

failed=
if python3 -m workloads profile queue -o "$here" --name queue --model $model --compete --count $count --record $shown \
    --repeats $repeats --block $block "${sizes[@]}" "${device[@]}"; then
    stats queue
    pack
else
    failed="no report queue: nsys says why above"
fi
# What is to be carried home in parts of 16 MiB at most.
find "$results" -type f -size +16M -exec xz -T0 {} +
find "$results" -type f -size +16M -exec split -b 15M {} {}.part_ \; -delete
ls -l "$results"
echo "$SECONDS s"
[ -z "$failed" ] || { echo "$failed"; exit 1; }
