-- title: Longest gaps
-- Gaps in which a GPU ran no selected work, longest first, with the CPU activity meanwhile: `reason` covers most of the
-- gap on the thread that launched the next operation (`idle_reasons` defines the reasons); `range` is the range that
-- this thread had open, which can differ from the operation's range.
-- page: idle
-- show: start_ns, duration_ns, gpu_id, reason 160, covered_pct, range 210, range_pct, function 150, next 230
-- show: next_range 200, launched_ns, launch 160, thread
-- prefetch: part
-- needs: kernel or memop or graph_launch
-- includes: selection, memory, idle
-- selects: part
-- once: names, functions, idle
-- param: min_ns = 2000 leaves out shorter gaps
-- param: limit = 50 at most this many rows
-- column: start_ns = Start | ns | | start of the gap, from the start of the capture
-- column: duration_ns = Gap | ns | | length of the gap
-- column: gpu_id = GPU | id | | number of the GPU
-- column: reason = CPU activity during gap | text | | activity that took most of the gap
-- column: covered_pct = Share of gap | % | .1f | share of the gap that this activity took
-- column: function | text | | CPU function for most of this time
-- column: range = Range during gap | text | | path of the innermost range that the thread had open for most of the gap
-- column: range_pct = Range share of gap | % | .1f | share of the gap in which it was open
-- column: next = Next operation | text | | operation that ended the gap
-- column: next_range = Range of the next operation | text | | path of the range of this operation, or of the thread that drives its thread
-- column: launched_ns = Launched after | ns | | start of the call that launched it, from the start of the gap; negative: before the gap
-- column: launch = Launched by | text | | function of this call
-- column: thread | text | | process and thread id of this call
WITH idle AS MATERIALIZED (FROM selected_idle($min_ns::BIGINT, $limit::BIGINT)
), reason_of AS (
    SELECT gap_id, {reason: reason, function: function, ns: ns} AS main
    FROM (
        SELECT gap_id, reason, arg_max(function, piece_ns) AS function, sum(piece_ns) AS ns
        FROM (SELECT gap_id, reason, function, sum(ns) AS piece_ns FROM idle GROUP BY ALL) GROUP BY gap_id, reason
    )
    QUALIFY row_number() OVER (PARTITION BY gap_id ORDER BY ns DESC, reason) = 1
), range_of AS (
    SELECT gap_id, arg_max({path_id: path_id, ns: ns}, (ns, -path_id)) AS main
    FROM (
        SELECT gap_id, coalesce(path_id, 0) AS path_id, sum(ns) AS ns FROM idle LEFT JOIN range USING (pre) GROUP BY ALL
    )
    GROUP BY gap_id
), gap AS (
    SELECT gap_id, any_value(device_id) AS device_id, any_value(start_ns) AS start_ns,
        any_value(duration_ns) AS duration_ns, any_value(next) AS next
    FROM idle GROUP BY gap_id
)
SELECT gap.start_ns - capture_window.start_ns AS start_ns, gap.duration_ns, device_id AS gpu_id,
    reason_of.main.reason AS reason, 100.0 * reason_of.main.ns / gap.duration_ns AS covered_pct,
    reason_of.main.function AS function, open.path AS range,
    CASE WHEN open.path IS NOT NULL THEN 100.0 * range_of.main.ns / gap.duration_ns END AS range_pct,
    coalesce(readable, regexp_replace(next.operation, '^\[CUDA (.*)\]$', '\1')) AS next,
    next_path.path AS next_range, api_call.start_ns - gap.start_ns AS launched_ns, api_function.function AS launch,
    thread_label(api_call.global_tid) AS thread
FROM gap CROSS JOIN capture_window JOIN reason_of USING (gap_id) JOIN range_of USING (gap_id)
LEFT JOIN range_path AS open ON open.path_id = range_of.main.path_id
LEFT JOIN kernel_key ON kernel_key.name_id = next.name_id
LEFT JOIN range ON range.pre = next.process_range LEFT JOIN range_path AS next_path ON next_path.path_id = range.path_id
LEFT JOIN api_call ON api_call.call_id = next.call_id LEFT JOIN api_function ON api_function.name_id = api_call.name_id
ORDER BY gap.duration_ns DESC, gap.start_ns, gpu_id;
