-- title: Unified memory page faults
-- question: Does the GPU wait for pages of unified memory?
-- The time in which a GPU handles page faults of unified memory, grouped as in nsys, or faults migrate pages, as a
-- share of the active span (first to last operation of each GPU). It is also 0 if memory was traced and the program
-- allocated no managed memory.
-- needs: um_gpu_page_fault or memory_event
-- includes: finding, work
-- selects: part
-- once: span, compute
-- parts: page migration, kernels, copies
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- column: faults | count | | page faults on GPUs
-- column: fault_ns | ns | | time in which GPUs handle them
-- says: GPUs handle {faults} page {faults|fault|faults} of unified memory for {fault_ns}, {value} of the time.
-- clear: Unified memory page faults take {value} of the time.
-- advice: -> move_pages_first
-- source: nsys um_* reports (no threshold); 5 %: ours
SELECT 0::DOUBLE AS value, NULL AS unjudged, 0 AS saving_ns, 0 AS faults, 0 AS fault_ns, NULL AS evidence
FROM finding_window
WHERE ns > 0 AND NOT has_rows('um_gpu_page_fault') AND NOT EXISTS (FROM memory_event WHERE mem_kind IN (4, 6));

WITH fault AS MATERIALIZED (
    SELECT device_id, greatest(start_ns, low) AS start_ns, least(end_ns, high) AS end_ns, faults, address
    FROM um_gpu_page_fault JOIN finding_edge USING (device_id)
    WHERE start_ns < high AND end_ns > low
        AND EXISTS (FROM selected_window AS part WHERE part.start_ns <= um_gpu_page_fault.start_ns
            AND part.end_ns > um_gpu_page_fault.start_ns)
), taken AS (FROM finding_cover('fault', 'finding_compute')
), shown AS (
    SELECT {
            'name': 'page faults', 'ns': end_ns - start_ns, 'count': faults, 'start_ns': start_ns, 'end_ns': end_ns,
            'device': device_id
        } AS piece
    FROM fault ORDER BY end_ns - start_ns DESC, start_ns LIMIT 10
), traced AS (
    SELECT has_rows('um_gpu_page_fault') OR NOT EXISTS (FROM memory_event WHERE mem_kind IN (4, 6)) AS can_judge
)
SELECT CASE WHEN can_judge THEN 100.0 * taken.ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN NOT can_judge
        THEN 'The program has managed memory, but its page faults were not traced (`--cuda-um-gpu-page-faults=true`).'
    END AS unjudged,
    taken.ns AS saving_ns, (SELECT coalesce(sum(faults), 0)::BIGINT FROM fault) AS faults, taken.ns AS fault_ns,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN taken CROSS JOIN traced;
