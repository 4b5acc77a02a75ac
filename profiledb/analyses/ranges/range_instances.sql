-- title: Instances of a range
-- One row per instance in time order: CPU time of the range, and its GPU work in the mode of the selection. The first
-- instances on a thread look like warm-up while, in sequence, each exceeds the median of the later two thirds by more
-- than three median absolute deviations and more than a tenth, in CPU or GPU time; at most the first third. More
-- instances than `points` are cut into stretches that keep the shortest and the longest on either side, so outliers
-- stay.
-- page: ranges
-- needs: range
-- includes: selection, ranges
-- selects: part, mode
-- param: path =  path as nvtx_tree prints it, or a name at any position
-- param: points = 2000 at most this many rows
-- column: nth | count | | number in time order, from 1
-- column: range_id | id | | number of the range in the report
-- column: path | text | | path of the range
-- column: number | count | | number among those of its path and thread, from 1, as a selection counts
-- column: thread | text | | process and thread id of the opening thread
-- column: start_ns | ns | | start, from the start of the capture
-- column: cpu_ns | ns | | duration on the CPU
-- column: gpu_start_ns | ns | | start of its first operation on the GPU, from the start of the capture
-- column: gpu_ns | ns | | from its first GPU operation to the end of its last, gaps included
-- column: busy_ns | ns | | time in which its operations ran
-- column: operations | count | | kernels, memcpy, memset and whole CUDA graphs; empty if the report has none in ranges
-- column: gap_ns | ns | | time from the end of the previous instance on its thread, selected or not; negative if they overlap
-- column: is_warmup | bool | | whether it looks like warm-up
-- column: closed | bool | | false if the capture ended inside it
-- column: instances | count | | number of all instances, shown or not
WITH instance AS MATERIALIZED (
    SELECT *, row_number() OVER (ORDER BY start_ns, range_id) - 1 AS i, count(*) OVER () AS instances
    FROM selected_instances($path::VARCHAR, selected_mode())
), shown AS (
    SELECT unnest(CASE WHEN any_value(instances) <= $points::INTEGER THEN list(i)
        ELSE [arg_min(i, cpu_ns), arg_max(i, cpu_ns), arg_min(i, gpu_ns), arg_max(i, gpu_ns)] END) AS i
    FROM instance GROUP BY i // (instances // greatest(1, $points::INTEGER // 4) + 1), instances <= $points::INTEGER
)
SELECT i + 1 AS nth, range_id, path, number, thread_label(global_tid) AS thread,
    instance.start_ns - capture_window.start_ns AS start_ns,
    cpu_ns, gpu_start_ns - capture_window.start_ns AS gpu_start_ns, gpu_ns, busy_ns, operations, gap_ns, is_warmup,
    closed,
    instances
FROM instance SEMI JOIN shown USING (i) CROSS JOIN capture_window
ORDER BY i;
