-- title: Long gaps
-- question: Is the GPU idle for long stretches?
-- The share of each GPU's active span (first to last operation) that lies in gaps of at least `gap_ns`. Such gaps do
-- not come from launching: the program reads, computes on the CPU, compiles, or waits. The evidence lists them with the
-- activity of the thread that launches the next operation. The cause is `compiling` if that thread spends most
-- of this time in ranges called so, `range` for other ranges, and otherwise the data that the report lacks.
-- needs: kernel or memop or graph_launch
-- includes: finding, idle, waiting
-- selects: part
-- once: span, functions, idle
-- parts: idle
-- level: symptom
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: gap_ns = 500000000 shortest long gap
-- column: gaps | count | | number of these gaps
-- column: longest_ns | ns | | longest of these gaps, if there are several
-- column: reason | text | | activity of the launching thread for most of this time
-- column: idle_ns | ns | | total time of these gaps
-- column: range | name | | range that the launching thread is in for at least half of this time
-- says: The GPU does nothing in {gaps} long gaps, {value} of the time ({idle_ns}); the longest takes {longest_ns}. Meanwhile the CPU is mostly in {range}.
-- says: The GPU does nothing in {gaps} long gaps, {value} of the time ({idle_ns}); the longest takes {longest_ns}. CPU activity for most of it: {reason}.
-- says: The GPU does nothing in {gaps} long gaps, {value} of the time ({idle_ns}); the longest takes {longest_ns}. Nothing in the report tells what the CPU does meanwhile.
-- says: The GPU does nothing in one long gap, {value} of the time ({idle_ns}). Meanwhile the CPU is mostly in {range}.
-- says: The GPU does nothing in one long gap, {value} of the time ({idle_ns}). CPU activity for most of it: {reason}.
-- says: The GPU does nothing in one long gap, {value} of the time ({idle_ns}). Nothing in the report tells what the CPU does meanwhile.
-- clear: Long gaps take {value} of the time.
-- advice: [compiling] -> compile_once
-- advice: [range] Run {range} before the loop, in another thread or process, or while the GPU computes.
-- advice: [untraced, HIP] Record the calls of HIP, too (`rocprofv3 --hip-trace`): they show what the CPU does in these gaps.
-- advice: [untraced, not HIP] Capture CUDA calls, too (`nsys profile --trace=cuda,nvtx,osrt`): they show what the CPU does in these gaps.
-- advice: [no samples, not HIP] Capture CPU samples, too (`nsys profile --sample=process-tree --backtrace=dwarf`): they name the code that runs in these gaps.
-- advice: [no calls, not HIP] Capture OS runtime calls, too (`nsys profile --trace=cuda,nvtx,osrt`): they show where the CPU waits in these gaps.
-- advice: [neither, not HIP] Capture CPU samples and OS runtime calls, too (`nsys profile --sample=process-tree --backtrace=dwarf --trace=cuda,nvtx,osrt`): they show what the CPU does in these gaps.
-- advice: [not range, not compiling] -> name_ranges
-- advice: The timeline shows what the CPU does in these gaps, as far as the report has it.
-- source: Nsight Systems rule gpu_gaps (500 ms); share of the time: ours
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS idle_ns, 0 AS gaps, NULL AS longest_ns, NULL AS range, CASE
        WHEN NOT has_rows('api_call') THEN 'untraced'
        WHEN has_rows('cpu_sample') AND has_rows('osrt_call') THEN 'both'
        WHEN has_rows('cpu_sample') THEN 'no calls'
        WHEN has_rows('osrt_call') THEN 'no samples'
        ELSE 'neither'
    END AS cause, NULL AS reason, NULL AS evidence
FROM finding_window
WHERE ns > 0 AND NOT EXISTS (FROM selected_idle(2000, NULL) WHERE duration_ns >= $gap_ns::BIGINT);

WITH piece AS MATERIALIZED (
    SELECT gap_id, device_id, start_ns, duration_ns, pre, reason, ns FROM selected_idle(2000, NULL)
    WHERE duration_ns >= $gap_ns::BIGINT
), gap AS (
    SELECT gap_id, any_value(device_id) AS device_id, any_value(start_ns) AS start_ns,
        any_value(duration_ns) AS duration_ns, arg_max(pre, ns) AS pre, arg_max(reason, ns) AS reason
    FROM piece GROUP BY gap_id
), total AS (
    SELECT coalesce(sum(duration_ns), 0)::BIGINT AS ns, count(*) AS gaps,
        CASE WHEN count(*) > 1 THEN max(duration_ns) END AS longest_ns
    FROM gap
), place AS (
    SELECT pattern FROM piece JOIN idle_pattern USING (pre) GROUP BY pattern
    HAVING 2 * sum(ns) >= (SELECT ns FROM total) ORDER BY sum(ns) DESC, pattern LIMIT 1
), inside AS (
    SELECT coalesce(sum(ns), 0) AS ns, coalesce(sum(ns) FILTER (is_compiling(pattern)), 0) AS compiling_ns
    FROM piece JOIN idle_pattern USING (pre)
), shown AS (
    SELECT gap_id, {
            'name': coalesce(path, 'Outside all ranges'), 'note': replace(reason, 'host code', 'non-CUDA code'),
            'ns': duration_ns,
            'start_ns': gap.start_ns,
            'end_ns': gap.start_ns + duration_ns, 'device': device_id, 'range': path
        } AS piece
    FROM (FROM gap ORDER BY gap_id LIMIT 10) AS gap
    LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT 100.0 * total.ns / nullif(finding_window.ns, 0) AS value, total.ns AS saving_ns, total.ns AS idle_ns, gaps,
    longest_ns, pattern AS range, CASE
        WHEN 2 * compiling_ns >= total.ns AND total.ns > 0 THEN 'compiling'
        WHEN 2 * inside.ns >= total.ns AND total.ns > 0 THEN 'range'
        WHEN NOT has_rows('api_call') THEN 'untraced'
        WHEN has_rows('cpu_sample') AND has_rows('osrt_call') THEN 'both'
        WHEN has_rows('cpu_sample') THEN 'no calls'
        WHEN has_rows('osrt_call') THEN 'no samples'
        ELSE 'neither'
    END AS cause, (
        SELECT nullif(replace(reason, 'host code', 'non-CUDA code'), 'unknown') FROM piece
        GROUP BY reason ORDER BY sum(ns) DESC, reason LIMIT 1
    ) AS reason,
    (SELECT list(piece ORDER BY gap_id) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN inside LEFT JOIN place ON true;
