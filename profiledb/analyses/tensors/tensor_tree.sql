-- title: Stacks that hold memory at the peak
-- Live allocations of a memory snapshot at the tensor memory peak of the selection (`tensor_memory`), by stack,
-- outermost function first: one row per distinct path to memory, as in a flame graph. The rows with the most bytes are
-- returned, each with its ancestors. A path ends after 64 functions.
-- page: memory
-- prefetch: part
-- needs: tensor_segment
-- includes: tensors
-- selects: part
-- once: tensors
-- param: limit = 600 at most this many rows per device
-- column: device | text | | CPU, or GPU with its number
-- column: node_id | id | | number of the row
-- column: parent_id | id | | row of the calling function; empty for an outermost one
-- column: level | count | | number of enclosing functions
-- column: function | text | | function, with file and line; without a stack, the kind of allocation
-- column: tensors | count | | allocations in this function on this path, callees included
-- column: bytes | bytes | | sum of their sizes
-- column: self_bytes = Self | bytes | | part of the bytes allocated in the function itself
-- column: share_pct | % | .1f | share of the peak
WITH live AS (
    SELECT life.device, stack_id, count(*) AS tensors, sum(life.bytes) AS bytes
    FROM tensor_life AS life JOIN selected_tensor_peak AS peak USING (device) JOIN tensor_event USING (event_id)
    WHERE coalesce(born, 0) <= nth AND (gone IS NULL OR gone > nth) GROUP BY ALL
), chain AS (
    SELECT stack_id, list(concat(function, ' (', regexp_extract(file, '[^/]*$'), ':', line, ')') ORDER BY depth DESC)
        AS frames
    FROM python_frame SEMI JOIN live USING (stack_id) GROUP BY stack_id
), alike AS (
    SELECT device, coalesce(frames, ['[no stack]'])[1:64] AS way, sum(tensors) AS tensors, sum(bytes) AS bytes
    FROM live LEFT JOIN chain USING (stack_id) GROUP BY ALL
), part AS (
    SELECT device, way[1:deep] AS way, deep, sum(tensors)::BIGINT AS tensors, sum(bytes) AS bytes,
        coalesce(sum(bytes) FILTER (deep = length), 0) AS self_bytes
    FROM (SELECT *, len(way) AS length, unnest(range(1, len(way) + 1)) AS deep FROM alike)
    GROUP BY ALL
), node AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY device, bytes DESC, deep, way) AS node_id, * FROM part
    QUALIFY row_number() OVER (PARTITION BY device ORDER BY bytes DESC, deep, way) <= $limit::BIGINT
)
SELECT node.device, node.node_id, up.node_id AS parent_id, node.deep - 1 AS level, node.way[-1] AS function,
    node.tensors, TRY_CAST(node.bytes AS BIGINT) AS bytes, TRY_CAST(node.self_bytes AS BIGINT) AS self_bytes,
    100.0 * node.bytes / nullif(peak_bytes, 0) AS share_pct
FROM node LEFT JOIN node AS up ON up.device = node.device AND up.deep = node.deep - 1 AND up.way = node.way[1:-2]
JOIN selected_tensor_peak AS peak ON peak.device = node.device
JOIN (SELECT DISTINCT device, device_type, device_id FROM tensor_level) AS of ON of.device = node.device
WHERE selected_tensor_device(device_type, device_id)
ORDER BY node.node_id;
