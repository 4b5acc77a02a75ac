-- title: What is behind the speed of light
-- Compute and memory throughput are each the maximum over many units. One row per launch and unit, largest first, for
-- the units in ncu's breakdown that the report has.
-- page: kernel_profiles
-- needs: ncu_metric
-- includes: launch
-- param: launch =  number of the launch (analysis ncu_speed_of_light); empty: all launches
-- column: launch_id | id | | number of the launch
-- column: side | text | | compute or memory
-- column: rank | count | | 1 for the largest of its side
-- column: metric | text | | metric of the unit
-- column: pct | % | .1f | share of the peak of the unit
WITH listed AS MATERIALIZED (
    SELECT launch_id, CASE WHEN name LIKE '%:sm%' THEN 'compute' ELSE 'memory' END AS side,
        unnest(string_split("text", ',')) AS metric
    FROM launch_metric(
        'breakdown:(sm__throughput|gpu__compute_memory_throughput)(\.avg\.pct_of_peak_sustained_elapsed)?')
    WHERE $launch::INTEGER IS NULL OR launch_id = $launch::INTEGER
), named AS (
    SELECT DISTINCT metric, metric_id FROM listed JOIN ncu_metric_name ON name = trim(metric)
)
SELECT launch_id, side, row_number() OVER (PARTITION BY launch_id, side ORDER BY value DESC, metric) AS rank,
    trim(metric) AS metric, value AS pct
FROM listed JOIN named USING (metric) JOIN ncu_metric USING (launch_id, metric_id)
WHERE value IS NOT NULL
ORDER BY launch_id, side, rank;
