-- title: Power limit reached
-- question: Does the GPU reach its power limit?
-- The mean power in the power log beside the report, over readings in busy time of the selection, as a share of the
-- power limit that the program recorded; the GPU with the largest share counts. Near the limit the board lowers its
-- clocks, so times depend on power. Readings are driver averages and may briefly exceed the limit.
-- needs: power_log
-- needs: kernel or graph_launch
-- includes: finding, sidecar, power
-- selects: part
-- unit: %
-- fires: above
-- weight: warning
-- param: threshold = 97 fires at or above this share of the limit
-- param: least = 3 fewest readings in busy time that are judged
-- column: power_w | count | .0f | mean power in busy time, W
-- column: limit_w | count | .0f | power limit, W
-- column: readings | count | | readings in busy time
-- says: The GPU draws {power_w} W while it works, {value} of its limit of {limit_w} W: the limit sets its clocks.
-- clear: The GPU draws {value} of its power limit while it works.
-- advice: Compare runs only at the same power limit, and look at the clocks; lower precision and less memory traffic save power, which raises the clocks.
-- source: NVIDIA omniperf diagnose-perf (throttle reasons); 97 %: ours, a sample at its full clock draws 95 %
WITH busy_reading AS (
    SELECT reading.* FROM (FROM power_reading WHERE power_w IS NOT NULL) AS reading
    ASOF JOIN selected_busy AS work ON reading.gpu_id = work.device_id AND reading.time_ns >= work.start_ns
    WHERE reading.time_ns <= work.end_ns
), by_gpu AS (
    SELECT gpu_id, count(*) AS readings, avg(power_w) AS power_w FROM busy_reading GROUP BY gpu_id
    HAVING count(*) >= $least::INTEGER
), highest AS (
    SELECT by_gpu.*, limit_w FROM by_gpu LEFT JOIN power_limit USING (gpu_id)
    ORDER BY power_w / limit_w DESC NULLS LAST, gpu_id LIMIT 1
)
SELECT 100 * power_w / limit_w AS value, CASE WHEN power_w IS NULL
            THEN 'Too few readings of the log lie in the busy time of the selection.'
        ELSE 'The power limit is not known: NAME.meta.json names it as gpus.0.power_limit_w.' END AS unjudged,
    power_w, limit_w, readings
FROM (SELECT 1) LEFT JOIN highest ON true;
