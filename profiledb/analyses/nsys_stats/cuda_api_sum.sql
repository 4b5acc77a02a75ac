-- title: CUDA API summary
-- Durations of CUDA calls by name, as `nsys stats -r cuda_api_sum` prints them. Equal totals are ordered by the first
-- appearance of the name in the report.
-- needs: api_call
-- includes: selection, nsys
-- selects: part
-- column: Time (%) | % | .1f | share of the sum of the listed totals
-- column: Total Time (ns) | ns | | sum of durations
-- column: Num Calls | count | | number of calls
-- column: Avg (ns) | ns | .1f | mean duration
-- column: Med (ns) | ns | .1f | median duration
-- column: Min (ns) | ns | | shortest duration
-- column: Max (ns) | ns | | longest duration
-- column: StdDev (ns) | ns | .1f | sample standard deviation (n - 1), 0 for a single launch
-- column: Name | text | | name of the function without its version suffix
WITH summary AS (
    SELECT name_id, sum(end_ns - start_ns)::BIGINT AS total, count(*) AS num,
        avg(end_ns - start_ns) AS mean, median(end_ns - start_ns) AS med, min(end_ns - start_ns) AS low,
        max(end_ns - start_ns) AS high, deviation(end_ns - start_ns) AS dev
    FROM selected_api_call AS api_call
    GROUP BY name_id
)
SELECT nsys_round(total * 1e2 / sum(total) OVER ()) AS "Time (%)", total AS "Total Time (ns)", num AS "Num Calls",
    nsys_round(mean) AS "Avg (ns)", nsys_round(med) AS "Med (ns)", low AS "Min (ns)", high AS "Max (ns)",
    nsys_round(dev) AS "StdDev (ns)", nsys_function(value) AS "Name"
FROM summary LEFT JOIN string ON string_id = name_id
ORDER BY total DESC, name_id;
