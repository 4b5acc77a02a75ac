-- title: Distribution of the durations of a kernel
-- Number of launches of one kernel by duration. A bin holds low_ns <= duration < high_ns; the last one includes its
-- upper end. Bins are never narrower than 32 ns, the GPU clock resolution of many models, to avoid a comb pattern.
-- page: kernel
-- needs: kernel
-- includes: selection
-- selects: part
-- param: kernel =  number of the kernel (analysis kernels), or its full name
-- param: bins = 60 at most this many bins
-- param: scale = auto (auto, linear, log) bin width: equal, growing by a factor, or log if max exceeds 20 times min
-- column: bin | count | | number of the bin, from 0
-- column: low_ns | ns | .1f | lower end of the bin
-- column: high_ns | ns | .1f | upper end of the bin
-- column: launches | count | | number of launches in the bin
-- column: total_ns | ns | | sum of their durations
-- column: scale | text | | linear or log
WITH duration AS (
    SELECT end_ns - start_ns AS ns FROM selected_kernel AS kernel WHERE name_id IN (FROM kernel_ids($kernel))
), range_of AS (
    SELECT min(ns) AS least_ns, max(ns) AS most_ns,
        CASE WHEN $scale <> 'auto' THEN $scale WHEN most_ns > 20 * greatest(least_ns, 1) THEN 'log'
            ELSE 'linear' END AS scale
    FROM duration HAVING count(*) > 0
), frame AS (
    SELECT *, CASE scale WHEN 'log' THEN ln(greatest(least_ns, 1)) ELSE least_ns END AS low,
        CASE scale WHEN 'log' THEN ln(greatest(most_ns, 1)) ELSE most_ns END AS high,
        CASE scale WHEN 'log' THEN ln(1 + 32.0 / greatest(least_ns, 1)) ELSE 32.0 END AS finest,
        greatest(1, least($bins::INTEGER, floor((high - low) / finest)))::INTEGER AS bins,
        CASE WHEN high > low THEN (high - low) / bins ELSE finest END AS width
    FROM range_of
), counted AS (
    SELECT least(bins - 1,
        floor((CASE scale WHEN 'log' THEN ln(greatest(ns, 1)) ELSE ns END - low) / width))::INTEGER AS bin,
        count(*) AS launches, sum(ns)::BIGINT AS total_ns
    FROM duration CROSS JOIN frame GROUP BY bin
), edge AS (
    SELECT unnest(range(bins)) AS bin, low, width, scale FROM frame
)
SELECT bin::INTEGER AS bin,
    CASE scale WHEN 'log' THEN exp(low + bin * width) ELSE low + bin * width END::DOUBLE AS low_ns,
    CASE scale WHEN 'log' THEN exp(low + (bin + 1) * width) ELSE low + (bin + 1) * width END::DOUBLE AS high_ns,
    coalesce(launches, 0) AS launches, coalesce(total_ns, 0) AS total_ns, scale
FROM edge LEFT JOIN counted USING (bin)
ORDER BY bin;
