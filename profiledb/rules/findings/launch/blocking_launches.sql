-- title: Launches that wait for their kernels
-- question: Does the CPU launch ahead of the GPU?
-- The time that launching ahead would save, as a share of the active span (first to last operation of each GPU), where
-- launch calls last until their kernels have ended, as with `CUDA_LAUNCH_BLOCKING=1`: of each GPU the smaller one of
-- its idle time and of the time from the start of each kernel to the end of its call, which the CPU could use for the
-- next launches. Usually a call returns once its kernel is queued, so a program counts if `late_pct` percent of its
-- calls end after their kernels, and if there are `launches` of them. Kernels of CUDA graphs do not count.
-- needs: kernel
-- needs: api_call
-- includes: finding, idle
-- selects: part
-- once: span, idle
-- parts: launch call, launch latency, host code, other CUDA call, OS runtime call, synchronization, copy call
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: launches = 20 fewest launches that count
-- param: late_pct = 90 share of launch calls that end after their kernels, percent
-- column: launches | count | | launch calls of kernels
-- column: late_pct | % | .1f | share of them that end after their kernels
-- column: idle_ns | ns | | idle time of all GPUs
-- column: ahead_ns | ns | | part of it that launching ahead would fill
-- says: {late_pct} of {launches} launch calls return only after their kernels have ended, so nothing is queued while they run, and the GPU is idle {idle_ns}. Launching ahead saves up to {ahead_ns} ({value} of the time).
-- clear: Launch calls that wait for their kernels cost {value} of the time.
-- advice: Unset `CUDA_LAUNCH_BLOCKING` in the environment and in the program (`os.environ`): it is for finding errors, and lets no launch return before its kernel has ended.
-- advice: If it is not set: debuggers and tools that check memory (`compute-sanitizer`) make launches wait, too.
-- source: ours; CUDA C++ Programming Guide, environment variables (CUDA_LAUNCH_BLOCKING)
WITH late AS MATERIALIZED (
    SELECT kernel.device_id, count(*) AS launches, count_if(call.end_ns >= kernel.end_ns) AS late,
        sum(greatest(0, call.end_ns - kernel.start_ns))::BIGINT AS waited_ns
    FROM selected_kernel AS kernel JOIN (SELECT call_id, end_ns FROM api_call) AS call USING (call_id)
    GROUP BY kernel.device_id
), total AS (
    SELECT coalesce(sum(launches), 0)::BIGINT AS launches, 100.0 * sum(late) / nullif(sum(launches), 0) AS late_pct,
        coalesce(sum(launches) >= $launches::BIGINT AND 100 * sum(late) >= $late_pct::DOUBLE * sum(launches), false)
            AS blocks
    FROM late
), idle AS MATERIALIZED (
    SELECT device_id, sum(b - a)::BIGINT AS ns FROM selected_hole(1)
    WHERE (SELECT blocks FROM total) GROUP BY device_id
), saved AS (
    SELECT coalesce(sum(least(idle.ns, waited_ns)), 0)::BIGINT AS ns, coalesce(sum(idle.ns), 0)::BIGINT AS idle_ns
    FROM idle JOIN late USING (device_id)
)
SELECT 100.0 * saved.ns / nullif(finding_window.ns, 0) AS value, saved.ns AS saving_ns, launches, total.late_pct,
    saved.idle_ns, saved.ns AS ahead_ns
FROM finding_window CROSS JOIN total CROSS JOIN saved;
