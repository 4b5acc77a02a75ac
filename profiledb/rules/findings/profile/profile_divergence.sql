-- title: Divergent warps
-- question: Do the threads of a warp execute together?
-- The share of the measured kernel time that divergent branches or masked threads cost at most: of each kernel with
-- fewer than 24 of 32 threads active per instruction, 1 - threads / 32, times its share of the peak of compute. No
-- launch saves more than the bandwidth of the device memory leaves.
-- needs: ncu_launch
-- includes: profile, launch
-- selects: part
-- joins: ncu
-- parts: kernels
-- unit: %
-- fires: above
-- param: threshold = 3 fires at or above this share of the measured kernel time
-- column: kernel | name | | kernel with the largest cost
-- column: note | text | | measurement of this kernel
-- column: launches | count | | measured launches with this cost
-- says: Divergent warps cost up to {value} of the measured kernel time; most in {kernel}: {note}.
-- clear: Divergent warps cost at most {value} of the measured kernel time.
-- advice: Sort or regroup the work of {kernel}, so that the threads of a warp take the same branch.
-- source: Nsight Compute, ThreadDivergence: under 24 threads per instruction, 1 - n / 32, times the throughput of compute
WITH judged AS ( -- noqa: ST03
    SELECT launch_id, readable, ns, calls, format('{:.1f} of 32 threads active', value) AS note,
        CASE WHEN value < 24 THEN least((1 - value / 32) * sm_throughput_pct / 100, dram_left)
            WHEN value IS NOT NULL AND sm_throughput_pct IS NOT NULL THEN 0 END AS gain
    FROM finding_launch
    JOIN (
        SELECT launch_id, value FROM launch_metric('smsp__thread_inst_executed_per_inst_executed\.ratio')
    ) USING (launch_id)
)
FROM finding_gain('judged', 'Active threads were not measured: profile with `--section WarpStateStats`.');
