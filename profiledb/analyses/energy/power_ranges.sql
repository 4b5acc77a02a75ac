-- title: Ranges beside the power
-- Instances of the ranges of the selection on one level, the longest ones: to be drawn under `power_over_time`.
-- The time of a range is that on the GPU, from its first operation to the end of its last; of one that launched nothing
-- that on the CPU.
-- page: energy
-- needs: range
-- includes: selection, ranges
-- selects: part, mode
-- param: level = 0 how many ranges are around them
-- param: most = 200 at most this many rows
-- column: path | text | | path of the range
-- column: name | text | | last name of the path
-- column: start_ns | ns | | start, from the start of the capture
-- column: end_ns | ns | | end, from the start of the capture
-- column: on_gpu | bool | | whether the time is that on the GPU
-- column: total | count | | all ranges of the level, shown or not
-- column: levels | count | | levels that the selection has ranges of
WITH span AS (
    SELECT path_id, coalesce(gpu_start_ns, start_ns) AS a, coalesce(gpu_start_ns + gpu_ns, end_ns) AS b,
        gpu_start_ns IS NOT NULL AS on_gpu
    FROM selected_timed_range(selected_mode())
), deepest AS (
    SELECT max(level) + 1 AS levels FROM range_path SEMI JOIN (SELECT DISTINCT path_id FROM span) USING (path_id)
)
SELECT path, name, a - start_ns AS start_ns, b - start_ns AS end_ns, on_gpu, count(*) OVER () AS total, levels
FROM span JOIN range_path USING (path_id) CROSS JOIN capture_window CROSS JOIN deepest
WHERE level = $level::INTEGER AND b > a
ORDER BY b - a DESC, a, path
LIMIT $most::INTEGER;
