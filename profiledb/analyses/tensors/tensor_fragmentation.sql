-- title: Fragmentation of memory
-- What the allocator held of each device when a memory snapshot was taken (`tensor_segments`), all segments together.
-- An allocation that is larger than the largest free block makes the allocator take more of the device, however much is
-- free: the rest is scattered.
-- page: memory
-- prefetch: part
-- needs: tensor_segment
-- includes: tensors
-- selects: part
-- column: device | text | | CPU, or GPU with its number
-- column: segments | count | | segments of the device
-- column: bytes = Reserved | bytes | | taken from the device
-- column: used_bytes = Used | bytes | | asked for by tensors that are alive
-- column: rounding_bytes = Rounding | bytes | | what their blocks are larger
-- column: awaiting_bytes = Awaiting | bytes | | released, but still used by a stream
-- column: free_bytes = Free | bytes | | in no tensor
-- column: empty_bytes = In empty segments | bytes | | free memory that torch.cuda.empty_cache() would give back
-- column: largest_free_bytes = Largest free block | bytes | | the most that one allocation finds
-- column: scattered_pct = Scattered | % | .1f | share of the free memory that is not in the largest free block of its segment
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
