-- title: How much of the report a selection keeps
-- One row: GPU work in the selection, in the whole report, and the time that both cover.
-- page: summary
-- prefetch: whole
-- prefetch: part
-- needs: kernel or memop or graph_launch
-- includes: selection, attention
-- selects: part
-- column: operations | count | | kernels, memcpy, memset and whole CUDA graphs of the selection
-- column: gpu_ns | ns | | sum of their durations
-- column: report_operations | count | | operations of the whole report
-- column: report_gpu_ns | ns | | sum of their durations
-- column: window_ns | ns | | time that the selection covers
-- column: capture_ns | ns | | length of the capture
WITH selected AS (
    SELECT count(*) AS operations, coalesce(sum(end_ns - start_ns), 0)::BIGINT AS gpu_ns FROM (
        SELECT start_ns, end_ns FROM selected_kernel
        UNION ALL SELECT start_ns, end_ns FROM selected_memop
        UNION ALL SELECT start_ns, end_ns FROM selected_graph_launch
    )
), whole AS (
    SELECT count(*) AS report_operations, coalesce(sum(end_ns - start_ns), 0)::BIGINT AS report_gpu_ns FROM (
        SELECT start_ns, end_ns FROM kernel
        UNION ALL SELECT start_ns, end_ns FROM memop
        UNION ALL SELECT start_ns, end_ns FROM graph_launch
    )
), covered AS (
    SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT AS window_ns FROM selected_window
)
SELECT selected.*, whole.*, covered.*, duration_ns AS capture_ns
FROM selected CROSS JOIN whole CROSS JOIN covered CROSS JOIN capture_window;
