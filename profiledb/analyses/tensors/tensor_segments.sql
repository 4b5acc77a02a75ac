-- title: Segments of the allocator
-- Allocator memory of each device at the time of a memory snapshot, and its use: the allocator takes memory of the
-- device in segments and divides these into blocks. Free memory between blocks serves an allocation only if one free
-- block is large enough: that is fragmentation. Rounding is the excess of blocks over the requested bytes. Numbers are
-- those of `stats` of PyTorch's viewer (torch/cuda/_memory_viz.py): free external, free internal.
-- page: memory
-- show: device, pool, stream, bytes, used_bytes, rounding_bytes, free_bytes, free_pct bar 110, largest_free_bytes
-- show: free_blocks, tensors, line 300, address
-- prefetch: part
-- needs: tensor_segment
-- includes: tensors
-- selects: part
-- param: limit = 1000 rows per device, most free memory first
-- column: device | text | | CPU, or GPU with its number
-- column: address | text | | address of the first byte
-- column: stream | text | | CUDA stream that it serves
-- column: pool | text | | small or large allocations, or the private pool, for example of a CUDA graph
-- column: bytes = Size | bytes | | memory taken from the device
-- column: used_bytes = Used | bytes | | bytes requested by live tensors
-- column: rounding_bytes = Rounding | bytes | | excess of their blocks over the requested bytes
-- column: free_bytes = Free | bytes | | bytes outside tensors, including freed memory that a stream still uses
-- column: free_pct | % | .1f | share of the segment
-- column: largest_free_bytes = Largest free block | bytes | | largest possible allocation from it
-- column: free_blocks | count | | number of free blocks
-- column: tensors | count | | number of blocks that tensors hold
-- column: line = Source line | text | | program line that made the allocator take it, if captured
WITH block AS (
    SELECT segment_id,
        sum(requested_bytes) FILTER (is_held) AS used_bytes,
        sum(bytes - requested_bytes) FILTER (is_held) AS rounding_bytes, sum(bytes) FILTER (NOT is_held) AS free_bytes,
        max(bytes) FILTER (state = 'inactive') AS largest_free_bytes, count(*) FILTER (NOT is_held) AS free_blocks,
        count(*) FILTER (is_held) AS tensors
    FROM (SELECT *, coalesce(state = 'active_allocated', false) AS is_held FROM tensor_block) GROUP BY segment_id
), segment AS (
    SELECT tensor_segment.*, tensor_device(1, device_id) AS device, coalesce(block.used_bytes, 0) AS used_bytes,
        coalesce(block.rounding_bytes, 0) AS rounding_bytes, coalesce(block.free_bytes, 0) AS free_bytes,
        coalesce(block.largest_free_bytes, 0) AS largest_free_bytes, coalesce(block.free_blocks, 0) AS free_blocks,
        coalesce(block.tensors, 0) AS tensors
    FROM tensor_segment LEFT JOIN block USING (segment_id) WHERE selected_tensor_device(1, device_id)
    QUALIFY row_number() OVER (PARTITION BY device_id ORDER BY free_bytes DESC, bytes DESC, segment_id)
        <= $limit::BIGINT
)
SELECT device, concat('0x', to_hex(address)) AS address,
    CASE stream WHEN 0 THEN 'default' ELSE concat('0x', to_hex(stream)) END AS stream,
    concat_ws(', ', type, 'private pool ' || pool, CASE WHEN is_expandable THEN 'expandable' END) AS pool, bytes,
    TRY_CAST(used_bytes AS BIGINT) AS used_bytes, TRY_CAST(rounding_bytes AS BIGINT) AS rounding_bytes,
    TRY_CAST(free_bytes AS BIGINT) AS free_bytes, 100.0 * free_bytes / nullif(bytes, 0) AS free_pct,
    largest_free_bytes, free_blocks, tensors, line
FROM segment LEFT JOIN tensor_stack USING (stack_id)
ORDER BY device_id, free_bytes DESC, bytes DESC, segment_id;
