-- title: Kernels of a profile without times
-- Kernels of a profile that has sums by call path, such as one of Triton's proton, with the most time first. When a
-- launch ran is not in the file, so neither spread nor idle time is known. FLOPs and bytes count where the program
-- states them for the kernel's own path; those of scopes around it are in `path_tree`.
-- page: call_paths
-- show: name 420, class 184, calls, total_ns, share_pct bar 110, avg_ns, paths, device
-- needs: path_sum
-- includes: path_sums
-- param: limit = 1000 at most this many rows
-- column: name = Kernel | text | | name without templates and arguments
-- column: class | class | | kernel class
-- column: calls = Launches | count | | launches on all paths
-- column: total_ns | ns | | sum of durations
-- column: share_pct | % | .2f | share of the time of all kernels
-- column: avg_ns = Average | ns | .1f | mean duration of a launch
-- column: paths = Call paths | count | | number of paths that launch it
-- column: device = GPU | text | | kind and number of the GPU
-- column: flops = FLOPs | FLOP | | operations stated for the kernel itself
-- column: bytes | bytes | | traffic stated for the kernel itself
-- column: demangled | text | | full name
SELECT any_value(short) AS name, any_value(class) AS class, sum(calls)::BIGINT AS calls,
    sum(total_ns)::BIGINT AS total_ns, 100.0 * sum(total_ns) / nullif(sum(sum(total_ns)) OVER (), 0) AS share_pct,
    sum(total_ns) / nullif(sum(calls) FILTER (total_ns IS NOT NULL), 0) AS avg_ns, count(*) AS paths,
    nullif(concat_ws(' ', device_type, device_id), '') AS device, sum(flops) AS flops, sum(bytes) AS bytes, demangled
FROM path_sum JOIN kernel_name USING (name_id)
GROUP BY demangled, device_type, device_id
ORDER BY sum(total_ns) DESC NULLS LAST, demangled, device
LIMIT $limit::BIGINT;
