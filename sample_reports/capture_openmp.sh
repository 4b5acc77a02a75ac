#!/usr/bin/env bash
# Captures the sample report of OpenMP regions. It needs no GPU, but 4 free cores and LLVM's libomp: libomp.so.5 lies in
# /usr/local/lib or where the linker looks.
#
#   NSYS=/path/to/nsys NCU=none sample_reports/capture_openmp.sh      as root, with gcc and the headers of CUDA
source "$(dirname "$0")/common.sh"
build=$(mktemp -d)
gcc -O2 -fopenmp -I/usr/local/cuda/include -c workloads/openmp_regions.c -o "$build/openmp_regions.o"
gcc "$build/openmp_regions.o" -L/usr/local/lib -l:libomp.so.5 -o "$build/openmp_regions"

"$nsys" profile -o "$here/openmp_regions" --force-overwrite true --trace=openmp,nvtx,osrt --sample=none --cpuctxsw=none \
    -e OMP_NUM_THREADS=4,LD_LIBRARY_PATH=/usr/local/lib "$build/openmp_regions" 10
stats openmp_regions
pack
ls -l "$here"/openmp_regions* "$here"/oracle/openmp_regions
