-- title: Pages that move on faults
-- question: Do kernels or the CPU wait for pages of unified memory?
-- The share of the active span (first to last operation of each GPU) in which pages of unified memory move because
-- somebody touches them where they are not (page faults, and what the driver moves with them), or in which the GPU is
-- idle until the next such move. Pages that the program prefetches do not count. The cause is `evicted` if at least
-- half of the bytes leave a full GPU. It tells less than traced page faults: how long kernels wait for the driver
-- between two moves is not recorded.
-- needs: memop
-- includes: finding, idle, work
-- selects: part
-- once: span, functions, compute, idle
-- parts: page migration, copies, kernels (inside_ns), unified_memory_faults
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- column: moves | count | | moves of pages
-- column: bytes | bytes | | bytes of these pages
-- column: moving_ns | ns | | time of the moves, and of the GPU without work until the next one
-- column: inside_ns | ns | | part of it within kernels
-- says: Page faults move {bytes} of unified memory in {moves} {moves|copy|copies}: the GPU copies pages or waits for them for {moving_ns}, {value} of the time.
-- clear: Pages of unified memory that move on faults take {value} of the time.
-- advice: [evicted] Keep the data that kernels use at a time smaller than the GPU's memory: compute it in blocks. Pages that one kernel evicts come back for the next one.
-- advice: -> move_pages_first
-- source: nsys um_total_sum, um_sum (no threshold); CUDA C++ Programming Guide, unified memory; 5 %: ours
SELECT CASE WHEN kind = 'nsys' THEN 0::DOUBLE END AS value,
    'Only Nsight Systems records moves of unified memory.' AS unjudged, 0 AS saving_ns, 0 AS moves, 0 AS bytes,
    0 AS moving_ns, 0 AS inside_ns, NULL AS cause, NULL AS evidence
FROM finding_window CROSS JOIN report
WHERE ns > 0 AND NOT EXISTS (FROM selected_copy WHERE migration_cause BETWEEN 2 AND 4);

WITH moved AS MATERIALIZED (
    SELECT memop_id, device_id, start_ns, end_ns, bytes, direction, migration_cause
    FROM selected_copy WHERE migration_cause BETWEEN 2 AND 4
), waited AS MATERIALIZED (
    SELECT device_id, s AS start_ns, e AS end_ns FROM selected_idle(2000, NULL) WHERE reason = 'page migration'
), taken AS ( -- noqa: ST03
    SELECT device_id, start_ns, end_ns FROM moved UNION ALL FROM waited
), lost AS (FROM finding_cover('taken', 'finding_compute')
), total AS (
    SELECT count(*) AS moves, coalesce(sum(bytes), 0)::BIGINT AS bytes,
        2 * sum(bytes) FILTER (migration_cause = 4) >= sum(bytes) AS is_full
    FROM moved
), shown AS (
    SELECT {
            'name': direction, 'ns': end_ns - start_ns, 'bytes': bytes, 'start_ns': start_ns, 'end_ns': end_ns,
            'device': device_id
        } AS piece
    FROM moved ORDER BY end_ns - start_ns DESC, start_ns LIMIT 10
)
SELECT CASE WHEN kind = 'nsys' THEN 100.0 * lost.ns / nullif(finding_window.ns, 0) END AS value,
    'Only Nsight Systems records moves of unified memory.' AS unjudged, lost.ns AS saving_ns, moves, bytes,
    lost.ns AS moving_ns, lost.ns - lost.bare_ns AS inside_ns, CASE WHEN is_full THEN 'evicted' END AS cause,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN report CROSS JOIN lost CROSS JOIN total;
