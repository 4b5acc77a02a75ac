-- title: Grid smaller than the GPU
-- question: Do kernels launch fewer blocks than the GPU has SMs?
-- The share of the measured kernel time that empty SMs lose: (N - B) / N of a kernel with fewer blocks B than SMs N. If
-- the number of SMs is not known, it is the part of the GPU that a grid under `waves` waves leaves empty. No launch
-- saves more than its headroom to the peak of compute or memory.
-- needs: ncu_launch
-- includes: profile
-- selects: part
-- joins: ncu
-- parts: kernels
-- unit: %
-- fires: above
-- param: threshold = 3 fires at or above this share of the measured kernel time
-- param: waves = 0.25 a grid under this many waves is small if the number of SMs is not known
-- column: kernel | name | | kernel with the largest cost
-- column: note | text | | measurement of this kernel
-- column: launches | count | | measured launches with this cost
-- says: Grids with fewer blocks than SMs cost up to {value} of the measured kernel time; most in {kernel}: {note}.
-- clear: Grids with fewer blocks than SMs cost at most {value} of the measured kernel time.
-- advice: Launch {kernel} with more blocks: smaller tiles, split-K for matrix products with few rows, a larger batch.
-- advice: Run independent kernels on several streams, so that they share the GPU.
-- source: Nsight Compute, LaunchStatistics: (SMs - grid) / SMs
WITH judged AS ( -- noqa: ST03
    SELECT launch_id, readable, ns, calls,
        concat(grid_size, IF(grid_size = 1, ' block', ' blocks'), coalesce(
            ' on ' || sm_count || ' SMs',
            ' of ' || block_size || ' threads, which fill ' || format('{:.0f}', 100 * waves_per_sm) || ' % of the GPU'
        )) AS note,
        CASE WHEN grid_size < sm_count THEN least((sm_count - grid_size) / sm_count::DOUBLE, headroom)
            WHEN sm_count IS NULL AND waves_per_sm < $waves::DOUBLE THEN least(1 - waves_per_sm, headroom)
            WHEN grid_size IS NOT NULL AND coalesce(sm_count, waves_per_sm) IS NOT NULL THEN 0 END AS gain
    FROM finding_launch
)
FROM finding_gain('judged', 'The report does not tell grids or the number of SMs.');
