-- title: GPU metrics over the capture
-- Every sampled GPU metric as its mean in bins of equal width, by GPU, over the whole capture. If samples are further
-- apart than a bin is wide, each sample has its own row. Time and GPU filters do not apply.
-- page: idle
-- prefetch: part
-- needs: gpu_metric
-- includes: selection
-- param: bins = 400 number of bins over the capture
-- column: gpu_id | id | | number of the GPU
-- column: metric | text | | metric name of the profiler
-- column: time_ns | ns | | middle of the bin, from the start of the capture
-- column: capture_ns | ns | | length of the capture
-- column: mean | number | .2f | mean of the samples in the bin
WITH frame AS (
    SELECT start_ns AS low, end_ns AS high, greatest(1, ceil(duration_ns / $bins::INTEGER))::BIGINT AS width
    FROM capture_window
), binned AS (
    SELECT gpu_id, (time_ns - low) // width * width + width // 2 AS time_ns,
        avg(COLUMNS(* EXCLUDE (gpu_id, time_ns, low, high, width)))
    FROM gpu_metric CROSS JOIN frame WHERE gpu_metric.time_ns BETWEEN low AND high GROUP BY gpu_id, 2
), long AS (UNPIVOT binned ON COLUMNS(* EXCLUDE (gpu_id, time_ns)) INTO NAME metric VALUE mean)
SELECT gpu_id, metric, long.time_ns, duration_ns AS capture_ns, mean FROM long CROSS JOIN capture_window
ORDER BY gpu_id, metric, time_ns;
