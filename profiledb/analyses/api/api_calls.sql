-- title: CUDA API calls by function
-- Durations and purpose of CUDA calls by function, longest total first. Nested calls, such as driver calls inside
-- runtime calls, count in both, and concurrent calls of several threads add up. The name gives the category: launch;
-- synchronization, which waits for the GPU; blocking copy, a memcpy without Async; queued copy, all other memcpy and
-- memset calls; allocation, which includes frees, on GPU and host; module loading; other.
-- page: api
-- show: function 280, share_pct bar 110, total_ns, category 194, calls, avg_ns, median_ns, min_ns, max_ns, failed
-- prefetch: part
-- needs: api_call
-- includes: selection, memory
-- selects: part
-- once: functions
-- column: function | text | | name without its version suffix
-- column: category = For | text | | purpose of the call, from its name
-- column: share_pct | % | .1f | share of the sum of all durations
-- column: total_ns | ns | | sum of durations
-- column: calls | count | | number of calls
-- column: avg_ns = Average | ns | .1f | mean duration
-- column: median_ns | ns | .1f | median duration
-- column: min_ns | ns | | shortest duration
-- column: max_ns | ns | | longest duration
-- column: failed = Not success | count | | calls that did not return success; a query may also return “not ready yet”
WITH summary AS (
    SELECT name_id, sum(end_ns - start_ns)::BIGINT AS total_ns, count(*) AS calls, avg(end_ns - start_ns) AS avg_ns,
        median(end_ns - start_ns) AS median_ns, min(end_ns - start_ns) AS min_ns, max(end_ns - start_ns) AS max_ns,
        count(*) FILTER (return_value <> 0) AS failed
    FROM selected_api_call AS api_call GROUP BY name_id
)
SELECT function, category, 100.0 * total_ns / nullif(sum(total_ns) OVER (), 0) AS share_pct,
    total_ns, calls, avg_ns, median_ns, min_ns, max_ns, failed
FROM summary LEFT JOIN api_function USING (name_id)
ORDER BY total_ns DESC, function, name_id;
