-- title: Grid, waves, tail and divergence of the launches
-- One row per launch. A wave is the number of blocks that fit on the GPU at once. The last of several waves may be
-- partly filled and still take as long as a full one: tail_pct is its largest possible share of the time, if all blocks
-- take equally long (rule LaunchConfiguration of ncu). A grid of one wave or less has no tail.
-- page: kernel_profiles
-- needs: ncu_launch
-- includes: selection, launch
-- param: launch =  number of the launch (analysis ncu_speed_of_light); empty: all launches
-- column: launch_id | id | | number of the launch
-- column: grid | text | | blocks in x, y and z, or their number if the report has no more
-- column: block | text | | threads per block in x, y and z, or their number
-- column: grid_size | count | | blocks of the grid
-- column: block_size | count | | threads per block
-- column: threads | count | | threads of the grid
-- column: sm_count | count | .0f | multiprocessors of the GPU
-- column: waves | count | .2f | blocks of the grid over the blocks that fit on the GPU at once
-- column: full_waves | count | | number of full waves
-- column: last_wave_pct | % | .1f | fill level of the last wave; 100 if no wave is partly filled
-- column: tail_pct | % | .1f | largest possible share of the time in a partly filled last wave, 0 if there is none
-- column: cluster_size | count | .0f | blocks of a cluster; 0 if the launch has no clusters
-- column: threads_active | count | .1f | mean threads of a warp that take part in an instruction, of 32
-- column: threads_predicated_on | count | .1f | mean threads of a warp that are not predicated off, of 32
WITH metric AS (
    SELECT launch_id, max(value) FILTER (name = 'launch__cluster_size') AS cluster_size,
        max(value) FILTER (name IN ('launch__sm_count', 'device__attribute_multiprocessor_count')) AS sm_count,
        max(value) FILTER (name = 'smsp__thread_inst_executed_per_inst_executed.ratio') AS threads_active,
        max(value) FILTER (name = 'smsp__thread_inst_executed_pred_on_per_inst_executed.ratio') AS threads_predicated_on
    FROM launch_metric('launch__(cluster_size|sm_count)|device__attribute_multiprocessor_count'
        || '|smsp__thread_inst_executed_(pred_on_)?per_inst_executed\.ratio')
    WHERE $launch::INTEGER IS NULL OR launch_id = $launch::INTEGER
    GROUP BY launch_id
), launch AS (
    SELECT *, round(waves_per_sm, 6) AS waves FROM ncu_launch
    WHERE $launch::INTEGER IS NULL OR launch_id = $launch::INTEGER
)
SELECT launch_id, coalesce(dimensions(grid_x, grid_y, grid_z), grid_size::VARCHAR) AS grid,
    coalesce(dimensions(block_x, block_y, block_z), block_size::VARCHAR) AS block, grid_size, block_size,
    grid_size * block_size AS threads, sm_count, waves_per_sm AS waves, floor(waves)::BIGINT AS full_waves,
    CASE WHEN waves > 0 AND waves = floor(waves) THEN 100.0 ELSE 100 * (waves - floor(waves)) END AS last_wave_pct,
    CASE WHEN waves > 1 THEN CASE WHEN waves = floor(waves) THEN 0.0 ELSE 100 / ceil(waves) END END AS tail_pct,
    cluster_size, threads_active, threads_predicated_on
FROM launch LEFT JOIN metric USING (launch_id)
ORDER BY launch_id;
