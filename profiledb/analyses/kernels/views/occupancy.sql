-- Building blocks for the number of blocks of a kernel that an SM holds.

-- Launch shapes, a table of device_id, grid_x to grid_z, block_x to block_z, registers, static_shared_bytes and
-- dynamic_shared_bytes, with the blocks of each that an SM holds, as the analysis kernel_shapes describes. Unknown GPU
-- properties give no limit and no occupancy.
CREATE OR REPLACE MACRO shape_occupancy(shapes) AS TABLE
WITH need AS (
    SELECT shape.*, gpu.* EXCLUDE (name), gpu.name AS gpu, split_part(compute_capability, '.', 1)::INTEGER AS major,
        grid_x::BIGINT * grid_y * grid_z AS grid_blocks, block_x * block_y * block_z AS threads,
        (threads + threads_per_warp - 1) // threads_per_warp AS warps,
        CASE WHEN compute_capability = '6.0' THEN 2 ELSE 4 END AS parts,
        (registers * threads_per_warp + 255) // 256 * 256 AS warp_registers,
        CASE WHEN major >= 8 THEN 128 ELSE 256 END AS unit,
        (static_shared_bytes + dynamic_shared_bytes + CASE WHEN major >= 8 THEN 1024 ELSE 0 END + unit - 1) // unit
            * unit
            AS block_shared
    FROM query_table(shapes) AS shape LEFT JOIN gpu ON gpu_id = device_id
), limits AS (
    SELECT *, CASE WHEN threads > max_threads_per_block THEN 0 ELSE max_warps_per_sm // warps END AS limit_warps,
        CASE WHEN warp_registers * ((warps + parts - 1) // parts * parts) > max_registers_per_block THEN 0
            ELSE max_registers_per_sm // parts // nullif(warp_registers, 0) * parts // warps END AS limit_registers,
        max_shared_per_sm_bytes // nullif(block_shared, 0) AS limit_shared, max_blocks_per_sm AS limit_blocks
    FROM need
), occupancy AS (
    SELECT *, CASE WHEN limit_warps + limit_blocks + registers + block_shared + max_registers_per_sm
            + max_shared_per_sm_bytes IS NOT NULL  -- a single unknown leaves the smallest limit unknown
            THEN least(limit_warps, limit_registers, limit_shared, limit_blocks) END AS blocks_per_sm
    FROM limits
)
SELECT *, 100.0 * blocks_per_sm * warps / max_warps_per_sm AS occupancy_pct,
    grid_blocks / nullif(blocks_per_sm * sm_count, 0) AS waves
FROM occupancy;
