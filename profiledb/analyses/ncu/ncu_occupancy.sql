-- title: Occupancy of the launches
-- One row per launch: theoretical and achieved occupancy, and its limiter: the smallest number of blocks that
-- registers, shared memory, warps, blocks and barriers of an SM allow. Ties are all named.
-- page: kernel_profiles
-- needs: ncu_launch
-- includes: launch
-- param: launch =  number of the launch (analysis ncu_speed_of_light); empty: all launches
-- column: launch_id | id | | number of the launch
-- column: kernel | text | | full name with template arguments
-- column: theoretical_pct | % | .1f | warps that the launch allows on an SM, as a share of the SM's maximum
-- column: achieved_pct | % | .1f | mean active warps, as a share of the SM's maximum
-- column: theoretical_warps | count | .1f | warps that the launch allows on an SM
-- column: max_warps | count | .0f | warps that an SM can hold
-- column: limiter | text | | resource that allows the fewest blocks: registers, shared_mem, warps, blocks or barriers; several separated by commas
-- column: limit_blocks | count | .0f | blocks per SM that the limiter allows: the smallest of the limits
-- column: limit_registers | count | .0f | blocks per SM that the registers allow
-- column: limit_shared_mem | count | .0f | blocks per SM that the shared memory allows
-- column: limit_warps | count | .0f | blocks per SM that the number of warps allows
-- column: limit_sm | count | .0f | maximum number of blocks on an SM
-- column: limit_barriers | count | .0f | blocks per SM that the barriers allow
-- column: block_size | count | | threads per block
-- column: warps_per_block | count | | warps in each block
-- column: registers | count | | registers per thread
-- column: shared_static_bytes | bytes | | static shared memory per block
-- column: shared_dynamic_bytes | bytes | | dynamic shared memory per block
-- column: shared_driver_bytes | bytes | | shared memory per block that the driver keeps
WITH metric AS (
    SELECT launch_id, regexp_extract(name, '_limit_(\w+)$', 1) AS what, value,
        value = min(value) OVER (PARTITION BY launch_id) AS smallest
    FROM launch_metric('launch__occupancy_limit_(registers|shared_mem|warps|blocks|barriers)')
    WHERE value IS NOT NULL AND ($launch::INTEGER IS NULL OR launch_id = $launch::INTEGER)
), limits AS (
    SELECT launch_id, min(value) AS limit_blocks,
        string_agg(what, ', ' ORDER BY list_position(['registers', 'shared_mem', 'warps', 'blocks', 'barriers'], what))
            FILTER (smallest) AS limiter,
        max(value) FILTER (what = 'registers') AS limit_registers,
        max(value) FILTER (what = 'shared_mem') AS limit_shared_mem,
        max(value) FILTER (what = 'warps') AS limit_warps,
        max(value) FILTER (what = 'blocks') AS limit_sm,
        max(value) FILTER (what = 'barriers') AS limit_barriers
    FROM metric GROUP BY launch_id
)
SELECT launch_id, kernel, theoretical_occupancy_pct AS theoretical_pct, occupancy_pct AS achieved_pct,
    theoretical_warps, max_warps,
    limiter, limit_blocks, limit_registers, limit_shared_mem, limit_warps, limit_sm, limit_barriers, block_size,
    ceil(block_size / 32)::INTEGER AS warps_per_block, registers_per_thread AS registers,
    shared_static_bytes, shared_dynamic_bytes, shared_driver_bytes
FROM ncu_launch JOIN launch_warps USING (launch_id) LEFT JOIN limits USING (launch_id)
WHERE $launch::INTEGER IS NULL OR launch_id = $launch::INTEGER
ORDER BY launch_id;
