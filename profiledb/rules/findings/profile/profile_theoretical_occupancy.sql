-- title: Theoretical occupancy
-- question: Do registers, shared memory or block size limit occupancy?
-- The share of the measured kernel time that low theoretical occupancy costs at most, because few warps hide less
-- latency: 1 - occupancy if under 80 %. No launch saves more than its headroom to the peak of compute or memory.
-- Kernels at 60 % or more of either peak do not count: matrix products run well at low occupancy. Nor do launches that
-- do not fill the GPU once, which have no more warps, and kernels inside cuBLAS and cuDNN.
-- needs: ncu_launch
-- includes: profile
-- selects: part
-- joins: ncu
-- parts: kernels
-- unit: %
-- fires: above
-- param: threshold = 10 fires at or above this share of the measured kernel time
-- column: kernel | name | | kernel with the largest cost
-- column: note | text | | measurement of this kernel
-- column: launches | count | | measured launches with this cost
-- says: Low theoretical occupancy costs up to {value} of the measured kernel time; most in {kernel}: {note}.
-- clear: Low theoretical occupancy costs at most {value} of the measured kernel time.
-- advice: [Numba] Let {kernel} use fewer registers (`@cuda.jit(max_registers=64)`), less shared memory per block, or another block size.
-- advice: [else, CuPy] Let {kernel} use fewer registers (`RawKernel(..., options=("-maxrregcount=64",))`), less shared memory per block, or another block size.
-- advice: [else] Let {kernel} use fewer registers (`__launch_bounds__`, `-maxrregcount`), less shared memory per block, or another block size.
-- advice: The occupancy curves on Kernel profiles show which limit to move.
-- source: Nsight Compute, TheoreticalOccupancy: under 80 %, 1 - occupancy; bounded by the speed of light
WITH judged AS ( -- noqa: ST03
    SELECT launch_id, readable, ns, calls,
        format('{:.0f} % possible, {} registers per thread', theoretical_occupancy_pct, registers_per_thread) AS note,
        CASE WHEN theoretical_occupancy_pct < 80 AND NOT is_busy AND NOT is_closed_kernel(kernel)
                AND coalesce(waves_per_sm, 1) >= 1
                THEN least(1 - theoretical_occupancy_pct / 100, headroom)
            WHEN theoretical_occupancy_pct + sm_throughput_pct + memory_throughput_pct IS NOT NULL THEN 0 END AS gain
    FROM finding_launch
)
FROM finding_gain('judged', 'Occupancy was not measured: profile with `--section Occupancy --section SpeedOfLight`.');
