-- title: GPU time by kernel class
-- Kernel time by class, such as matmul and attention (classes.toml). Shares refer to the sum of kernel durations, so
-- concurrent kernels both count.
-- page: summary
-- show: class 190, share_pct bar 130, total_ns, calls
-- prefetch: part
-- prefetch: steady
-- needs: kernel
-- includes: selection
-- selects: part
-- column: class | class | | kernel class; `other` if no pattern matches
-- column: total_ns | ns | | sum of durations
-- column: share_pct | % | .2f | share of the sum of all kernel durations shown
-- column: calls = Launches | count | | number of launches
SELECT class, sum(duration_ns)::BIGINT AS total_ns,
    100.0 * sum(duration_ns) / sum(sum(duration_ns)) OVER () AS share_pct, count(*) AS calls
FROM selected_named_kernel
GROUP BY class
ORDER BY total_ns DESC, class;
