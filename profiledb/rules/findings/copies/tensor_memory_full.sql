-- title: Tensor memory nearly full
-- question: Does the framework's allocator take nearly all of a GPU's memory?
-- The most memory that the allocator reserved, or that tensors held if it reserves none, as a share of the GPU's
-- memory; the fullest GPU counts. It is 100 % if an allocation failed because the GPU had no memory left.
-- needs: tensor_event
-- includes: finding, tensors
-- selects: part
-- unit: %
-- fires: above
-- weight: warning
-- param: threshold = 90 fires at or above this share of the GPU's memory
-- column: device | text | | the GPU
-- column: held_bytes | bytes | | most memory that was reserved
-- column: failed_bytes | bytes | | smallest allocation that failed
-- column: failures | count | | allocations that failed
-- says: {failures} {failures|allocation|allocations} failed on {device}: they asked for at least {failed_bytes}, and the allocator had reserved up to {held_bytes}.
-- says: The allocator reserves up to {held_bytes} on {device}, {value} of its memory: the next larger batch fails, and the allocator starts to free and reallocate.
-- clear: The allocator reserves up to {held_bytes} on {device}, {value} of its memory.
-- advice: -> need_less_memory
-- advice: -> segments
-- advice: -> shard_memory
-- advice: [PyTorch] The Memory page shows which tensors fill it at the peak.
-- source: PyTorch TensorBoard plugin data.py (over 90 % of the memory)
WITH event AS (
    SELECT * FROM tensor_event SEMI JOIN (SELECT event_id FROM selected_tensor_event) AS selected USING (event_id)
    WHERE device_type <> 0
), device AS (
    SELECT device_type, device_id, max(coalesce(reserved_bytes, allocated_bytes)) AS held_bytes,
        min(bytes) FILTER (kind = 'out_of_memory') AS failed_bytes,
        nullif(count(*) FILTER (kind = 'out_of_memory'), 0) AS failures
    FROM event GROUP BY ALL
), share AS (
    SELECT device.*, tensor_device(device_type, device_id) AS device,
        CASE WHEN failures > 0 THEN 100.0 ELSE 100.0 * held_bytes / nullif(memory_bytes, 0) END AS pct
    FROM device LEFT JOIN gpu ON gpu_id = device_id
), worst AS (SELECT * FROM share ORDER BY pct DESC NULLS LAST, failures DESC NULLS LAST, device LIMIT 1
)
SELECT pct AS value,
    CASE WHEN pct IS NULL THEN 'The capture does not tell how much memory the GPU has.' END AS unjudged,
    device, held_bytes, failed_bytes, failures, (
        SELECT list({'name': device, 'bytes': held_bytes, 'device': CASE WHEN device_type = 1 THEN device_id END}
            ORDER BY pct DESC, device)
        FROM share WHERE pct >= $threshold::DOUBLE
    ) AS evidence
FROM (SELECT 1) LEFT JOIN worst ON true;
