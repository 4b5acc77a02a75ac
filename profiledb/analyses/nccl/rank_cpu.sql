-- title: Time of a rank's CPU
-- How long the CPU works for each step, one row per GPU, process and step. A CPU may run several steps ahead of its
-- GPU: its step begins when it launches the first kernel of the step, and ends when it launches that of the next one.
-- It waits in synchronizations and blocking copies, and in launches and queued copies of more than 50 µs, because the
-- queue of the GPU is full or the memory pageable; everything else is its own time. Only threads that launch kernels of
-- the GPU count, the waits of several once. Steps are those of `rank_split`; the last one has no row, nor a step before
-- a gap. A GPU whose period is longer than the CPU's own time does not wait for its CPU alone.
-- page: run
-- needs: kernel
-- needs: api_call
-- includes: selection, step, memory
-- selects: part
-- param: steps = ranges (ranges, kernels, nothing) source of the steps
-- column: gpu_id | id | | number of the GPU
-- column: pid | text | | process id
-- column: step | count | | number of the step
-- column: period_ns | ns | | from the start of the step on the GPU to that of the next one
-- column: cpu_ns | ns | | time of the CPU for the step without waiting
-- column: blocked_ns | ns | | time of the CPU in calls that wait
-- column: pause_ns | ns | | longest time between two calls of CUDA, outside of all
WITH step AS MATERIALIZED (
    FROM selected_step_time($steps)
), launched AS MATERIALIZED (
    SELECT device_id, pid_of(kernel.global_pid) AS pid, kernel.start_ns, call.start_ns AS called_ns, global_tid
    FROM selected_kernel AS kernel JOIN api_call AS call USING (call_id) WHERE device_id IS NOT NULL
), begun AS (
    SELECT device_id, launched.pid, number, any_value(step.start_ns) AS start_ns, min(called_ns) AS since_ns
    FROM launched ASOF JOIN step ON launched.pid = step.pid AND launched.start_ns >= step.start_ns
    WHERE launched.start_ns < step.end_ns GROUP BY device_id, launched.pid, number
), turn AS (
    SELECT device_id, pid, number, since_ns, lead(since_ns) OVER one AS until_ns,
        lead(start_ns) OVER one - start_ns AS ns
    FROM begun WINDOW one AS (PARTITION BY device_id, pid ORDER BY number)
    QUALIFY until_ns > since_ns AND lead(number) OVER one = number + 1
), call AS (
    SELECT device_id, pid, start_ns, end_ns, call_waits(category, end_ns - start_ns) AS waits
    FROM (SELECT DISTINCT device_id, pid, global_tid FROM launched)
    JOIN api_call USING (global_tid) JOIN api_function USING (name_id)
), swept AS ( -- latest end of earlier calls: shows what a call adds to their union, and the pause before it
    SELECT *, max(end_ns) OVER before AS done_ns, max(end_ns) FILTER (waits) OVER before AS waited_ns FROM call
    WINDOW before AS (PARTITION BY device_id, pid ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), spent AS (
    SELECT turn.device_id, turn.pid, number, max(start_ns - done_ns) AS pause_ns, sum(greatest(
            0, least(end_ns, until_ns) - greatest(start_ns, coalesce(waited_ns, start_ns))
        )) FILTER (waits) AS blocked_ns
    FROM swept ASOF JOIN turn
        ON swept.pid = turn.pid AND swept.device_id = turn.device_id AND swept.start_ns >= turn.since_ns
    WHERE start_ns < until_ns GROUP BY turn.device_id, turn.pid, number
)
SELECT device_id AS gpu_id, pid, number AS step, ns AS period_ns,
    until_ns - since_ns - coalesce(blocked_ns, 0)::BIGINT AS cpu_ns, coalesce(blocked_ns, 0)::BIGINT AS blocked_ns,
    greatest(0, coalesce(pause_ns, 0)) AS pause_ns
FROM turn JOIN spent USING (device_id, pid, number)
ORDER BY pid, device_id, number;
