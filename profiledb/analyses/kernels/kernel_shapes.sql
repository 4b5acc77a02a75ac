-- title: Launch shapes of a kernel
-- Launches of one kernel by grid, block, registers and shared memory, with their theoretical occupancy on the GPU.
-- Occupancy follows cuda_occupancy.h of CUDA 13.0 (the occupancy calculator). Blocks per SM are limited by warps
-- (threads per block rounded up to warps); by registers, which warps allocate in units of 256 from a quarter of the
-- SM's registers (half on 6.0), and which a block must find at once; by shared memory, static and dynamic plus 1024
-- bytes for the driver from 8.0 on, in units of 128 bytes from 8.0 on and 256 before, of the SM's maximum
-- configuration; and by the number of blocks. Unknown GPU properties give no limit and no occupancy.
-- page: kernel
-- show: grid 120, block 100, calls, share_pct bar 110, total_ns, avg_ns, occupancy_pct, limiter 120, blocks_per_sm
-- show: waves, registers, static_shared_bytes, dynamic_shared_bytes, local_bytes
-- needs: kernel
-- includes: selection, occupancy
-- selects: part
-- param: kernel =  number of the kernel (analysis kernels), or its full name
-- param: limit = 200 at most this many rows
-- column: grid | text | | blocks in x, y and z
-- column: block | text | | threads per block in x, y and z
-- column: calls = Launches | count | | number of launches
-- column: total_ns | ns | | sum of durations
-- column: share_pct | % | .2f | share of this kernel's time
-- column: avg_ns = Average | ns | .1f | mean duration
-- column: min_ns | ns | | shortest duration
-- column: max_ns | ns | | longest duration
-- column: registers | count | | registers per thread
-- column: static_shared_bytes | bytes | | static shared memory per block
-- column: dynamic_shared_bytes | bytes | | dynamic shared memory per block, requested at launch
-- column: local_bytes | bytes | | local memory per thread: spills and indexed arrays
-- column: gpu | text | | product name
-- column: warps | count | | warps per block
-- column: limit_warps | count | | blocks per SM that the warps allow
-- column: limit_registers | count | | blocks per SM that the registers allow; empty if registers do not limit
-- column: limit_shared | count | | blocks per SM that the shared memory allows; empty if it does not limit
-- column: limit_blocks | count | | maximum number of blocks per SM
-- column: blocks_per_sm = Blocks / SM | count | | blocks of this launch that an SM can hold
-- column: occupancy_pct | % | .1f | theoretical occupancy: warps of this launch that an SM can hold, as a share of its maximum
-- column: limiter = Limited by | text | | limiter of the theoretical occupancy: warps, blocks, registers or shared memory; several if equal
-- column: waves | count | .2f | blocks of the grid over the blocks that fit on the GPU at once
WITH shape AS (
    SELECT device_id, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread AS registers,
        static_shared_bytes, dynamic_shared_bytes, max(local_per_thread_bytes) AS local_bytes, count(*) AS calls,
        sum(end_ns - start_ns)::BIGINT AS total_ns, avg(end_ns - start_ns) AS avg_ns, min(end_ns - start_ns) AS min_ns,
        max(end_ns - start_ns) AS max_ns
    FROM selected_kernel AS kernel WHERE name_id IN (FROM kernel_ids($kernel))
    GROUP BY device_id, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, static_shared_bytes,
        dynamic_shared_bytes
)
SELECT dimensions(grid_x, grid_y, grid_z) AS grid, dimensions(block_x, block_y, block_z) AS block, calls, total_ns,
    100.0 * total_ns / nullif(sum(total_ns) OVER (), 0) AS share_pct, avg_ns, min_ns, max_ns, registers,
    static_shared_bytes, dynamic_shared_bytes, local_bytes, gpu, warps, limit_warps, limit_registers, limit_shared,
    limit_blocks, blocks_per_sm, occupancy_pct,
    nullif(concat_ws(', ', CASE WHEN blocks_per_sm = limit_warps THEN 'warps' END,
        CASE WHEN blocks_per_sm = limit_blocks THEN 'blocks' END,
        CASE WHEN blocks_per_sm = limit_registers THEN 'registers' END,
        CASE WHEN blocks_per_sm = limit_shared THEN 'shared memory' END), '') AS limiter,
    waves
FROM shape_occupancy('shape') WHERE EXISTS (FROM shape)
ORDER BY total_ns DESC, calls DESC, grid_x, grid_y, grid_z, block_x, block_y, block_z, device_id
LIMIT $limit::BIGINT;
