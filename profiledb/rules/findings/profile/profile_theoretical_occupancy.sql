-- title: Theoretical occupancy
-- question: Do registers, shared memory or block size limit occupancy?
-- The share of the measured kernel time that low theoretical occupancy costs at most, because few warps hide less
-- latency: 1 - occupancy if under 80 %. No launch saves more than its headroom to the peak of compute or memory.
-- Kernels at 60 % or more of either peak do not count: matrix products run well at low occupancy. Nor do launches that
-- do not fill the GPU once, which have no more warps, and kernels inside cuBLAS and cuDNN. The cause is what limits the
-- kernel with the largest cost, if that is one thing and the kernel is not one of PyTorch's own.
-- needs: ncu_launch
-- includes: profile, launch
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
-- advice: [shared memory] Let {kernel} use less shared memory per block (smaller tiles), or more threads in each block.
-- advice: [else, block size] Launch {kernel} with another block size: at this one, an SM has no room for more warps or blocks.
-- advice: [else, registers, Numba] Let {kernel} use fewer registers (`@cuda.jit(max_registers=64)`), or smaller blocks.
-- advice: [else, registers, CuPy] Let {kernel} use fewer registers (`RawKernel(..., options=("-maxrregcount=64",))`), or smaller blocks.
-- advice: [else, registers] Let {kernel} use fewer registers (`__launch_bounds__`, `-maxrregcount`), or smaller blocks.
-- advice: [else, PyTorch kernel] -> replace_kernel
-- advice: [else, Numba] Let {kernel} use fewer registers (`@cuda.jit(max_registers=64)`), less shared memory per block, or another block size.
-- advice: [else, CuPy] Let {kernel} use fewer registers (`RawKernel(..., options=("-maxrregcount=64",))`), less shared memory per block, or another block size.
-- advice: [else] Let {kernel} use fewer registers (`__launch_bounds__`, `-maxrregcount`), less shared memory per block, or another block size.
-- advice: [not PyTorch kernel] The occupancy curves on Kernel profiles show which limit to move.
-- source: Nsight Compute, TheoreticalOccupancy: under 80 %, 1 - occupancy; bounded by the speed of light
WITH metric AS (
    SELECT launch_id, regexp_extract(name, '_limit_(\w+)$', 1) AS what,
        value = min(value) OVER (PARTITION BY launch_id) AS smallest
    FROM launch_metric('launch__occupancy_limit_(registers|shared_mem|warps|blocks|barriers)') WHERE value IS NOT NULL
), limited AS (  -- two that allow the same number of blocks are both to change
    SELECT launch_id, string_agg(DISTINCT replace(what, 'shared_mem', 'shared memory'), ' and ' ORDER BY
                replace(what, 'shared_mem', 'shared memory')) AS limiter,
        CASE WHEN bool_and(what = 'registers') THEN 'registers' WHEN bool_and(what = 'shared_mem') THEN 'shared memory'
            WHEN bool_and(what NOT IN ('registers', 'shared_mem')) THEN 'block size' END AS cause
    FROM metric WHERE smallest GROUP BY launch_id
), judged AS MATERIALIZED (
    SELECT launch_id, readable, ns, calls, IF(is_torch_kernel(kernel), 'PyTorch kernel', cause) AS cause,
        format('{:.0f} % possible', theoretical_occupancy_pct) || coalesce(', limited by ' || limiter, '')
            || coalesce(format(', {} registers per thread', registers_per_thread), '') AS note,
        CASE WHEN theoretical_occupancy_pct < 80 AND NOT is_busy AND NOT is_closed_kernel(kernel)
                AND coalesce(waves_per_sm, 1) >= 1
                THEN least(1 - theoretical_occupancy_pct / 100, headroom)
            WHEN theoretical_occupancy_pct + sm_throughput_pct + memory_throughput_pct IS NOT NULL THEN 0 END AS gain
    FROM finding_launch LEFT JOIN limited USING (launch_id)
), main AS (
    SELECT cause FROM judged WHERE gain > 0 ORDER BY gain * ns DESC, launch_id LIMIT 1
)
FROM finding_gain('judged', 'Occupancy was not measured: profile with `--section Occupancy --section SpeedOfLight`.')
LEFT JOIN main ON true;
