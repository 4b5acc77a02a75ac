-- title: Allocator memory unused at the peak
-- question: Does the framework's allocator hold much more memory than tensors ever use?
-- The most memory that the allocator reserved on a GPU, less the most that tensors held, as a share of the reserved
-- memory: tensors never used it in the selection. It is lost if free blocks are too small for the next request
-- (fragmentation). The GPU with the largest share counts.
-- needs: tensor_event
-- includes: finding, tensors
-- selects: part
-- unit: %
-- fires: above
-- weight: warning
-- param: threshold = 20 fires at or above this share of the reserved memory
-- param: least = 1000000000 the value is 0 below this many bytes: a few segments are always open
-- column: device | text | | the GPU
-- column: reserved_bytes | bytes | | most memory that the allocator reserved
-- column: peak_bytes | bytes | | most memory that tensors held
-- column: lost_bytes | bytes | | reserved memory that tensors never used
-- says: The allocator reserves up to {reserved_bytes} on {device}, but tensors hold {peak_bytes} at most: it never uses the other {lost_bytes} ({value}).
-- clear: The allocator reserves up to {reserved_bytes} on {device}, and tensors hold up to {peak_bytes}.
-- advice: -> segments
-- advice: [PyTorch] Pad to a few sizes, and allocate long-lived tensors before the loop: sizes that change from step to step leave holes. A memory snapshot shows the segments on Memory.
-- advice: [else] Allocate long-lived memory first, and use only a few sizes.
-- source: PyTorch's out-of-memory message (reserved but unallocated memory); threshold and least: ours
WITH device AS (
    SELECT device, device_type, device_id, max(reserved_bytes) AS reserved_bytes, max(allocated_bytes) AS peak_bytes
    FROM tensor_level SEMI JOIN (SELECT event_id FROM selected_tensor_event) AS selected USING (event_id)
    WHERE device_type <> 0 GROUP BY ALL
), lost AS (
    SELECT *, greatest(0, reserved_bytes - peak_bytes) AS lost_bytes FROM device WHERE reserved_bytes IS NOT NULL
), share AS (
    SELECT *,
        CASE WHEN lost_bytes < $least::BIGINT THEN 0 ELSE 100.0 * lost_bytes / nullif(reserved_bytes, 0) END AS pct
    FROM lost
), worst AS (SELECT * FROM share ORDER BY pct DESC, lost_bytes DESC, device LIMIT 1
)
SELECT pct AS value,
    CASE WHEN pct IS NULL THEN 'The capture does not tell what an allocator of a GPU reserves.' END AS unjudged,
    device, reserved_bytes, peak_bytes, lost_bytes, (
        SELECT list({'name': device, 'bytes': lost_bytes, 'device': CASE WHEN device_type = 1 THEN device_id END}
            ORDER BY lost_bytes DESC, device)
        FROM share WHERE pct > 0
    ) AS evidence
FROM (SELECT 1) LEFT JOIN worst ON true;
