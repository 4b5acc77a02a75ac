-- Building blocks of the rules about training: which operations a backward pass launched.
-- includes: idle

-- Kernels, copies and memsets of the selection: whether a backward pass launched them, and how long the GPU was idle
-- before each (`waited_ns`). PyTorch's autograd launches on its own threads, named pt_autograd_0 and so on. Without
-- such threads, names of ranges around the launch decide. NULL if the launch is not known, as for work launched before
-- the capture. No rows if there are neither threads nor ranges.
CREATE OR REPLACE VIEW finding_trained AS
WITH autograd AS MATERIALIZED (SELECT global_tid FROM thread WHERE contains(name, 'pt_autograd')
), named AS MATERIALIZED (
    SELECT path_id FROM path_pattern
    WHERE NOT EXISTS (FROM autograd) AND regexp_matches(pattern, '(?i)backward|(^|[^a-z])bwd([^a-z]|$)')
), operation AS (
    SELECT 'kernel' AS kind, kernel_id AS id, device_id, stream_id, start_ns, end_ns, name_id, call_id,
        coalesce(process_range, thread_range) AS pre, NULL::BIGINT AS bytes,
        hash(name_id, grid_x, grid_y, grid_z, block_x, block_y, block_z) AS shape
    FROM selected_kernel
    UNION ALL
    SELECT kind, memop_id, device_id, stream_id, start_ns, end_ns, NULL, call_id,
        coalesce(process_range, thread_range), bytes, NULL
    FROM selected_memop
)
SELECT operation.* EXCLUDE (call_id), CASE WHEN EXISTS (FROM autograd) THEN call.global_tid IN (FROM autograd)
        WHEN call_id IS NOT NULL THEN coalesce(path_id IN (FROM named), false) END AS is_backward,
    greatest(0, operation.start_ns - coalesce(max(operation.end_ns) OVER (
        PARTITION BY device_id ORDER BY operation.start_ns, operation.end_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), operation.start_ns)) AS waited_ns
FROM operation
LEFT JOIN (SELECT call_id, global_tid FROM api_call WHERE EXISTS (FROM autograd)) AS call USING (call_id)
LEFT JOIN (SELECT pre, path_id FROM range WHERE EXISTS (FROM named)) AS around USING (pre)
WHERE EXISTS (FROM autograd) OR EXISTS (FROM named);
