-- title: Time of a rank: compute, communication, copies, idle
-- Activity of a GPU in the steps of its process, one row per GPU, process and step. Compute is the time of kernels
-- other than communication (NCCL, and the class "communication") and of whole CUDA graphs, whose content is unknown;
-- communication is hidden while compute ran, and exposed otherwise; copies (and memsets) count while no kernel ran;
-- idle is the rest. All are exact unions of intervals, and they sum up to the step. Steps come from `iterations`,
-- without warm-up: from the start of the range, or later, when the GPU finished the steps before, to the end of the
-- range, or of its last operation if later. With `kernels` they come from `detected_iterations`, a guess; with
-- `nothing` the time from the first to the last kernel of the process is one step. Hidden over hidden plus exposed is
-- the overlap of HolisticTraceAnalysis, which rounds every kernel to whole microseconds within it; its temporal
-- breakdown merges exposed communication and copies.
-- page: scaling
-- needs: kernel
-- includes: selection, step, nccl
-- selects: part
-- param: steps = ranges (ranges, kernels, nothing) source of the steps
-- param: by = step (step, total) one row per step, or one for all steps of a GPU
-- column: gpu_id | id | | number of the GPU
-- column: gpu | text | | product name
-- column: pid | text | | process id
-- column: step | count | | number of the step; empty for a total
-- column: name | text | | name of its range
-- column: steps | count | | number of steps in the row
-- column: start_ns | ns | | start, from the start of the capture
-- column: duration_ns | ns | | length of the step, or the sum of them
-- column: compute_ns | ns | | time of kernels other than communication
-- column: exposed_ns | ns | | time of communication without compute
-- column: hidden_ns | ns | | communication that overlapped compute; part of compute_ns
-- column: copy_ns | ns | | time of memcpy or memset without kernels
-- column: idle_ns | ns | | time without any work
WITH step AS MATERIALIZED (
    FROM selected_step_time($steps)
), work AS (
    SELECT device_id, pid_of(global_pid) AS pid, start_ns, end_ns,
        CASE WHEN is_communication(short, class) THEN 'n' ELSE 'c' END AS kind
    FROM selected_kernel AS kernel LEFT JOIN kernel_name USING (name_id)
    UNION ALL SELECT device_id, pid_of(global_pid), start_ns, end_ns, 'c' FROM selected_graph_launch
    UNION ALL SELECT device_id, pid_of(global_pid), start_ns, end_ns, 'm' FROM selected_memop
), lane AS (
    SELECT device_id, pid_of(global_pid) AS pid FROM selected_kernel WHERE device_id IS NOT NULL GROUP BY ALL
), swept AS ( -- latest end of earlier work: shows what a row adds to each union of kinds
    SELECT *, max(end_ns) FILTER (kind = 'c') OVER before AS c, max(end_ns) FILTER (kind = 'n') OVER before AS n,
        max(end_ns) FILTER (kind = 'm') OVER before AS m
    FROM work SEMI JOIN lane ON work.device_id = lane.device_id AND work.pid = lane.pid WHERE end_ns > start_ns
    WINDOW before AS (PARTITION BY device_id, pid ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), placed AS ( -- the step in which a row starts, if any
    SELECT swept.*, number, step.end_ns AS until_ns FROM swept ASOF LEFT JOIN step
        ON swept.pid = step.pid AND swept.start_ns >= step.start_ns
), inside AS (
    SELECT device_id, pid, number, kind, start_ns AS low, end_ns AS high, start_ns, end_ns, c, n, m
    FROM placed WHERE end_ns <= until_ns
    UNION ALL -- few: work that crosses an edge is cut there
    SELECT device_id, one.pid, step.number, kind, step.start_ns, step.end_ns, one.start_ns, one.end_ns, c, n, m
    FROM (FROM placed WHERE until_ns IS NULL OR end_ns > until_ns) AS one
    JOIN step ON step.pid = one.pid AND step.start_ns < one.end_ns AND step.end_ns > one.start_ns
), added AS (
    SELECT device_id, pid, number, kind, greatest(low, start_ns) AS s, least(high, end_ns) AS e, c, n,
        greatest(c, n) AS k, greatest(c, n, m) AS a FROM inside -- NULL values do not count
), summed AS (
    SELECT device_id, pid, number,
        coalesce(sum(greatest(0, e - greatest(s, c))) FILTER (kind = 'c'), 0)::BIGINT AS compute_ns,
        coalesce(sum(greatest(0, e - greatest(s, n))) FILTER (kind = 'n'), 0)::BIGINT AS communication_ns,
        coalesce(sum(greatest(0, e - greatest(s, k))) FILTER (kind <> 'm'), 0)::BIGINT AS kernel_ns,
        coalesce(sum(greatest(0, e - greatest(s, a))), 0)::BIGINT AS busy_ns
    FROM added GROUP BY device_id, pid, number
), split AS (
    SELECT lane.device_id, lane.pid, step.number, name, start_ns, end_ns - start_ns AS duration_ns,
        coalesce(compute_ns, 0) AS compute_ns, coalesce(kernel_ns - compute_ns, 0) AS exposed_ns,
        coalesce(communication_ns - (kernel_ns - compute_ns), 0) AS hidden_ns,
        coalesce(busy_ns - kernel_ns, 0) AS copy_ns,
        end_ns - start_ns - coalesce(busy_ns, 0) AS idle_ns
    FROM lane JOIN step ON step.pid = lane.pid
    LEFT JOIN summed ON summed.device_id = lane.device_id AND summed.pid = lane.pid
        AND summed.number = step.number
)
SELECT device_id AS gpu_id, any_value(gpu.name) AS gpu, pid,
    CASE $by WHEN 'step' THEN split.number END AS step, CASE $by WHEN 'step' THEN any_value(split.name) END AS name,
    count(*) AS steps, min(split.start_ns) - any_value(capture_window.start_ns) AS start_ns,
    sum(split.duration_ns)::BIGINT AS duration_ns, sum(compute_ns)::BIGINT AS compute_ns,
    sum(exposed_ns)::BIGINT AS exposed_ns, sum(hidden_ns)::BIGINT AS hidden_ns, sum(copy_ns)::BIGINT AS copy_ns,
    sum(idle_ns)::BIGINT AS idle_ns
FROM split LEFT JOIN gpu ON gpu_id = device_id CROSS JOIN capture_window
GROUP BY device_id, pid, CASE $by WHEN 'step' THEN split.number END
ORDER BY pid, device_id, min(split.start_ns);
