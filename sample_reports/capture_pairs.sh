#!/usr/bin/env bash
# Captures the sample reports that come in pairs (a fault, and the same work without it), and those with a Python timer's
# times beside them: NAME.nsys-rep, NAME.sqlite, NAME.meta.json, NAME.timings.csv, NAME.nvml.csv.
#
#   NSYS=/path/to/nsys sample_reports/capture_pairs.sh      as root, on a machine with one NVIDIA GPU
source "$(dirname "$0")/common.sh"
export NSYS=$nsys
failed=()

capture() { # capture NAME WORKLOAD [options]: the report with all that belongs beside it, and what nsys says of it
    local name=$1 workload=$2
    shift 2
    if python3 -m workloads profile "$workload" -o "$here" --name "$name" "$@"; then
        stats "$name"
    else
        failed+=("$name")
    fi
}

size_check() { # size_check NAME...: what is too large for the repository
    local name total=0
    for name in "$@"; do
        [ -e "$here/$name.nsys-rep" ] || continue
        find "$here" -maxdepth 1 -name "$name.nsys-rep" -size +1500k -printf '%f is too large: %s bytes\n'
        total=$((total + $(du -cb "$here/$name".* "$here/oracle/$name" | tail -1 | cut -f1)))
        ls -l "$here/$name".*
    done
    echo "$total bytes in all; at most 25000000"
}

names=(dataloader_starved dataloader_fixed streams_serial streams_overlapped launches_tiny launches_graph
    launches_graph_nodes idle_host_bound idle_fixed tasks energy transformer_steps)

capture dataloader_starved dataloader --mode starved
capture dataloader_fixed dataloader --mode fixed
capture streams_serial streams --mode serial
capture streams_overlapped streams --mode overlapped
capture launches_tiny launches --mode tiny
capture launches_graph launches --mode graph
capture launches_graph_nodes launches --mode graph --arg=--cuda-graph-trace=node
capture idle_host_bound idle --mode host_bound
capture idle_fixed idle --mode fixed
capture tasks tasks --sizes 16,32,64,128,256,512,1024,2048,4096,8192 --steps 5
capture energy energy --batches 1,8,64,512 --seconds 1
capture transformer_steps transformer --size medium --precision bf16 --prime 2 --warmup 2 --steps 5
pack

size_check "${names[@]}"
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}"
    exit 1
fi
