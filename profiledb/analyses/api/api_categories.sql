-- title: CUDA API calls by category
-- Durations of CUDA calls by category (see `api_calls`), longest total first.
-- page: api
-- prefetch: part
-- needs: api_call
-- includes: selection, memory
-- selects: part
-- once: functions
-- column: category | text | | category of the calls
-- column: total_ns | ns | | sum of durations
-- column: share_pct | % | .1f | share of the sum of all durations
-- column: calls | count | | number of calls
-- column: function | text | | function with the largest total
WITH summary AS (
    SELECT name_id, sum(end_ns - start_ns)::BIGINT AS ns, count(*) AS calls
    FROM selected_api_call AS api_call GROUP BY name_id
)
SELECT coalesce(category, 'other') AS category, sum(ns)::BIGINT AS total_ns,
    100.0 * total_ns / nullif(sum(sum(ns)) OVER (), 0) AS share_pct, sum(summary.calls)::BIGINT AS calls,
    arg_max(function, ns) AS function
FROM summary LEFT JOIN api_function USING (name_id)
GROUP BY ALL ORDER BY total_ns DESC, category;
