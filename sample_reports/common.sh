# Parts of the capture scripts beside this file, which source it first thing.
#
# nsys writes the environment of every process it can see into its report, not only that of the program it starts. So
# everything runs with an empty environment and in namespaces of its own: no other process and no real host name is seen.
set -euo pipefail

if [ "${1:-}" != --inside ]; then
    exec env -i PATH="$PATH" HOME=/root LANG=C.UTF-8 \
        unshare --fork --pid --mount-proc --uts \
        bash "$0" --inside "${NSYS:-$(command -v nsys)}" "${NCU:-$(command -v ncu)}" "$@"
fi
nsys=$2
ncu=$3
hostname gpu-node
cd "$(dirname "$0")/.."
here=sample_reports

stats() { # stats NAME: what `nsys stats` and `nsys analyze` print about a report, one CSV a report; none where it has no data
    local name=$1 directory=$here/oracle/$1 report
    mkdir -p "$directory"
    "$nsys" export --quiet true --type sqlite --include-blobs true --force-overwrite true -o "$here/$name.sqlite" "$here/$name.nsys-rep"
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

pack() { # oracles over 8 kB, of which gzip -n makes the same bytes every time
    find "$here/oracle" -name '*.csv' -size +8192c -exec gzip -9nf {} +
}
