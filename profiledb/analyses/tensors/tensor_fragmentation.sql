-- title: Fragmentation of memory
-- Allocator memory of each device at the time of a memory snapshot (`tensor_segments`), all segments together. An
-- allocation larger than the largest free block makes the allocator take more of the device, no matter how much is free
-- in total: the rest is scattered.
-- page: memory
-- prefetch: part
-- needs: tensor_segment
-- includes: tensors
-- selects: part
-- column: device | text | | CPU, or GPU with its number
-- column: segments | count | | number of segments of the device
-- column: bytes = Reserved | bytes | | memory taken from the device
-- column: used_bytes = Used | bytes | | bytes requested by live tensors
-- column: rounding_bytes = Rounding | bytes | | excess of their blocks over the requested bytes
-- column: awaiting_bytes = Awaiting | bytes | | bytes freed, but still used by a stream
-- column: free_bytes = Free | bytes | | bytes outside tensors
-- column: empty_bytes = In empty segments | bytes | | free memory that torch.cuda.empty_cache() would return
-- column: largest_free_bytes = Largest free block | bytes | | largest possible allocation from free memory
-- column: scattered_pct = Scattered | % | .1f | share of the free memory outside the largest free block of its segment
WITH block AS (
    SELECT segment_id, sum(requested_bytes) FILTER (state = 'active_allocated') AS used_bytes,
        sum(bytes - requested_bytes) FILTER (state = 'active_allocated') AS rounding_bytes,
        sum(bytes) FILTER (state NOT IN ('active_allocated', 'inactive')) AS awaiting_bytes,
        sum(bytes) FILTER (state = 'inactive') AS free_bytes, max(bytes) FILTER (state = 'inactive') AS largest
    FROM tensor_block GROUP BY segment_id
)
SELECT tensor_device(1, device_id) AS device, count(*) AS segments, TRY_CAST(sum(bytes) AS BIGINT) AS bytes,
    TRY_CAST(coalesce(sum(used_bytes), 0) AS BIGINT) AS used_bytes,
    TRY_CAST(coalesce(sum(rounding_bytes), 0) AS BIGINT) AS rounding_bytes,
    TRY_CAST(coalesce(sum(awaiting_bytes), 0) AS BIGINT) AS awaiting_bytes,
    TRY_CAST(coalesce(sum(free_bytes), 0) AS BIGINT) AS free_bytes,
    TRY_CAST(coalesce(sum(free_bytes) FILTER (free_bytes = bytes), 0) AS BIGINT) AS empty_bytes,
    max(largest) AS largest_free_bytes,
    100.0 * (1 - sum(largest) / nullif(sum(free_bytes), 0)) AS scattered_pct
FROM tensor_segment LEFT JOIN block USING (segment_id) WHERE selected_tensor_device(1, device_id)
GROUP BY device_id ORDER BY device_id;
