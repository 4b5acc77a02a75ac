-- title: Longest launches of a kernel
-- Launches of one kernel, longest first.
-- page: kernel
-- show: duration_ns, since_start_ns, gpu_id, stream, grid 120, block 100, registers, shared_bytes, correlation_id
-- needs: kernel
-- includes: selection, launch
-- selects: part
-- param: kernel =  number of the kernel (analysis kernels), or its full name
-- param: limit = 100 at most this many rows
-- param: skip = 0 number of rows to skip first
-- column: kernel_id | text | | number of the launch
-- column: since_start_ns = Start | ns | | start, from the start of the capture
-- column: duration_ns | ns | | duration of the launch
-- column: gpu_id = GPU | id | | number of the GPU
-- column: stream | id | | CUDA stream
-- column: grid | text | | blocks in x, y and z
-- column: block | text | | threads per block in x, y and z
-- column: registers | count | | registers per thread
-- column: shared_bytes | bytes | | shared memory per block, static and dynamic
-- column: correlation_id = Correlation | id | | correlation id of the API call that launched it
WITH chosen AS (
    SELECT kernel_id, end_ns - start_ns AS ns FROM selected_kernel AS kernel WHERE name_id IN (FROM kernel_ids($kernel))
    ORDER BY ns DESC, kernel_id LIMIT $limit::BIGINT OFFSET $skip::BIGINT
)
SELECT kernel_id, kernel.start_ns - capture_window.start_ns AS since_start_ns, ns AS duration_ns, device_id AS gpu_id,
    stream_id AS stream, dimensions(grid_x, grid_y, grid_z) AS grid, dimensions(block_x, block_y, block_z) AS block,
    registers_per_thread AS registers, static_shared_bytes::BIGINT + dynamic_shared_bytes AS shared_bytes,
    correlation_id
FROM chosen JOIN selected_kernel AS kernel USING (kernel_id) CROSS JOIN capture_window
ORDER BY ns DESC, kernel_id;
