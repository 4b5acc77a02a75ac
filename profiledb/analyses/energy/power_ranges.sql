-- title: Ranges beside the power
-- The longest selected ranges on one nesting level, drawn under `power_over_time`. The time of a range is that on the
-- GPU, from its first operation to the end of its last, or that on the CPU if it launched nothing.
-- page: energy
-- needs: range
-- includes: selection, ranges
-- selects: part, mode
-- param: level = 0 number of enclosing ranges
-- param: most = 200 at most this many rows
-- column: path | text | | path of the range
-- column: name | text | | last name of the path
-- column: start_ns | ns | | start, from the start of the capture
-- column: end_ns | ns | | end, from the start of the capture
-- column: on_gpu | bool | | whether the time is GPU time
-- column: total | count | | number of all ranges on the level, shown or not
-- column: levels | count | | number of levels with ranges in the selection
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
