-- title: Local memory
-- question: Do kernels spill registers?
-- The share of the measured kernel time that local memory (spilled registers, arrays indexed at run time) costs at
-- most: its loads and stores as a share of memory instructions, times the share of time in which memory is busy.
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
-- says: Local memory costs up to {value} of the measured kernel time; most in {kernel}: {note}.
-- clear: Local memory costs at most {value} of the measured kernel time.
-- advice: Allow {kernel} more registers per thread, or make the arrays of a thread indexable at compile time (unroll the loops over them).
-- source: CUDA Best Practices Guide, local memory; share of instructions: our bound
WITH judged AS ( -- noqa: ST03
    SELECT launch_id, readable, ns, calls,
        format('{:.0f} % of memory instructions use local memory', 100 * spilled) AS note,
        CASE WHEN spilled > 0 THEN spilled * memory_throughput_pct / 100
            WHEN spilled IS NOT NULL AND memory_throughput_pct IS NOT NULL THEN 0 END AS gain
    FROM finding_launch
    JOIN (
        SELECT launch_id, coalesce(sum(value) FILTER (name LIKE '%local%') / nullif(sum(value), 0), 0) AS spilled
        FROM launch_metric('smsp__sass_inst_executed_op_(local|global|shared)_(ld|st)\.sum') GROUP BY launch_id
    ) USING (launch_id)
)
FROM finding_gain('judged', 'Memory instructions were not measured: profile with `--section InstructionStats`.');
