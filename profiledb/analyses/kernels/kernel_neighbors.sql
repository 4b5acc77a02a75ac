-- title: Neighbors of a kernel
-- The kernels that run right before and right after one kernel in its stream, those that do so most often first. The
-- gap is the time between the two, 0 where they overlap. Fusing kernels that always run one after the other saves the
-- way of the data through memory.
-- page: kernel
-- show: side 90, name 300, calls, share_pct bar 110, gap_ns, avg_ns
-- needs: kernel
-- includes: selection
-- selects: part
-- param: kernel =  number of the kernel (analysis kernels), or its full name
-- param: limit = 3 at most this many rows a side
-- column: side | text | | before or after it
-- column: kernel | text | | number of the neighbor
-- column: name = Neighbor | text | | readable name: without templates and arguments
-- column: calls = Times | count | | how often it is the neighbor
-- column: share_pct | % | .1f | share of the launches of the kernel on this side
-- column: gap_ns = Gap | ns | .0f | median time between the two
-- column: avg_ns = Average | ns | .1f | mean duration of the neighbor
WITH launch AS (
    SELECT name_id, start_ns, end_ns, lag(name_id) OVER by_time AS name_before,
        lag(start_ns) OVER by_time AS start_before, lag(end_ns) OVER by_time AS end_before,
        lead(name_id) OVER by_time AS name_after,
        lead(start_ns) OVER by_time AS start_after, lead(end_ns) OVER by_time AS end_after
    FROM selected_kernel
    WINDOW by_time AS (PARTITION BY global_pid, device_id, stream_id ORDER BY start_ns, end_ns, kernel_id)
), mine AS MATERIALIZED (
    FROM launch WHERE name_id IN (FROM kernel_ids($kernel))
), pair AS (
    SELECT 'before' AS side, name_before AS name_id, start_ns - end_before AS gap_ns, end_before - start_before AS ns
    FROM mine
    UNION ALL
    SELECT 'after', name_after, start_after - end_ns, end_after - start_after FROM mine
), counted AS (
    SELECT side, kernel, any_value(short) AS short, any_value(demangled) AS demangled, count(*) AS calls,
        100.0 * count(*) / (SELECT count(*) FROM mine) AS share_pct, median(greatest(gap_ns, 0)) AS gap_ns,
        avg(ns) AS avg_ns
    FROM pair JOIN kernel_key USING (name_id) GROUP BY side, kernel
)
SELECT side, kernel, readable_name(short, demangled) AS name, calls, share_pct, gap_ns, avg_ns
FROM counted
QUALIFY row_number() OVER (PARTITION BY side ORDER BY calls DESC, kernel) <= $limit::BIGINT
ORDER BY side DESC, calls DESC, kernel;
