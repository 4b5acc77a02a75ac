-- title: OpenMP summary
-- Durations of OpenMP events on the CPU by event, as `nsys stats -r openmp_sum` prints them. Times include nested
-- events, and unclosed events last until the end of the session, as in nsys. `openmp_regions` removes both. Equal
-- totals are ordered alphabetically by kind. Events with an end before their start are left out, unlike in nsys.
-- needs: openmp_event
-- includes: selection, nsys
-- selects: part
-- column: Time (%) | % | .1f | share of the sum of the listed totals
-- column: Total Time (ns) | ns | | sum of durations
-- column: Count | count | | number of events
-- column: Avg (ns) | ns | .1f | mean duration
-- column: Med (ns) | ns | .1f | median duration
-- column: Min (ns) | ns | | shortest duration
-- column: Max (ns) | ns | | longest duration
-- column: StdDev (ns) | ns | .1f | sample standard deviation (n - 1), 0 for a single launch
-- column: Name | text | | name of the event
WITH summary AS (
    SELECT kind, name_id, sum(end_ns - start_ns)::BIGINT AS total, count(*) AS num, avg(end_ns - start_ns) AS mean,
        median(end_ns - start_ns) AS med, min(end_ns - start_ns) AS low, max(end_ns - start_ns) AS high,
        deviation(end_ns - start_ns) AS dev
    FROM selected_openmp_event
    GROUP BY kind, name_id
)
SELECT nsys_round(total * 1e2 / sum(total) OVER ()) AS "Time (%)", total AS "Total Time (ns)", num AS "Count",
    nsys_round(mean) AS "Avg (ns)", nsys_round(med) AS "Med (ns)", low AS "Min (ns)", high AS "Max (ns)",
    nsys_round(dev) AS "StdDev (ns)", value AS "Name"
FROM summary LEFT JOIN string ON string_id = name_id
ORDER BY total DESC, kind, name_id;
