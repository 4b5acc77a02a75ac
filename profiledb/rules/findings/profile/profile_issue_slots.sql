-- title: Schedulers wait
-- question: Do the schedulers issue an instruction in most cycles?
-- The share of the measured kernel time in which schedulers without a ready warp issue nothing: 1 - issued, of each
-- kernel that issues in under 60 % of cycles and is under 60 % of the peaks of compute and memory. No launch saves more
-- than its headroom to the peak of compute or memory. The rule shows that kernels wait, `profile_stalls` shows why.
-- needs: ncu_launch
-- includes: profile
-- selects: part
-- joins: ncu
-- parts: kernels, profile_stalls
-- level: symptom
-- unit: %
-- fires: above
-- param: threshold = 25 fires at or above this share of the measured kernel time
-- column: kernel | name | | kernel with the largest cost
-- column: note | text | | measurement of this kernel
-- column: launches | count | | measured launches with this cost
-- says: Schedulers without a ready warp cost up to {value} of the measured kernel time; most in {kernel}: {note}.
-- clear: Schedulers without a ready warp cost at most {value} of the measured kernel time.
-- advice: [PyTorch kernel] -> replace_kernel
-- advice: [else] Give each thread of {kernel} more independent work (unrolling, vector loads), or raise its occupancy.
-- source: Nsight Compute, IssueSlotUtilization: issue active under 0.6, 1 - issue active; bounded by the speed of light
WITH judged AS MATERIALIZED (
    SELECT launch_id, readable, ns, calls, format('issues in {:.0f} % of cycles', 100 * issue_active_per_cycle) AS note,
        is_torch_kernel(kernel) AS is_torch,
        CASE WHEN issue_active_per_cycle < 0.6 AND NOT is_busy
                THEN least(1 - issue_active_per_cycle, headroom)
            WHEN issue_active_per_cycle + sm_throughput_pct + memory_throughput_pct IS NOT NULL THEN 0 END AS gain
    FROM finding_launch
), main AS (
    SELECT IF(is_torch, 'PyTorch kernel', NULL) AS cause
    FROM judged WHERE gain > 0 ORDER BY gain * ns DESC, launch_id LIMIT 1
)
FROM finding_gain('judged', 'Issue slots were not measured: profile with `--section SchedulerStats`.')
LEFT JOIN main ON true;
