-- title: Largest stall
-- question: Which stall holds warps up most?
-- The share of the measured kernel time in the largest stall of each kernel, if it takes over 30 % of the time between
-- two instructions of a warp and schedulers issue in under 80 % of cycles. No launch saves more than the share of
-- cycles without issue, or its headroom to the peak of compute or memory.
-- needs: ncu_launch
-- includes: profile, verdict
-- selects: part
-- joins: ncu
-- parts: kernels
-- unit: %
-- fires: above
-- param: threshold = 25 fires at or above this share of the measured kernel time
-- column: kernel | name | | kernel with the largest cost
-- column: note | text | | measurement of this kernel
-- column: launches | count | | measured launches with this cost
-- says: Stalls cost up to {value} of the measured kernel time; most in {kernel}: {note}.
-- clear: Stalls of one kind cost at most {value} of the measured kernel time.
-- advice: [long scoreboard, TMA] Load earlier in {kernel} (TMA, `cp.async`), vectorize, reuse data in shared memory: its warps wait for global or local memory.
-- advice: [else, long scoreboard, asynchronous copies] Load earlier in {kernel} (`cp.async`), vectorize, reuse data in shared memory: its warps wait for global or local memory.
-- advice: [else, long scoreboard] Load earlier in {kernel}, vectorize, reuse data in shared memory: its warps wait for global or local memory.
-- advice: [short scoreboard] Reduce bank conflicts, `exp` and `rsqrt` in {kernel}: its warps wait for shared memory or special functions.
-- advice: [barrier] Use smaller blocks in {kernel}, or balance the work before `__syncthreads()`: its warps wait there.
-- advice: [math pipe throttle] Move work of {kernel} to another pipeline, or to tensor cores: one is full.
-- advice: [mio throttle] Use wider accesses to shared memory in {kernel}: its queue, which special functions share, is full.
-- advice: [lg throttle] Use wider loads and stores in {kernel}: the queue of global memory is full.
-- advice: [wait] Give each thread of {kernel} more independent instructions: its warps wait for fixed latencies.
-- source: Nsight Compute, CPIStall: share over 30 % if issue active is under 0.8; bounded by issue slots and speed of light
WITH judged AS (
    SELECT launch_id, readable, ns, calls, replace(stall, '_', ' ') AS stall,
        format('{} {:.0f} %', replace(stall, '_', ' '), stall_pct) AS note,
        CASE WHEN issue_active_per_cycle < 0.8 AND stall_pct > 30
                THEN least(stall_pct / 100, 1 - issue_active_per_cycle, headroom)
            WHEN issue_active_per_cycle + stall_pct IS NOT NULL AND headroom IS NOT NULL THEN 0 END AS gain
    FROM finding_launch JOIN (SELECT launch_id, stall, stall_pct FROM launch_verdict) USING (launch_id)
), shown AS (
    SELECT {
            'name': readable, 'note': note, 'value': 100 * gain, 'ns': round(gain * ns)::BIGINT, 'count': calls,
            'launch': launch_id
        } AS piece, gain * ns AS weight, launch_id
    FROM judged WHERE gain > 0 ORDER BY gain * ns DESC, launch_id LIMIT 10
)
SELECT 100.0 * sum(gain * ns) / nullif(sum(ns), 0) AS value, round(sum(gain * ns))::BIGINT AS saving_ns,
    arg_max(readable, gain * ns) FILTER (gain > 0) AS kernel, arg_max(note, gain * ns) FILTER (gain > 0) AS note,
    count(*) FILTER (gain > 0) AS launches,
    arg_max(stall, gain * ns) FILTER (gain > 0) AS cause,
    CASE WHEN count(*) = 0
        THEN 'Stalls were not measured: profile with `--section WarpStateStats`.' END AS unjudged,
    (SELECT list(piece ORDER BY weight DESC, launch_id) FROM shown) AS evidence
FROM judged WHERE gain IS NOT NULL;
