-- title: OS runtime calls by function
-- Durations of calls into the OS libraries by function, longest total first. They are sums over threads: a thread that
-- only waits for work counts in full.
-- page: api
-- show: function 300, share_pct bar 110, total_ns, calls, avg_ns, median_ns, max_ns, threads
-- prefetch: part
-- needs: osrt_call
-- includes: selection
-- selects: part
-- column: function | text | | name of the function
-- column: share_pct | % | .1f | share of the sum of all durations
-- column: total_ns | ns | | sum of durations
-- column: calls | count | | number of calls
-- column: avg_ns = Average | ns | .1f | mean duration
-- column: median_ns | ns | .1f | median duration
-- column: max_ns | ns | | longest duration
-- column: threads | count | | threads that call it
WITH summary AS (
    SELECT name_id, sum(end_ns - start_ns)::BIGINT AS total_ns, count(*) AS calls, avg(end_ns - start_ns) AS avg_ns,
        median(end_ns - start_ns) AS median_ns, max(end_ns - start_ns) AS max_ns, count(DISTINCT global_tid) AS threads
    FROM selected_osrt_call AS osrt_call WHERE event_class = 27 GROUP BY name_id
)
SELECT value AS function, 100.0 * total_ns / nullif(sum(total_ns) OVER (), 0) AS share_pct,
    total_ns, calls, avg_ns, median_ns, max_ns, threads
FROM summary LEFT JOIN string ON string_id = name_id
ORDER BY total_ns DESC, function, name_id;
