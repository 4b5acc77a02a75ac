-- title: Call paths of a profile without times
-- Sums by call path of a profile such as one of Triton's proton, callers first, each with all paths below it. FLOPs
-- and bytes are those that the program states for a path or one below it (`scope(name, {"flops": ...})`). A path that
-- states them itself has a rate, too: by the time of the kernels there. The paths with the most time are returned.
-- page: call_paths
-- show: name 420, calls, total_ns, share_pct bar 110, flops 110, flops_per_s 120, bytes, bytes_per_s, metrics
-- needs: path_sum
-- includes: path_sums
-- param: limit = 2000 at most this many rows
-- column: node_id | id | | number of the path
-- column: parent_id | id | | path of its caller; empty for an outermost one
-- column: level | count | | number of callers
-- column: name = Call path | text | | function, scope or kernel
-- column: is_kernel | text | | whether it has launches of its own
-- column: calls = Launches | count | | launches on this path and below it
-- column: total_ns | ns | | sum of their durations
-- column: share_pct | % | .2f | share of the time of all kernels
-- column: flops = FLOPs | FLOP | | operations stated for these paths
-- column: flops_per_s = FLOP/s | FLOP/s | | these operations by the kernels' time
-- column: bytes | bytes | | traffic stated for these paths
-- column: bytes_per_s = Traffic | bytes/s | | this traffic by the kernels' time
-- column: metrics | text | | other metrics of the path itself, as JSON
WITH run AS (  -- running sums, and numbers of figures, up to each path
    SELECT path_id, sum(calls) OVER w AS calls, count(calls) OVER w AS has_calls, sum(total_ns) OVER w AS total_ns,
        count(total_ns) OVER w AS has_ns, sum(flops) OVER w AS flops, count(flops) OVER w AS has_flops,
        sum(bytes) OVER w AS bytes, count(bytes) OVER w AS has_bytes
    FROM path_sum WINDOW w AS (ORDER BY path_id ROWS UNBOUNDED PRECEDING)
), summed AS (
    SELECT path_sum.path_id, parent_id, level, path_sum.name, name_id, metrics_json,
        path_sum.flops IS NOT NULL AS states_flops, path_sum.bytes IS NOT NULL AS states_bytes,
        CASE WHEN last.has_calls > coalesce(before.has_calls, 0) THEN last.calls - coalesce(before.calls, 0) END
            AS calls,
        CASE WHEN last.has_ns > coalesce(before.has_ns, 0) THEN last.total_ns - coalesce(before.total_ns, 0) END
            AS total_ns,
        CASE WHEN last.has_flops > coalesce(before.has_flops, 0) THEN last.flops - coalesce(before.flops, 0) END
            AS flops,
        CASE WHEN last.has_bytes > coalesce(before.has_bytes, 0) THEN last.bytes - coalesce(before.bytes, 0) END
            AS bytes
    FROM path_sum JOIN run AS last ON last.path_id = last_id
    LEFT JOIN run AS before ON before.path_id = path_sum.path_id - 1
), shown AS (
    SELECT * FROM summed ORDER BY total_ns DESC NULLS LAST, path_id LIMIT $limit::BIGINT
)
SELECT path_id AS node_id, parent_id, level, coalesce(short, name) AS name,
    CASE WHEN name_id IS NOT NULL THEN 'yes' ELSE 'no' END AS is_kernel, calls::BIGINT AS calls,
    total_ns::BIGINT AS total_ns, 100.0 * total_ns / nullif((SELECT sum(total_ns) FROM path_sum), 0) AS share_pct,
    flops, CASE WHEN states_flops THEN flops / nullif(total_ns, 0) * 1e9 END AS flops_per_s,
    bytes, CASE WHEN states_bytes THEN bytes / nullif(total_ns, 0) * 1e9 END AS bytes_per_s,
    metrics_json AS metrics
FROM shown LEFT JOIN kernel_name USING (name_id)
ORDER BY path_id;
