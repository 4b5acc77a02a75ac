-- title: What holds memory at the peak
-- Live allocations at the tensor memory peak of the selection (`tensor_memory`), by the operator that made them, or the
-- module around it; in a memory snapshot by program line, or by stack. Memory allocated before the capture, or unseen,
-- is a part of its own: the peak less all seen memory. Operators that only allocate for others (`aten::empty`) count as
-- the operator around them, unlike in TensorBoard's plugin; `innermost` counts as there. Backward operators belong to
-- the module of their forward ones.
-- page: memory
-- prefetch: part
-- needs: tensor_event
-- includes: tensors
-- selects: part
-- once: tensors
-- param: by = any (any, operator, module, innermost, line, stack) grouping; any: line, else operator
-- param: limit = 200 rows per device; the rest is one row
-- column: device | text | | CPU, or GPU with its number
-- column: part | text | | named; none: outside all of them; before: allocated before the capture; rest: further names
-- column: name | text | | operator, module, line or stack
-- column: tensors | count | | live allocations at the peak; empty for those before the capture
-- column: bytes | bytes | | sum of their sizes
-- column: share_pct | % | .1f | share of the peak
-- column: largest_bytes = Largest | bytes | | size of the largest allocation
WITH live AS (
    SELECT life.device, bytes, tensor_name($by, operator, module, innermost, line, stack) AS name
    FROM tensor_life AS life JOIN selected_tensor_peak AS peak USING (device) LEFT JOIN tensor_place USING (event_id)
    WHERE event_id IS NOT NULL AND coalesce(born, 0) <= nth AND (gone IS NULL OR gone > nth)
), summed AS (
    SELECT device, name, count(*) AS tensors, sum(bytes) AS bytes, max(bytes) AS largest_bytes,
        row_number() OVER (PARTITION BY device ORDER BY sum(bytes) DESC, name) > $limit::BIGINT AS is_rest
    FROM live GROUP BY device, name
), part AS (
    SELECT device, CASE WHEN is_rest THEN 'rest' WHEN name IS NULL THEN 'none' ELSE 'named' END AS part,
        CASE WHEN NOT is_rest THEN name END AS name, sum(tensors)::BIGINT AS tensors, sum(bytes) AS bytes,
        max(largest_bytes) AS largest_bytes
    FROM summed GROUP BY ALL
    UNION ALL
    SELECT device, 'before', NULL, NULL, peak_bytes - coalesce(seen, 0), NULL
    FROM selected_tensor_peak LEFT JOIN (SELECT device, sum(bytes) AS seen FROM live GROUP BY device) USING (device)
    WHERE peak_bytes > coalesce(seen, 0)
)
SELECT part.device, part, name, tensors, TRY_CAST(part.bytes AS BIGINT) AS bytes,
    100.0 * part.bytes / nullif(peak_bytes, 0) AS share_pct, largest_bytes
FROM part JOIN selected_tensor_peak USING (device)
JOIN (SELECT DISTINCT device, device_type, device_id FROM tensor_level) AS of USING (device)
WHERE selected_tensor_device(device_type, device_id)
ORDER BY device_type = 0, device_type, device_id, part.bytes DESC, part, name;
