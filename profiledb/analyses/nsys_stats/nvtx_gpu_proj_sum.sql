-- title: NVTX GPU projection summary
-- Ranges that launched work by name, each from the start of its first operation on the GPU to the end of its last one,
-- as `nsys stats -r nvtx_gpu_proj_sum` prints them. Nested ranges do not reduce a range. The mode `process` adds
-- launches of threads that the range's thread drives; nsys does not. Differences to nsys are those of
-- nvtx_gpu_proj_trace.
-- needs: range
-- needs: api_call
-- needs: kernel or memop
-- includes: selection, nsys
-- selects: part, mode
-- column: Range | text | | domain:name, or the name alone
-- column: Style | text | | PushPop or StartEnd
-- column: Total Proj Time (ns) | ns | | sum of the projected durations
-- column: Total Range Time (ns) | ns | | sum of the durations on the CPU
-- column: Range Instances | count | | ranges that launched work
-- column: Proj Avg (ns) | ns | .1f | mean projected duration
-- column: Proj Med (ns) | ns | .1f | median projected duration
-- column: Proj Min (ns) | ns | | shortest projected duration
-- column: Proj Max (ns) | ns | | longest projected duration
-- column: Proj StdDev (ns) | ns | .1f | sample standard deviation (n - 1), 0 for a single launch
-- column: Total GPU Ops | count | | calls that launched work; a CUDA graph counts once
-- column: Avg GPU Ops | count | .1f | mean of these per range
-- column: Avg Range Lvl | count | .1f | mean number of enclosing ranges
-- column: Avg Num Child | count | .1f | mean number of directly nested ranges that launched work
WITH projected AS (
    SELECT name, style, projection.end_ns - projection.start_ns AS length, range.end_ns - range.start_ns AS duration,
        launches, level, range_id, parent_id
    FROM projection JOIN selected_range AS range USING (range_id) JOIN nsys_range_name USING (name_id)
    WHERE mode = selected_mode()
), child AS (
    SELECT parent_id AS range_id, count(*) AS children FROM projected GROUP BY parent_id
)
SELECT name AS "Range", style AS "Style", sum(length)::BIGINT AS "Total Proj Time (ns)",
    sum(duration)::BIGINT AS "Total Range Time (ns)", count(*) AS "Range Instances",
    nsys_round(avg(length)) AS "Proj Avg (ns)",
    nsys_round(median(length)) AS "Proj Med (ns)", min(length) AS "Proj Min (ns)", max(length) AS "Proj Max (ns)",
    nsys_round(deviation(length)) AS "Proj StdDev (ns)", sum(launches)::BIGINT AS "Total GPU Ops",
    nsys_round(avg(launches)) AS "Avg GPU Ops", nsys_round(avg(level)) AS "Avg Range Lvl",
    nsys_round(avg(coalesce(children, 0))) AS "Avg Num Child"
FROM projected LEFT JOIN child USING (range_id)
GROUP BY name, style
ORDER BY "Total Proj Time (ns)" DESC, name, style;
