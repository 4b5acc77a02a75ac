#!/usr/bin/env bash
# Captures the sample report of the host: CPU samples, thread switches, Python stacks (sampled, and of CUDA calls), back
# traces of launches, operating system calls. It is the starved loader: the Python code that the GPU waits for has names.
#
#   NSYS=/path/to/nsys sample_reports/capture_host.sh      as root, on a machine with one NVIDIA GPU; nsys 2025.3 or newer
source "$(dirname "$0")/common.sh"
export NSYS=$nsys OMP_NUM_THREADS=4 # few threads, so that the samples of their waiting do not fill the report

python3 -m workloads profile dataloader -o "$here" --name host_python --mode starved --warmup 1 --steps 3 \
    --env OMP_NUM_THREADS --arg=--trace=cuda,nvtx,osrt --arg=--sample=process-tree --arg=--sampling-period=8000000 \
    --arg=--cpuctxsw=process-tree --arg=--cudabacktrace=kernel:0 \
    --arg=--python-sampling=true --arg=--python-sampling-frequency=500 --arg=--python-backtrace=cuda
stats host_python
pack
ls -l "$here"/host_python* "$here"/oracle/host_python
