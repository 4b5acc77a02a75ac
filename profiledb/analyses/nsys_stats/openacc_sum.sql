-- title: OpenACC summary
-- Durations of OpenACC events on the CPU by event and source location, as `nsys stats -r openacc_sum` prints them.
-- Times include nested events, as in nsys. Equal totals are ordered by name. Events with an end before their start are
-- left out, unlike in nsys.
-- needs: openacc_event
-- includes: nsys
-- column: Time (%) | % | .1f | share of the sum of the listed totals
-- column: Total Time (ns) | ns | | sum of durations
-- column: Num Calls | count | | number of events
-- column: Avg (ns) | ns | .1f | mean duration
-- column: Med (ns) | ns | .1f | median duration
-- column: Min (ns) | ns | | shortest duration
-- column: Max (ns) | ns | | longest duration
-- column: StdDev (ns) | ns | .1f | sample standard deviation (n - 1), 0 for a single launch
-- column: Name | text | | event@file:line, or the event alone if its source is unknown
WITH named AS (
    SELECT CASE WHEN source_id IS NULL THEN event.value
            ELSE event.value || '@' || file.value || ':' || line END AS name,
        end_ns - start_ns AS duration
    FROM openacc_event
    LEFT JOIN string AS event ON event.string_id = name_id
    LEFT JOIN string AS file ON file.string_id = source_id
), summary AS (
    SELECT name, sum(duration)::BIGINT AS total, count(*) AS num, avg(duration) AS mean, median(duration) AS med,
        min(duration) AS low, max(duration) AS high, deviation(duration) AS dev
    FROM named
    GROUP BY name
)
SELECT nsys_round(total * 1e2 / sum(total) OVER ()) AS "Time (%)", total AS "Total Time (ns)", num AS "Num Calls",
    nsys_round(mean) AS "Avg (ns)", nsys_round(med) AS "Med (ns)", low AS "Min (ns)", high AS "Max (ns)",
    nsys_round(dev) AS "StdDev (ns)", name AS "Name"
FROM summary
ORDER BY total DESC, name NULLS FIRST;
