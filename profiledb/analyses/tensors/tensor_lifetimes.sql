-- title: Lifetimes of the largest tensors
-- The largest allocations of the selection, and those made before the capture and freed in it: allocating code, time
-- and operator of the free. A block that is allocated again is another allocation.
-- page: memory
-- show: bytes, start_ns 110, end_ns 110, duration_ns, operator 230, module 230, line 300, stack 300, freed_by 230
-- prefetch: part
-- needs: tensor_event
-- includes: selection, tensors
-- selects: part
-- once: tensors
-- param: limit = 100 rows per device, largest first
-- column: device | text | | CPU, or GPU with its number
-- column: bytes = Size | bytes | | size, rounded by the allocator
-- column: start_ns = Allocated | ns | | time, from the start of the capture; empty: before the capture
-- column: end_ns = Released | ns | | time; empty: it lives past the end of the capture
-- column: duration_ns = Lifetime | ns | | time from allocation to free
-- column: operator | text | | operator that allocated it; empty outside operators, and before the capture
-- column: module | text | | module around it; for a backward operator that of its forward one
-- column: line = Source line | text | | program line that allocated it, memory snapshots only
-- column: stack | text | | stack of the allocation, innermost function first
-- column: freed_by = Released in | text | | operator, or line, in which it was freed; empty outside them
WITH life AS MATERIALIZED (
    SELECT life.* FROM tensor_life AS life SEMI JOIN (SELECT event_id FROM selected_tensor_event) AS selected
        ON selected.event_id = coalesce(life.event_id, life.freed_by)
    QUALIFY row_number() OVER (
        PARTITION BY device ORDER BY bytes DESC, coalesce(gone, 1e18) - coalesce(born, 0) DESC, born, gone
    ) <= $limit::BIGINT
), place AS MATERIALIZED (
    FROM tensor_place SEMI JOIN (SELECT event_id FROM life UNION SELECT freed_by FROM life) AS shown USING (event_id)
)
SELECT device, bytes, life.start_ns - capture_window.start_ns AS start_ns,
    life.end_ns - capture_window.start_ns AS end_ns, life.end_ns - life.start_ns AS duration_ns, made.operator,
    made.module, made.line, made.stack, coalesce(freed.operator, freed.innermost, freed.line) AS freed_by
FROM life LEFT JOIN place AS made USING (event_id)
LEFT JOIN place AS freed ON freed.event_id = life.freed_by CROSS JOIN capture_window
ORDER BY starts_with(device, 'CPU'), device, bytes DESC, duration_ns DESC NULLS FIRST, start_ns, end_ns;
