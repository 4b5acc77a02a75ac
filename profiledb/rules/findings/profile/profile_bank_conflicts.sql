-- title: Bank conflicts
-- question: Do accesses to shared memory cause bank conflicts?
-- The share of the measured kernel time that bank conflicts cost at most: the wavefronts that they add, as a share of
-- all wavefronts of shared memory if at least 10 %, times the share of time in which L1 cache and shared memory are
-- busy. No launch saves more than the bandwidth of the device memory leaves; kernels inside cuBLAS and cuDNN nothing.
-- needs: ncu_launch
-- includes: profile, launch
-- selects: part
-- joins: ncu
-- parts: kernels
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the measured kernel time
-- column: kernel | name | | kernel with the largest cost
-- column: note | text | | measurement of this kernel
-- column: launches | count | | measured launches with this cost
-- says: Bank conflicts cost up to {value} of the measured kernel time; most in {kernel}: {note}.
-- clear: Bank conflicts cost at most {value} of the measured kernel time.
-- advice: Pad or swizzle the rows of the arrays of {kernel} in shared memory, so that the threads of a warp reach different banks.
-- source: Nsight Compute, SharedMemoryConflicts: conflicts / wavefronts at least 10 %, times the throughput of L1
WITH judged AS ( -- noqa: ST03
    SELECT launch_id, readable, ns, calls, format('{:.0f} % of wavefronts are conflicts', 100 * conflict) AS note,
        CASE WHEN conflict >= 0.1 AND NOT is_closed_kernel(kernel)
                THEN least(least(conflict, 1) * l1_throughput_pct / 100, dram_left)
            WHEN conflict IS NOT NULL AND l1_throughput_pct IS NOT NULL THEN 0 END AS gain
    FROM finding_launch
    JOIN (
        SELECT launch_id, CASE WHEN max(value) FILTER (name LIKE '%wavefronts%') = 0 THEN 0
            ELSE max(value) FILTER (name LIKE '%conflicts%') / max(value) FILTER (name LIKE '%wavefronts%')
            END AS conflict
        FROM launch_metric('l1tex__data_(bank_conflicts_pipe_lsu_mem_shared|pipe_lsu_wavefronts_mem_shared)\.sum')
        GROUP BY launch_id
    ) USING (launch_id)
)
FROM finding_gain('judged',
    'Bank conflicts were not measured: profile with `--section MemoryWorkloadAnalysis_Tables`.');
