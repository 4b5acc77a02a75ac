-- title: Allocations of tensors
-- Allocations in the selection by the operator that made them, or the module around it; in a memory snapshot by program
-- line or stack (see `tensor_peak`). Net is the part that is not freed in the capture. With `innermost`, count, bytes
-- and net are "Allocation Count", "Allocation Size" and "Size Increase" (self) of TensorBoard's plugin, which assigns a
-- free to the allocating operator.
-- page: memory
-- prefetch: part
-- needs: tensor_event
-- includes: selection, tensors
-- selects: part
-- once: tensors
-- param: by = any (any, operator, module, innermost, line, stack) grouping; any: line, else operator
-- param: limit = 500 rows per device
-- column: device | text | | CPU, or GPU with its number
-- column: name | text | | operator, module, line or stack; empty if there is none
-- column: allocations | count | | number of allocations in the selection
-- column: bytes | bytes | | sum of their sizes
-- column: share_pct | % | .1f | share of the sizes of all allocations of the device
-- column: avg_bytes = Average | bytes | .1f | mean size
-- column: largest_bytes = Largest | bytes | | size of the largest allocation
-- column: median_ns = Median lifetime | ns | .1f | median time until they are freed; empty if none is
-- column: net_bytes = Net | bytes | | bytes not freed in the capture
WITH made AS (
    SELECT device, bytes, gone IS NULL AS is_unfreed, end_ns - start_ns AS life_ns,
        tensor_name($by, operator, module, innermost, line, stack) AS name
    FROM tensor_life SEMI JOIN (SELECT event_id FROM selected_tensor_event) AS selected USING (event_id)
    LEFT JOIN tensor_place USING (event_id) WHERE born IS NOT NULL
)
SELECT device, name, count(*) AS allocations, TRY_CAST(sum(bytes) AS BIGINT) AS bytes,
    100.0 * sum(bytes) / nullif(sum(sum(bytes)) OVER (PARTITION BY device), 0) AS share_pct, avg(bytes) AS avg_bytes,
    max(bytes) AS largest_bytes, median(life_ns) AS median_ns,
    TRY_CAST(coalesce(sum(bytes) FILTER (is_unfreed), 0) AS BIGINT) AS net_bytes
FROM made GROUP BY device, name
QUALIFY row_number() OVER (PARTITION BY device ORDER BY sum(bytes) DESC, name) <= $limit::BIGINT
ORDER BY starts_with(device, 'CPU'), device, sum(made.bytes) DESC, name;
