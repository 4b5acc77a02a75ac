-- Building blocks of the rules about how the blocks of kernels fill a GPU.
-- includes: work, occupancy

-- Kernels that ran alone for `least_ns` or more, with the blocks that an SM holds of each (`shape_occupancy`).
CREATE OR REPLACE MACRO finding_filling(least_ns) AS TABLE
WITH long AS MATERIALIZED (
    SELECT *, end_ns - start_ns AS ns, registers_per_thread AS registers FROM finding_alone
    WHERE end_ns - start_ns >= least_ns
), shape AS MATERIALIZED (
    SELECT DISTINCT device_id, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, static_shared_bytes,
        dynamic_shared_bytes
    FROM long
)
SELECT kernel_id, device_id, name_id, class, start_ns, end_ns, ns, registers, grid_blocks, sm_count, blocks_per_sm,
    waves, occupancy_pct, limit_shared, limit_blocks
FROM long JOIN shape_occupancy('shape') USING (
    device_id, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, static_shared_bytes, dynamic_shared_bytes
) JOIN (SELECT name_id, class FROM kernel_name) USING (name_id)
WHERE EXISTS (FROM shape);
